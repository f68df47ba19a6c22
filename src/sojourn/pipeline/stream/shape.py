"""The types of what travels to a shard and of what it keeps, under one rule: one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...rules import Rule
from ..columns.normal import deadline_column, normal_schema
from ..kernel.search import Flags
from ..plan import Plan
from ..schema import DEADLINE, KEY, OPENED_AT

HASH = "hash"
"""64 bits of a key: where to look for it. Equal keys are told by their text."""

IS_SPENT = "is_spent"
"""Whether what the row opened is an operation of its own by now, or has ended: it opens nothing more.

Where rows name their deadlines, one that was told before its opening was certain has its number there instead.
"""

SINCE = "since"
"""From when on an operation looks at events: its opening, or the last event that kept it alive for certain."""

ORDINAL = "ordinal"

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


TIME = pa.timestamp("us", tz="UTC")
"""A time as Spark has it."""


@dataclass(frozen=True)
class Shape:
    """What a stream under one rule sends and keeps; equal shapes understand each other's state.

    `numbers` gives the type of each column of numbers (`columns.numbers.number_type`), by the name that the rule gives
    it.
    """

    plan: Plan
    numbers: Mapping[str, pa.DataType]
    is_eager: bool = False

    @property
    def rule(self) -> Rule:
        return self.plan.rules[0]

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
        times = [OPENED_AT, DEADLINE, *[SINCE] * (self.rule.keeps_alive is not None)]
        return pa.struct([*(pa.field(name, pa.int64()) for name in times), pa.field(ORDINAL, pa.int64())])

    @cached_property
    def kept(self) -> pa.Schema:
        """What is kept: a row for each key."""
        return pa.schema(
            [
                pa.field(HASH, pa.int64()),
                pa.field(KEY, pa.string()),
                pa.field(DUE, pa.int64()),
                pa.field(PENDING, pa.int64()),
                pa.field(IS_DONE, pa.bool_()),
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
