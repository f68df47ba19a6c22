"""What an operation means: rules, conditions, outcomes and the law that every engine obeys. Pure, no clock, no I/O."""

from .as_of import AsOf, checked_as_of, end_of_log
from .condition import (
    AllOf,
    AnyOf,
    Condition,
    Group,
    Leaf,
    Never,
    NOf,
    Reached,
    Seen,
    Total,
    all_of,
    any_of,
    n_of,
    never,
    reached,
    seen,
    total,
)
from .duration import Duration, duration_ms, duration_text
from .event import Event
from .law import decide, openings, outcomes, verdict
from .operation import Operation, opened, operation_id
from .outcome import OUTCOME_COLUMNS, Outcome
from .reading import event_error, source_error, value_error
from .rule import Rule
from .waiting import Waiting
from .within import Column, UntilColumn, column, until_column

__all__ = [
    "OUTCOME_COLUMNS",
    "AllOf",
    "AnyOf",
    "AsOf",
    "Column",
    "Condition",
    "Duration",
    "Event",
    "Group",
    "Leaf",
    "NOf",
    "Never",
    "Operation",
    "Outcome",
    "Reached",
    "Rule",
    "Seen",
    "Total",
    "UntilColumn",
    "Waiting",
    "all_of",
    "any_of",
    "checked_as_of",
    "column",
    "decide",
    "duration_ms",
    "duration_text",
    "end_of_log",
    "event_error",
    "n_of",
    "never",
    "opened",
    "openings",
    "operation_id",
    "outcomes",
    "reached",
    "seen",
    "source_error",
    "total",
    "until_column",
    "value_error",
    "verdict",
]
