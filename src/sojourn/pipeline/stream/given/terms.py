"""What travels and what is kept where operations come as a stream: one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ....errors import ConfigError
from ....rules import Reached, Rule, UntilColumn
from ...columns.normal import normal_schema
from ...kernel.search import Flags, Ints
from ...plan import Plan
from ...schema import AT, DEADLINE, KEY, KEYS, OPENED_AT, OPERATION_ID, ROW, SOURCE, VALUE
from ..shard.shape import DUE, EVENTS, HASH, IS_DONE, OPERATIONS, PENDING, Shape

TICKET, HOME = "ticket", "home"
"""Of an operation on its way: TICKET is all that it is, as one text (`pack.tickets`). HOME is the shard of its id."""

SEPARATOR = "\x1f"
"""Between the parts of a ticket. No id and no key has it: `pack` sets such operations aside."""

WATCH = [
    pa.field(TICKET, pa.string()),
    pa.field(HOME, pa.int32()),
    pa.field(OPENED_AT, pa.int64()),
    pa.field(DEADLINE, pa.int64()),
]

WATCHES = pa.schema([pa.field(HASH, pa.int64()), pa.field(KEY, pa.string()), *WATCH])
"""Operations on their way to the shards of their keys, a row for each key."""

OPENINGS = pa.schema(
    [
        pa.field(HOME, pa.int32()),
        pa.field(TICKET, pa.string()),
        pa.field(OPERATION_ID, pa.string()),
        pa.field(OPENED_AT, pa.int64()),
        pa.field(DEADLINE, pa.int64()),
        pa.field(KEYS, pa.list_(pa.string())),
        pa.field(ROW, pa.string()),
    ]
)
"""Operations on their way home: ROW is what they are set aside as, if they are."""


@dataclass(frozen=True)
class KeptByKey:
    """What is kept by key, as `segment.Kept` wants to know it: `id` tells this state apart from any other."""

    id: str
    event: pa.StructType
    operation: pa.StructType

    @cached_property
    def kept(self) -> pa.Schema:
        return pa.schema(
            [
                pa.field(HASH, pa.int64()),
                pa.field(KEY, pa.string()),
                pa.field(DUE, pa.int64()),
                pa.field(PENDING, pa.int64()),
                pa.field(IS_DONE, pa.bool_()),
                pa.field(EVENTS, pa.list_(self.event)),
                pa.field(OPERATIONS, pa.list_(self.operation)),
            ]
        )


NAMES = KeptByKey(
    "names",
    pa.struct([pa.field(AT, pa.int64())]),  # of which there are none
    pa.struct([field for field in OPENINGS if field.name not in (HOME, OPERATION_ID)]),
)
"""By id: the operation that has it, for good."""


@dataclass(frozen=True)
class Terms:
    """A rule and its plan for events that open nothing, and what becomes of them for each operation.

    `numbers` gives the type of each column of numbers, as in `Shape`.
    """

    plan: Plan
    numbers: Mapping[str, pa.DataType]

    @property
    def rule(self) -> Rule:
        return self.plan.rules[0]

    @cached_property
    def normal(self) -> pa.Schema:
        """An event in the normal form."""
        return normal_schema(self.plan, self.numbers, opens=False)

    @cached_property
    def fresh(self) -> pa.Schema:
        """Events on their way to the shards of their keys."""
        return pa.schema([pa.field(HASH, pa.int64()), *self.normal])

    @cached_property
    def meeting(self) -> KeptByKey:
        """What is kept of a key until events and operations have met."""
        row = pa.struct([field for field in self.normal if field.name != KEY])
        return KeptByKey("meeting", row, pa.struct(WATCH))

    @cached_property
    def home(self) -> Shape:
        """Where operations are decided: each ticket is a key, opened once, with the deadline that it brings."""
        named = {name: name for name in (SOURCE, VALUE) if name in self.plan.columns}
        plan = Plan.of(home_rule(self.rule), "ms", **named)
        return Shape(plan, {name: self.numbers[name] for name in plan.numbers})

    @cached_property
    def kinds(self) -> Ints:
        """By the code of a kind here, its code at home; -1 if nobody looks at it there."""
        there = self.home.plan.kinds
        return np.array([there.index(kind) if kind in there else -1 for kind in self.plan.kinds])

    @cached_property
    def is_level(self) -> Flags:
        """By the code of a kind: whether events before the opening count."""
        levels = {leaf.kind for leaf in self.rule.leaves if isinstance(leaf, Reached)}
        return np.array([kind in levels for kind in self.plan.kinds])


def home_rule(rule: Rule) -> Rule:
    """The same rule, over what an operation is handed: it opens with itself, and brings its deadline."""
    opens = "opened"
    while opens in (*rule.places_by_kind, rule.cancels):
        opens += "+"
    return Rule(rule.name, opens, rule.until, UntilColumn(DEADLINE), "each", rule.cancels)


def check_rule(rule: Rule) -> None:
    """`ConfigError` for what operations from a stream cannot do."""
    way_out = "a replay does it"
    if rule.keeps_alive is not None:
        raise ConfigError(
            f"rule {rule.name!r} keeps operations alive with {rule.keeps_alive!r}: in a stream of operations the "
            f"shards of their keys cannot know how long they live; {way_out}"
        )
    levels = {leaf.kind for leaf in rule.leaves if isinstance(leaf, Reached)}
    others = {leaf.kind for leaf in rule.leaves if not isinstance(leaf, Reached)} | {rule.cancels}
    for kind in sorted(levels & {kind for kind in others if kind}):
        raise ConfigError(
            f"rule {rule.name!r} asks whether {kind!r} has reached a level, and for {kind!r} otherwise: in a stream of "
            f"operations an event before the opening can count for only one of the two; {way_out}"
        )


def batch_of(schema: pa.Schema, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Columns by name, in the order of a schema."""
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
