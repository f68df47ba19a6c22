"""A log replayed under rules: what is asked, what comes of it, and the engine that needs no Spark."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from ..rules import AsOf, Never, Rule
from ..rules.outcome import time_text
from . import local
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.events import EventColumns
from .files.source import ReadLog, Source
from .plan import Plan, check_columns
from .results.bins import Bins
from .results.deadlines import Deadline
from .results.groups import with_groups
from .results.tally import Tallies, for_all, tally

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
    """

    source: Source
    rules: tuple[Rule, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    unit: S.Unit = "auto"
    operations: Source | None = None
    what_if: tuple[Deadline, ...] = ()
    by: str | None = None
    as_of: AsOf = "log"

    def named(self) -> dict[str, str]:
        """Names of columns: those given, and those that the format of the log defines and no rule names."""
        said = {ours for rule in self.rules for ours, _ in rule.columns}
        return {**{ours: name for ours, name in self.source.columns.items() if ours not in said}, **self.columns}

    @cached_property
    def plan(self) -> Plan:
        """What the rules read, made once for the run."""
        return Plan.of(self.rules, self.unit, **self.named()).ending(self.as_of)

    def check(self, names: list[str]) -> None:
        """Refuse a log that lacks a column, and say what it has."""
        where = repr(self.source.path)
        self.plan.check_columns(names, opens=self.operations is None, where=where)
        if self.by and self.operations is None:
            check_columns({self.by: "--by"}, names, where)


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

    def write(self, outcomes: str | None, quarantine: str | None, *, only_ended: bool = False) -> None:
        """Write the tables as Parquet, into folders that do not exist yet; without a folder, a table is not written."""


class LocalReplay:
    """A job done in this process."""

    engine = "local"

    def __init__(self, job: Job) -> None:
        self._job = job
        self._log: ReadLog = job.source.read()
        job.check(self._log.events.column_names)
        operations = None if job.operations is None else job.operations.read().events
        self._operations = operations
        result = local.outcomes_by_plan(self._log.events, job.plan, operations)
        self._decided: pa.Table = result.outcomes
        self.outcomes: pa.Table = result.outcomes.select(S.OUTCOMES.names)
        self.as_of = result.as_of
        self.quarantine: pa.Table = pa.concat_tables([self._log.unreadable, result.quarantine])

    @cached_property
    def tallies(self) -> Tallies:
        counts = tally(self._grouped(), self._job.what_if, self._job.rules)
        return for_all(self._job.rules, counts, self._job.what_if)

    @cached_property
    def quarantined(self) -> Counter[str]:
        return counted(self.quarantine[S.REASON])

    def kinds(self) -> Counter[str]:
        return counted(EventColumns(self._log.events, self._job.plan).kind.values)

    def write(self, outcomes: str | None, quarantine: str | None, *, only_ended: bool = False) -> None:
        if outcomes is not None:
            ended = self.outcomes.filter(pc.not_equal(self.outcomes[S.OUTCOME], S.PENDING)) if only_ended else None
            write_table(self.outcomes if ended is None else ended, outcomes)
        if quarantine is not None:
            write_table(self.quarantine, quarantine)

    def _grouped(self) -> pa.Table:
        if self._job.by is None:
            return self._decided
        return with_groups(self._decided, self._job.by, self._job.plan, self._log.events, self._operations)


def counted(texts: pa.Array | pa.ChunkedArray) -> Counter[str]:
    entries = pc.value_counts(pc.drop_null(texts)).to_pylist()
    return Counter({entry["values"]: entry["counts"] for entry in entries})


def write_table(table: pa.Table, folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, Path(folder) / "part-00000.parquet")


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
        [f"rule {rule.name!r}: nothing opens. {_not_there(rule.opens, kinds)}" for rule in idle],
        [f"rule {rule.name!r}: nothing completes. {_not_there(kind, kinds)}" for rule, kind in unseen],
    )


def suspicious_times(replay: Replay) -> list[str]:
    """A warning for each rule whose operations all open in January 1970 or after 2200: the unit is probably wrong."""
    return [
        f"rule {name!r}: ALL {of_rule.counts.opened:,} OPERATIONS OPEN {when}. Numbers there may be in another unit: "
        "name it with --unit s, ms, us, ns or yyyymmdd"
        for name, of_rule in replay.tallies.items()
        if of_rule.counts.opened and (when := _suspicious_time(of_rule.opened_at))
    ]


def _suspicious_time(opened_at: Bins) -> str | None:
    """What is wrong, if anything. The bins are a day wide at most, so that they tell the months apart."""
    first, last = (int(opened_at.places[place]) * opened_at.width for place in (0, -1))
    if first >= YEAR_2200:
        return f"AFTER THE YEAR 2200, the first at {time_text(first)}"
    return f"IN JANUARY 1970, the last at {time_text(last)}" if first >= 0 and last < JANUARY_1970_ENDS else None


def _is_unmet(rule: Rule, tallies: Tallies) -> bool:
    counts = tallies[rule.name].counts
    return not isinstance(rule.until, Never) and counts.completed + counts.met_late == 0


def _not_there(kind: str, kinds: Counter[str]) -> str:
    if not kinds:
        return "The log has no events that can be used"
    if kind in kinds:
        return f"The log has {kinds[kind]:,} events of kind {kind!r}, but none that can be used: see the quarantine"
    named = ", ".join(f"{name!r} ({count:,})" for name, count in kinds.most_common(KINDS_NAMED))
    more = f" and {len(kinds) - KINDS_NAMED:,} more" if len(kinds) > KINDS_NAMED else ""
    close = difflib.get_close_matches(kind, kinds, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"The log has no event of kind {kind!r}. Its kinds are {named}{more}{hint}"
