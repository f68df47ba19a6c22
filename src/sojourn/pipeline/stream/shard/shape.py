"""The types of what travels to a shard, and of what it keeps under a rule: one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
import pyarrow as pa

from ....rules import Rule
from ...columns.normal import deadline_column, normal_schema
from ...kernel.search import Flags, Ints
from ...plan import Plan
from ...schema import DEADLINE, KEY, OPENED_AT

HASH = "hash"
"""A key's hash of 64 bits, by which it is found; whether keys are equal is decided by their text."""

IS_SPENT = "is_spent"
"""Whether what the row opened is an operation of its own by now, or has ended: it opens nothing more.

Where rows name their deadlines, one that was told before its opening was certain has its number there instead.
"""

SINCE = "since"
"""From when on an operation looks at events: its opening, or the last event that kept it alive for certain."""

ORDINAL = "ordinal"

DONE_UNTIL = "done_until"
"""Where keys are forgotten: up to when a key whose operation has ended opens no other."""

ROW_DEADLINE = deadline_column(0)
"""The deadline that a row names, where the rule has it in a column."""

DUE, PENDING, IS_DONE, EVENTS, OPERATIONS = "due", "pending", "is_done", "events", "operations"
"""What is kept of a key, beside HASH and KEY.

DUE         when to look at it again, although nothing came: once the watermark has passed that time.
PENDING     how many operations are open.
IS_DONE     under `per = "first"`: its one operation has ended.
EVENTS      rows that may still matter.
OPERATIONS  those that are open, and whose opening nothing can change any more.
"""


_GRAINS = 32
"""Into how many parts the time of remembering is cut: a shard is woken to forget once in each."""


@dataclass(frozen=True)
class Shape:
    """What a stream sends under its rules, and what it keeps under one of them: `of_rule` is the shape of that one.

    `numbers` gives the type of each column of numbers (`columns.numbers.number_type`), by the name that the rule gives
    it. `remember_ms` is how long what has ended is remembered, None for ever. `since` is the time up to which a rule
    looks at no events, since it was added to a stream that had read them; None if it was there from the start.
    """

    plan: Plan
    numbers: Mapping[str, pa.DataType]
    is_eager: bool = False
    remember_ms: int | None = None
    since: int | None = None

    @property
    def rule(self) -> Rule:
        return self.plan.rules[0]

    def of_rule(self, rule: Rule, since: int | None = None) -> Shape:
        """The shape of one of the rules alone."""
        plan = Plan.of(rule, self.plan.unit, **self.plan.columns)
        return replace(self, plan=plan, numbers={name: self.numbers[name] for name in plan.numbers}, since=since)

    @cached_property
    def id(self) -> str:
        """Of one rule: state that was kept under another id means something else."""
        rule = self.rule
        own = (rule.name, rule.opens, rule.until, rule.within, rule.per, rule.cancels, rule.keeps_alive)
        meaning = f"{own} {dict(self.plan.columns)} {[(n, str(kind)) for n, kind in self.numbers.items()]}"
        return sha256(f"{meaning} {self.since}".encode()).hexdigest()[:16]

    @property
    def forgets_keys(self) -> bool:
        """Whether a key that has had its one operation may have another, once it is forgotten."""
        return self.remember_ms is not None and self.rule.per == "first"

    def forget_at(self, times: Ints) -> Ints:
        """When to forget what happened then: not before `remember_ms` are over, and not one by one."""
        assert self.remember_ms is not None
        grain = max(1, self.remember_ms // _GRAINS)
        return -((-(times + self.remember_ms)) // grain) * grain

    @cached_property
    def row(self) -> list[pa.Field]:
        """What an event is, beside its key."""
        return [field for field in self.normal if field.name != KEY]

    @cached_property
    def normal(self) -> pa.Schema:
        """An event in the normal form."""
        return normal_schema(self.plan, self.numbers)

    @cached_property
    def fresh(self) -> pa.Schema:
        """Events on their way to a shard."""
        return pa.schema([pa.field(HASH, pa.int64()), pa.field(KEY, pa.string()), *self.row])

    @cached_property
    def kept_row(self) -> pa.StructType:
        return pa.struct([*self.row, pa.field(IS_SPENT, pa.bool_())])

    @cached_property
    def kept_operation(self) -> pa.StructType:
        """Where all have the same time, the opening says what the deadline is."""
        rule = self.rule
        times = [OPENED_AT, *[DEADLINE] * (not isinstance(rule.within, int)), *[SINCE] * (rule.keeps_alive is not None)]
        return pa.struct([*(pa.field(name, pa.int64()) for name in times), pa.field(ORDINAL, pa.int32())])

    @cached_property
    def kept(self) -> pa.Schema:
        """What is kept: a row for each key."""
        return pa.schema(
            [
                pa.field(HASH, pa.int64()),
                pa.field(KEY, pa.string()),
                pa.field(DUE, pa.int64()),
                pa.field(PENDING, pa.int32()),
                pa.field(IS_DONE, pa.bool_()),
                *[pa.field(DONE_UNTIL, pa.int64())] * self.forgets_keys,
                pa.field(EVENTS, pa.list_(self.kept_row)),
                pa.field(OPERATIONS, pa.list_(self.kept_operation)),
            ]
        )

    @cached_property
    def is_signal(self) -> Flags:
        """By the code of a kind: whether a part of the condition looks at it."""
        return np.array([kind in self.rule.places_by_kind for kind in self.plan.kinds])

    @cached_property
    def only_opens(self) -> Flags:
        """By the code of a kind: whether it opens, and is nothing else."""
        rule = self.rule
        others = {*rule.places_by_kind, rule.cancels, rule.keeps_alive}
        return np.array([kind == rule.opens and kind not in others for kind in self.plan.kinds])


def nothing(schema: pa.Schema) -> pa.RecordBatch:
    """No rows at all."""
    return pa.RecordBatch.from_pylist([], schema)
