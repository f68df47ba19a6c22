"""The past of a hub as the law takes it: rules, operations and events.

* Each wait is an operation: its keys, its opening, its deadline as moved by hand. A rule that was registered again, in
  other words, is another rule.
* Signals are events, stamped as they came.
* A cancellation by hand is an event on a key that only its wait has: of the kind that cancels under its rule; where
  the rule has none, it gets one.
* The few waits whose signals cannot be told by times alone (`hearing`, `particular`) have what they heard on that key
  of their own, and no other key.

As of the last record of the log: what ends later is pending.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Ints
from ...pipeline.plan import FARTHEST_MS
from ...pipeline.schema import TIME
from ...rules import Column, Event, Operation, Rule
from . import schema as D  # noqa: N812
from .changes import changes_of
from .hearing import Hearing
from .particular import heard, particular, recalled_by
from .past import Past
from .signals import Signals
from .tables import Plans
from .waits import Waits

BY_HAND = "cancelled by hand"
OWN_KEY = " wait #"
"""Between a key and the number of a wait: no real key has that in it."""

OPERATIONS = pa.schema(
    [
        ("operation_id", pa.string()),
        ("rule", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("opened_at", TIME),
        ("within", pa.int64()),
        (D.WAIT, pa.int64()),
        (D.PLAN, pa.int64()),
    ]
)
EVENTS = pa.schema(
    [
        ("key", pa.string()),
        ("kind", pa.string()),
        ("at", TIME),
        ("source", pa.string()),
        ("value", pa.string()),
        (D.VALUE_TYPE, pa.string()),
    ]
)


class History(NamedTuple):
    """What the law is asked. `rules` are by the number of their plan, under different names."""

    rules: dict[int, Rule]
    operations: pa.Table
    events: pa.Table
    as_of: int
    waits: Waits
    hearings: dict[int, Hearing]
    """Of each wait that was gone through record by record."""
    certain_from: int
    """Waits opened before may have been opened on signals that are not there any more."""

    def operation(self, wait: int) -> Operation:
        """One of those, for the law to look at by itself."""
        rule, opened_at = self.rules[int(self.waits.plan[wait])], int(self.waits.opened_at[wait])
        return Operation(rule, "", opened_at, self.hearings[wait].deadline, "")


def history_of(past: Past, singly: Iterable[int] = ()) -> History:
    """All of it. Waits under the plans of these numbers are gone through record by record, whether need be or not."""
    changes = changes_of(past)
    waits, signals = Waits.of(past), Signals.of(past, changes)
    waits.apply(changes)
    recalled = recalled_by(waits, signals, changes, past.began_with)
    chosen = np.union1d(particular(waits, signals, recalled), np.flatnonzero(np.isin(waits.plan, list(singly))))
    by_hand = _unlike(BY_HAND, {kind for rule in past.plans.values() for kind in _kinds(rule)})
    hearings = dict(heard(waits, signals, changes, chosen, recalled, by_hand, past.began_with))
    own_key = _unlike_parts(OWN_KEY, [signals.rows["key"], waits.rows["key"]])
    rules = _rules({int(n): past.plans[int(n)] for n in np.unique(waits.plan)}, waits, by_hand)
    events = [_shared(signals), *_own(waits, hearings, rules, own_key)]
    operations = _operations(waits, hearings, rules, own_key)
    remembered_ms = 0 if past.began_with is None else past.began_with.remember_ms or 0
    certain_from = past.first_stamp + remembered_ms if remembered_ms else 0
    return History(rules, operations, pa.concat_tables(events), past.last_stamp, waits, hearings, certain_from)


def _kinds(rule: Rule) -> list[str]:
    return [rule.opens, *rule.places_by_kind, *filter(None, (rule.cancels, rule.keeps_alive))]


def _unlike(text: str, others: set[str]) -> str:
    while text in others:
        text += "*"
    return text


def _unlike_parts(text: str, columns: list[pa.ChunkedArray]) -> str:
    while any(pc.any(pc.match_substring(column, text)).as_py() for column in columns):
        text += "#"
    return text


def _rules(plans: Plans, waits: Waits, by_hand: str) -> dict[int, Rule]:
    """Each under a name of its own; those that have none to cancel by get one if a wait was cancelled by hand."""
    names = [rule.name for rule in plans.values()]
    cancelled = set(waits.plan[waits.cancelled_at != NEVER].tolist())
    taken: set[str] = set()
    rules = {}
    for number, rule in plans.items():
        name = _unlike(rule.name if names.count(rule.name) == 1 else f"{rule.name} ({number})", taken)
        taken.add(name)
        cancels = rule.cancels or (by_hand if number in cancelled else None)
        within = min(rule.within, FARTHEST_MS) if rule.within and isinstance(rule.within, int) else Column("within")
        rules[number] = Rule(name, rule.opens, rule.until, within, rule.per, cancels, rule.keeps_alive)
    return rules


def _shared(signals: Signals) -> pa.Table:
    """What came with a time of its own is only for those who heard it."""
    rows = signals.rows.filter(pa.array(~signals.has_own_time))
    return (
        rows.set_column(rows.schema.get_field_index("source"), "source", _sources(rows))
        .select(EVENTS.names)
        .cast(EVENTS)
    )


def _sources(rows: pa.Table) -> pa.ChunkedArray:
    """The number 7 and the text "7" are different sources."""
    is_number = pc.equal(rows[D.SOURCE_TYPE], "int").fill_null(False)
    return pc.if_else(is_number, pc.binary_join_element_wise("number", rows["source"], " "), rows["source"])


def _own(waits: Waits, hearings: dict[int, Hearing], rules: dict[int, Rule], own_key: str) -> Iterable[pa.Table]:
    """What is on the keys that only one wait has."""
    by_hand = np.array([wait for wait in _cancelled(waits) if wait not in hearings], np.int64)
    kinds = [rules[int(plan)].cancels for plan in waits.plan[by_hand]]
    keys = [waits.own_key(wait, own_key) for wait in by_hand.tolist()]
    nothing = pa.nulls(len(keys), pa.string())
    yield _table(EVENTS, [keys, kinds, waits.cancelled_at[by_hand], nothing, nothing, nothing])
    rows = [
        (waits.own_key(wait, own_key), event.kind, event.at, *_source(event), *_value(event))
        for wait, hearing in hearings.items()
        for event in hearing.events
    ]
    yield _table(EVENTS, zip(*rows, strict=True) if rows else [[]] * len(EVENTS))


def _cancelled(waits: Waits) -> list[int]:
    found: list[int] = np.flatnonzero(waits.cancelled_at != NEVER).tolist()
    return found


def _source(event: Event) -> tuple[str | None]:
    return (f"number {event.source}" if isinstance(event.source, int) else event.source,)


def _value(event: Event) -> tuple[str | None, str | None]:
    if event.value is None:
        return None, None
    return str(event.value), type(event.value).__name__.lower()


def _operations(waits: Waits, hearings: dict[int, Hearing], rules: dict[int, Rule], own_key: str) -> pa.Table:
    keys = waits.keys.to_pylist() if hearings or _cancelled(waits) else waits.keys
    deadline = waits.deadline.copy()
    for wait in _cancelled(waits):
        keys[wait] = [*keys[wait], waits.own_key(wait, own_key)]
    for wait, hearing in hearings.items():
        keys[wait] = [waits.own_key(wait, own_key)]
        deadline[wait] = hearing.deadline
    names = np.array([*map(_name, [rules.get(n) for n in range(max(rules, default=0) + 1)])], object)
    within = np.clip(deadline - waits.opened_at, 0, FARTHEST_MS)
    number = waits.rows[D.WAIT]
    return _table(OPERATIONS, [_ids(waits), names[waits.plan], keys, waits.opened_at, within, number, waits.plan])


def _name(rule: Rule | None) -> str | None:
    return None if rule is None else rule.name


def _ids(waits: Waits) -> pa.ChunkedArray:
    """The id that a wait was given, if no other had it before or after; or else `#` and its number."""
    given = waits.rows[D.ID]
    counts = pc.value_counts(given.drop_null()).flatten()
    once = counts[0].filter(pc.equal(counts[1], 1))
    numbers = pc.binary_join_element_wise("#", waits.rows[D.WAIT].cast(pa.string()), "")
    return pc.if_else(pc.is_in(given, once), given, numbers)


def _table(schema: pa.Schema, columns: Iterable[object]) -> pa.Table:
    arrays = []
    for column, field in zip(columns, schema, strict=True):
        array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def places(history: History, operation_ids: pa.ChunkedArray) -> Ints:
    """The place of each operation among the waits."""
    found = pc.index_in(operation_ids, history.operations["operation_id"].combine_chunks())
    return np.asarray(found.to_numpy(), np.int64)
