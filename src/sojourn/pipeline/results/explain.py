"""Why an operation ended as it did: its outcome, and what each event of its key had to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import SourceError
from ...rules import Column, Event, Leaf, Outcome, Reached, Rule, Seen, UntilColumn, duration_text
from ...rules.exact import is_level, number_text
from ...rules.law import Case, case_of, known, openings
from ...rules.operation import Operation, opened
from ...rules.outcome import time_text
from ...rules.reading import measure
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..columns.events import EventColumns
from ..columns.normal import normal_form
from ..columns.operations import latest_of, read_operations
from ..columns.quarantine import checked, quarantined
from ..files.source import Source
from ..kernel import UNREADABLE
from ..kernel.columns import number_of
from ..plan import Plan, check_columns, counts_sources
from ..replay import Job
from .rows import outcome_rows

KEYS_NAMED = 3
"""How many keys an error names when the one asked for is not there."""


class Line(NamedTuple):
    """An event of the operation's key, and what it had to do with the operation."""

    at: int
    kind: str
    source: str | None
    value: str | None
    """The number that the rule reads from it, if it does."""
    note: str


class Explanation(NamedTuple):
    """An outcome, and the events it follows from; none if only the outcome is known."""

    outcome: Outcome
    lines: tuple[Line, ...] = ()
    set_aside: tuple[str, ...] = ()
    """Rows of the same key that could not be used, each with its reason."""

    def sentence(self) -> str:
        """What became of the operation, when, and what was missing."""
        outcome = self.outcome
        missing = f"; missing {outcome.missing}" if outcome.missing else ""
        return f"{outcome.operation_id}: {outcome.explain()}{missing}"


def explain_outcomes(source: Source, who: str) -> list[Explanation]:
    """What an outcome table says of an operation, by its id, or of all operations of a key."""
    table = source.read().events
    purpose = "an outcome table; if this is an event log, give --rule too"
    check_columns(dict.fromkeys(S.OUTCOMES.names, purpose), table.column_names, repr(source.path))
    is_meant = pc.or_(pc.equal(table[S.OPERATION_ID], who), pc.equal(table[S.KEY], who))
    outcomes = outcome_rows(table.filter(is_meant))
    if not outcomes:
        raise _not_there(who, source.path, table[S.KEY].unique())
    return [Explanation(outcome) for outcome in outcomes]


def explain_events(job: Job, who: str) -> list[Explanation]:
    """What the events of a key make of an operation, by its id, or of all operations of the key."""
    events = job.source.read().events
    job.check(events.column_names)
    plan = job.plan
    if job.operations is not None:
        return _explain_given(job, plan, events, who)
    as_of = plan.end_of_log(normal_form(events, plan).latest)
    keys = EventColumns(events, plan).key.values
    rows = events.filter(pc.is_in(keys, pa.array(_keys_of(who, job.rules), keys.type)))
    log = _UsableEvents(rows, plan, opens=True)
    cases = [
        (opening, case_of(opened(rule, opening, ordinal), own_events, as_of), own_events)
        for rule in job.rules
        for own_events in log.by_key(rule).values()
        for opening, ordinal in openings(rule, known(own_events, as_of))
    ]
    matching = [case for case in cases if who in (case[1].outcome.operation_id, case[1].outcome.key)]
    if not matching:
        raise _nothing_opened(who, log.aside) if len(rows) else _not_there(who, job.title, keys.unique())
    return [_explanation(case, opening, own_events, log.aside) for opening, case, own_events in matching]


def _explain_given(job: Job, plan: Plan, events: pa.Table, who: str) -> list[Explanation]:
    """The same, of operations that are given as a table, each on its keys."""
    assert job.operations is not None
    given, refused = read_operations(job.operations.read().events, plan)
    as_of = plan.end_of_log(latest_of(normal_form(events, plan, opens=False).latest, given.latest))
    waited = [given.keys[a:b].to_pylist() for a, b in pairwise(given.starts.tolist())]
    names = given.operation_id.to_pylist()
    chosen = [row for row, keys in enumerate(waited) if who == names[row] or who in keys]
    if not chosen:
        raise _not_there(who, job.name or job.operations.path, given.keys.unique())
    keys = EventColumns(events, plan).key.values
    wanted = sorted({key for row in chosen for key in waited[row]})
    log = _UsableEvents(events.filter(pc.is_in(keys, pa.array(wanted, keys.type))), plan, opens=False)
    aside = (*log.aside, *_reasons(refused))
    explanations = []
    for row in chosen:
        rule, keys_of = plan.rules[int(given.rule[row])], set(waited[row])
        key_events = [event for key, of_key in log.by_key(rule).items() if key in keys_of for event in of_key]
        times = int(given.opened_at[row]), int(given.deadline[row])
        case = case_of(Operation(rule, waited[row][0], *times, names[row]), key_events, as_of)
        explanations.append(_explanation(case, None, key_events, aside))
    return explanations


class _UsableEvents:
    """Rows of a log, few of them, as the law reads them; and those that were set aside, with their reasons."""

    def __init__(self, events: pa.Table, plan: Plan, *, opens: bool) -> None:
        self._log = EventColumns(events, plan)
        self._plan = plan
        self._opens = opens
        self._is_usable, self._reasons = checked(plan, self._log, len(events), opens=opens)
        tables = [quarantined(events, reason, texts, rule) for rule, reason, texts in self._reasons]
        self.aside = tuple(text for table in tables for text in _reasons(table))

    def by_key(self, rule: Rule) -> dict[str, list[Event]]:
        """The events that a rule can use."""
        unusable = next(found.reason >= 0 for found in self._reasons if found.rule == rule.name)
        found: dict[str, list[Event]] = {}
        for row in np.flatnonzero(self._is_usable & ~unusable & (self._log.kind_code >= 0)).tolist():
            event = self._event(row)
            found.setdefault(event.key, []).append(event)
        return found

    def _event(self, row: int) -> Event:
        log, plan = self._log, self._plan
        numbers = {name: log.number_column(name)[row].as_py() for name in plan.numbers}
        columns = {**numbers, **{w.name: self._within(w, row) for w in plan.withins if self._opens}}
        source = None if log.source is None else log.source.values[row].as_py()
        key, kind = log.key.values[row].as_py(), log.kind.values[row].as_py()
        return Event(key, kind, int(log.at.ms[row]), source, numbers.get(S.VALUE), columns)

    def _within(self, within: Column | UntilColumn, row: int) -> int | None:
        deadline = int(self._log.deadline(within)[row])
        if deadline == UNREADABLE:
            return None
        return deadline - int(self._log.at.ms[row]) if isinstance(within, Column) else deadline


def _reasons(quarantine: pa.Table) -> list[str]:
    return [f"{row[S.REASON]}: {row[S.ROW]}" for row in quarantine.to_pylist()]


def _keys_of(who: str, rules: Sequence[Rule]) -> list[str]:
    """The keys that may be meant: the text itself, or the key inside an operation's id."""
    inner = [who[len(rule.name) + 1 :].rpartition("/")[0] for rule in rules if who.startswith(f"{rule.name}/")]
    return [who, *filter(None, inner)]


def _explanation(case: Case, opening: Event | None, events: Sequence[Event], aside: tuple[str, ...]) -> Explanation:
    """The outcome, and the events that the rule has to do with, in the order of time."""
    rule = case.operation.rule
    named = {*rule.places_by_kind, rule.cancels, rule.keeps_alive, *[rule.opens] * (opening is not None)}
    shown = sorted((event for event in events if event.kind in named), key=lambda event: event.at)
    lines = [Line(e.at, e.kind, _text(e.source), value_text(rule, e), note(case, opening, e)) for e in shown]
    return Explanation(case.outcome._replace(seen=""), tuple(lines), aside)


def _text(source: object) -> str | None:
    return None if source is None else str(source)


def value_text(rule: Rule, event: Event) -> str | None:
    """The numbers that the rule reads from an event; None if it reads none."""
    leaves = [leaf for leaf in rule.leaves if leaf.kind == event.kind and not isinstance(leaf, Seen)]
    values = {number_of(leaf): number_text(measure(leaf, event)) for leaf in leaves}
    if len(values) > 1:
        return ", ".join(f"{name} {value}" for name, value in values.items())
    return next(iter(values.values()), None)


def note(case: Case, opening: Event | None, event: Event) -> str:
    """What an event had to do with an operation, by the law's own evidence."""
    rule, outcome = case.operation.rule, case.outcome
    parts = ["opens it"] if event is opening else []
    parts += _signal_notes(case, event)
    if event.kind == rule.cancels:
        parts.append(_untimely(case, event) or ("cancels it" if outcome.outcome == "cancelled" else "would cancel it"))
    if event.kind == rule.keeps_alive:
        parts.append(_untimely(case, event) or "keeps it alive")
    return ", ".join(parts) or ("opens another one" if rule.per == "each" else "opens nothing: only the first does")


def _signal_notes(case: Case, event: Event) -> list[str]:
    """A note for each leaf that the event feeds; each named, if they differ."""
    notes = {leaf: _leaf_note(case, leaf, event) for leaf in case.operation.rule.leaves if leaf.kind == event.kind}
    if len(set(notes.values())) > 1:
        return [f"{note} ({leaf})" for leaf, note in notes.items()]
    return list(notes.values())[:1]


def _leaf_note(case: Case, leaf: Leaf, event: Event) -> str:
    outcome = case.outcome
    is_early = event.at < outcome.opened_at
    if (event.at > _last(outcome) or (is_early and not isinstance(leaf, Reached))) and (why := _untimely(case, event)):
        return why
    if any(counted is event for counted in case.counted[leaf]):
        is_last = outcome.outcome == "completed" and event.at == outcome.at == case.held_from[leaf]
        if is_last and leaf.kind == outcome.decided_by:
            return "counts, and completes it"
        return "counts, being a level" if is_early else "counts"
    if isinstance(leaf, Reached) and not is_level(measure(leaf, event), leaf.at_least):
        return f"does not count: less than {number_text(leaf.at_least)}"
    if counts_sources(leaf) and any(counted.source == event.source for counted in case.counted[leaf]):
        return "does not count: its source has been counted"
    return "not needed any more"


def _untimely(case: Case, event: Event) -> str | None:
    """Why an event came at the wrong time; None if it came while the operation was open."""
    outcome = case.outcome
    if event.at < outcome.opened_at:
        return f"too early, by {duration_text(outcome.opened_at - event.at)}"
    late_ms = event.at - _last(outcome)
    if late_ms <= 0:
        return None
    if outcome.outcome == "pending":
        return "not looked at: the log is taken to end before"
    return f"too late, by {duration_text(late_ms)}" if outcome.outcome == "expired" else "it had ended"


def _last(outcome: Outcome) -> int:
    """The last instant that is looked at: that of its end, or where the log ends."""
    return outcome.opened_at + outcome.waited_ms


def _nothing_opened(who: str, aside: Sequence[str]) -> SourceError:
    because = f"; set aside: {'; '.join(aside)}" if aside else ""
    return SourceError(f"{who!r} has events, but they open no operation of that key or id{because}")


def _not_there(who: str, where: str, keys: pa.Array) -> SourceError:
    there = list(islice((repr(key.as_py()) for key in keys if key.is_valid), KEYS_NAMED + 1))
    named = ", ".join([*there[:KEYS_NAMED], *["..."] * (len(there) > KEYS_NAMED)])
    hint = f"its keys are {named}" if there else "it has no keys"
    return SourceError(f"{where!r} has no operation and no key {who!r}; {hint}")


def line_text(line: Line) -> str:
    """A line for people to read."""
    value = f" {line.value}" if line.value is not None else ""
    by = f" ({line.source})" if line.source is not None else ""
    return f"{time_text(line.at):<27}  {line.kind}{value}{by}: {line.note}"
