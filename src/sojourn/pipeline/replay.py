"""A log replayed under rules: what is asked, what comes of it, and what gives cause for doubt."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ..rules import AsOf, Never, Rule
from ..rules.outcome import time_text
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .files.source import Source
from .phases import Phases
from .plan import Plan
from .results.deadlines import Deadline
from .results.summary import by_frequency
from .results.tally import Tallies

JANUARY_1970_ENDS = 31 * 86_400_000
YEAR_2200 = 7_258_118_400_000

KINDS_NAMED = 12
"""How many of the kinds of a log an error names, the most frequent."""


@dataclass(frozen=True)
class Job:
    """What is to be replayed.

    `columns`  the log's names of our columns, where they differ from those in the rules.
    `by`       a column of the events that open operations (or of `operations`), to count by.
    `as_of`    where the log ends.
    `name`     what people call the log, if that is not its path.
    """

    source: Source
    rules: tuple[Rule, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    unit: S.Unit = "auto"
    operations: Source | None = None
    what_if: tuple[Deadline, ...] = ()
    by: str | None = None
    as_of: AsOf = "log"
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or self.source.path

    def named(self) -> dict[str, str]:
        """Names of columns: those given, and those that the format of the log defines and no rule names."""
        said = {ours for rule in self.rules for ours, _ in rule.columns}
        return {**{ours: name for ours, name in self.source.columns.items() if ours not in said}, **self.columns}

    @cached_property
    def plan(self) -> Plan:
        """What the rules read, made once for the run."""
        plan = Plan.of(self.rules, self.unit, **self.named()).ending(self.as_of)
        return plan.grouped(self.by if self.operations is None else None)

    def check(self, names: list[str]) -> None:
        """Refuse a log that lacks a column, and say what it has."""
        where = repr(self.title)
        self.plan.check_columns(names, opens=self.operations is None, where=where)


class Replay(Protocol):
    """A job that has been done, on any engine."""

    engine: str

    @property
    def outcomes(self) -> pa.Table:
        """All of them, in this process."""

    @property
    def tallies(self) -> Tallies: ...

    @property
    def quarantined(self) -> Counter[str]:
        """How many rows were set aside, by reason."""

    @property
    def as_of(self) -> int | None:
        """The end of the log, in epoch milliseconds; None if it was taken to be complete, or has no events."""

    def kinds(self) -> Counter[str]:
        """How many events of each kind the log has."""

    @property
    def phases(self) -> Phases:
        """How long it took, and for what."""

    def write(self, outcomes: str | None, quarantine: str | None, *, only_ended: bool = False) -> None:
        """Write the tables as Parquet, into folders that do not exist yet; without a folder, a table is not written.

        What is asked for afterwards has been counted meanwhile.
        """


def counted(texts: pa.Array | pa.ChunkedArray) -> Counter[str]:
    entries = pc.value_counts(pc.drop_null(texts)).to_pylist()
    return Counter({entry["values"]: entry["counts"] for entry in entries})


class Doubts(NamedTuple):
    """What a log may lack: rules under which nothing opened, and rules under which nothing was ever met."""

    idle: list[str]
    unmet: list[str]


def doubts(job: Job, replay: Replay) -> Doubts:
    """As sentences. An empty day looks like a misspelt kind, so they name the kinds that the log does have."""
    if job.operations is not None:
        return Doubts([], [])
    idle = [rule for rule in job.rules if not replay.tallies[rule.name].counts.opened]
    unmet = [rule for rule in job.rules if rule not in idle and _is_unmet(rule, replay.tallies)]
    kinds = replay.kinds() if idle or unmet else Counter()
    unseen = [(rule, leaf.kind) for rule in unmet for leaf in rule.leaves if leaf.kind not in kinds]
    return Doubts(
        [f"rule {rule.name!r}: nothing opens. {_not_there(rule.opens, kinds, job.plan)}" for rule in idle],
        [f"rule {rule.name!r}: nothing completes. {_not_there(kind, kinds, job.plan)}" for rule, kind in unseen],
    )


def suspicious_times(replay: Replay) -> list[str]:
    """A warning for each rule whose operations all open in January 1970 or after 2200: the unit is probably wrong."""
    return [
        f"rule {name!r}: ALL {of_rule.counts.opened:,} OPERATIONS OPEN {when}. Numbers there may be in another unit: "
        "name it with --unit s, ms, us, ns or yyyymmdd"
        for name, of_rule in replay.tallies.items()
        if of_rule.counts.opened and (when := _suspicious_time(*of_rule.opened))
    ]


def _suspicious_time(first: int, last: int) -> str | None:
    """What is wrong, if anything."""
    if first >= YEAR_2200:
        return f"AFTER THE YEAR 2200, the first at {time_text(first)}"
    return f"IN JANUARY 1970, the last at {time_text(last)}" if first >= 0 and last < JANUARY_1970_ENDS else None


def _is_unmet(rule: Rule, tallies: Tallies) -> bool:
    counts = tallies[rule.name].counts
    return not isinstance(rule.until, Never) and counts.completed + counts.met_late == 0


def _not_there(kind: str, kinds: Counter[str], plan: Plan) -> str:
    if not kinds:
        return "The log has no events that can be used"
    if kind in kinds:
        last = plan.last_looked_at
        after = "" if last is None else f"comes after {time_text(last)}, where it was said to end, or "
        return f"No event of kind {kind!r} can be used, of {kinds[kind]:,}: each {after}is in the quarantine"
    named = ", ".join(f"{name!r} ({count:,})" for name, count in by_frequency(kinds)[:KINDS_NAMED])
    more = f" and {len(kinds) - KINDS_NAMED:,} more" if len(kinds) > KINDS_NAMED else ""
    close = difflib.get_close_matches(kind, kinds, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"The log has no event of kind {kind!r}. Its kinds are {named}{more}{hint}"
