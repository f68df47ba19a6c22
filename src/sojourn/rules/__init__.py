"""What an operation means: rules, conditions, outcomes and the law that every engine obeys. Pure, no clock, no I/O."""

from .as_of import AsOf as AsOf
from .as_of import checked_as_of as checked_as_of
from .as_of import end_of_log as end_of_log
from .condition import AllOf as AllOf
from .condition import AnyOf as AnyOf
from .condition import Condition as Condition
from .condition import Group as Group
from .condition import Leaf as Leaf
from .condition import Never as Never
from .condition import NOf as NOf
from .condition import Reached as Reached
from .condition import Seen as Seen
from .condition import Total as Total
from .condition import all_of as all_of
from .condition import any_of as any_of
from .condition import n_of as n_of
from .condition import never as never
from .condition import reached as reached
from .condition import seen as seen
from .condition import total as total
from .duration import Duration as Duration
from .duration import duration_ms as duration_ms
from .duration import duration_text as duration_text
from .event import Event as Event
from .law import decide as decide
from .law import openings as openings
from .law import outcomes as outcomes
from .law import verdict as verdict
from .operation import Operation as Operation
from .operation import opened as opened
from .operation import operation_id as operation_id
from .outcome import OUTCOME_COLUMNS as OUTCOME_COLUMNS
from .outcome import Outcome as Outcome
from .reading import event_error as event_error
from .reading import source_error as source_error
from .reading import value_error as value_error
from .rule import Rule as Rule
from .waiting import Waiting as Waiting
from .within import Column as Column
from .within import UntilColumn as UntilColumn
from .within import column as column
from .within import until_column as until_column

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
