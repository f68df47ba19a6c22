"""Why an operation ended as it did: its outcome, and what each event of its key had to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import SourceError
from ...rules import Outcome, Reached, Rule, duration_text
from ...rules.outcome import time_text
from .. import local
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..columns.events import ArrowLog
from ..files.source import Source, check_columns
from ..plan import Plan
from ..replay import Job
from .rows import outcome_rows

KEYS_NAMED = 3
"""How many keys an error names when the one asked for is not there."""


class Line(NamedTuple):
    """An event of the operation's key, and what it had to do with the operation."""

    at: int
    kind: str
    source: str | None
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
    found = outcome_rows(table.filter(is_meant))
    if not found:
        raise _not_there(who, source, table[S.KEY].unique())
    return [Explanation(outcome) for outcome in found]


def explain_events(job: Job, who: str) -> list[Explanation]:
    """What the events of a key make of an operation, by its id, or of all operations of the key."""
    events = job.source.read().events
    job.check(events.column_names)
    plan = job.plan()
    keys = ArrowLog(events, plan).key.values
    own = events.filter(pc.is_in(keys, pa.array(_keys_of(who, job.rules), keys.type)))
    result = local.outcomes(own, job.rules, unit=job.unit, **job.named())
    found = [outcome for outcome in outcome_rows(result.outcomes) if who in (outcome.operation_id, outcome.key)]
    aside = tuple(f"{row[S.REASON]}: {row[S.ROW]}" for row in result.quarantine.to_pylist())
    if not found:
        raise _nothing_opened(who, aside) if len(own) else _not_there(who, job.source, keys.unique())
    rules = {rule.name: rule for rule in job.rules}
    return [Explanation(outcome, _lines(rules[outcome.rule], outcome, own, plan), aside) for outcome in found]


def _keys_of(who: str, rules: Sequence[Rule]) -> list[str]:
    """The keys that may be meant: the text itself, or the key inside an operation's id."""
    inner = [who[len(rule.name) + 1 :].rpartition("/")[0] for rule in rules if who.startswith(f"{rule.name}/")]
    return [who, *filter(None, inner)]


def _lines(rule: Rule, outcome: Outcome, events: pa.Table, plan: Plan) -> tuple[Line, ...]:
    """The events of the key that the rule has to do with, in the order of time."""
    log = ArrowLog(events, plan)
    is_own = pc.equal(log.key.values, outcome.key).fill_null(False).to_numpy(zero_copy_only=False)
    is_read = is_own & ~(log.kind.is_missing | log.at.is_missing | log.at.is_bad)
    sources = log.source.values if log.source is not None else pa.nulls(len(events), pa.string())
    rows = [
        (int(log.at.ms[row]), log.kind.values[row].as_py(), sources[row].as_py()) for row in np.flatnonzero(is_read)
    ]
    named = {rule.opens, *rule.places_by_kind, rule.cancels, rule.keeps_alive}
    told = sorted((row for row in rows if row[1] in named), key=lambda row: row[0])
    return tuple(Line(at, kind, source, note(rule, outcome, at, kind)) for at, kind, source in told)


def note(rule: Rule, outcome: Outcome, at: int, kind: str) -> str:
    """What an event of that kind and time had to do with the operation."""
    parts = []
    if kind == rule.opens and at == outcome.opened_at:
        parts.append("opens it")
    if kind in rule.places_by_kind:
        parts.append(_signal_note(rule, outcome, at, kind))
    if kind == rule.cancels:
        parts.append(_timely(outcome, at, "cancels it" if outcome.outcome == "cancelled" else "would cancel it"))
    if kind == rule.keeps_alive:
        parts.append(_timely(outcome, at, "keeps it alive"))
    return ", ".join(parts) or ("opens another one" if rule.per == "each" else "opens nothing: only the first does")


def _signal_note(rule: Rule, outcome: Outcome, at: int, kind: str) -> str:
    is_level = any(isinstance(leaf, Reached) and leaf.kind == kind for leaf in rule.leaves)
    if at == outcome.at and outcome.outcome == "completed" and kind == outcome.decided_by:
        return "counts, and completes it"
    if at < outcome.opened_at and is_level:
        return "counts, being a level"
    return _timely(outcome, at, "counts")


def _timely(outcome: Outcome, at: int, text: str) -> str:
    """The text, if the event came while the operation was open."""
    if at < outcome.opened_at:
        return f"too early, by {duration_text(outcome.opened_at - at)}"
    if at > outcome.deadline:
        return f"too late, by {duration_text(at - outcome.deadline)}"
    return text if at <= outcome.at else "it had ended"


def _nothing_opened(who: str, aside: Sequence[str]) -> SourceError:
    because = f"; set aside: {'; '.join(aside)}" if aside else ""
    return SourceError(f"{who!r} has events, but no operation that they open is meant by it{because}")


def _not_there(who: str, source: Source, keys: pa.Array) -> SourceError:
    named = ", ".join(repr(key.as_py()) for key in islice(keys, KEYS_NAMED))
    return SourceError(f"{source.path!r} has no operation and no key {who!r}; its keys are {named}, ...")


def line_text(line: Line) -> str:
    """A line for people to read."""
    by = f" ({line.source})" if line.source is not None else ""
    return f"{time_text(line.at):<27}  {line.kind}{by}: {line.note}"
