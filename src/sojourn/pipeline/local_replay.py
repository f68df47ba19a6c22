"""A log replayed in this process: read, decided, written and counted in one go, in bounded memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import ConfigError
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.events import EventColumns
from .columns.kinds import table_without_views
from .columns.operations import latest_of, read_operations
from .files.parts import Part
from .files.source import readable
from .gather import Gathered, Gathering
from .local import decide_given, decide_opened
from .outlet import Outlet, QuarantineOutlet
from .phases import Phases
from .replay import Job, counted
from .results.groups import with_groups
from .results.tally import Tallies, for_all, tally


class Done(NamedTuple):
    """What a run came to. `outcomes`, as `schema.DECIDED`, and `quarantine` are None unless it kept them."""

    tallies: Tallies
    as_of: int | None
    reasons: Counter[str]
    outcomes: pa.Table | None
    quarantine: pa.Table | None


class LocalReplay:
    """A job in this process. Nothing runs until something is asked for.

    `memory`   about how many bytes it may use; half of what the machine has, if that is not said.
    `scratch`  a folder for events that do not fit into memory.
    `say`      is told if they do not.
    """

    engine = "local"

    def __init__(
        self,
        job: Job,
        memory: int | None = None,
        scratch: str | None = None,
        say: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._job = job
        self._memory = memory or half_of_memory()
        self._scratch = scratch
        self._say = say
        self._known: Done | None = None
        self.phases = Phases()

    @property
    def outcomes(self) -> pa.Table:
        outcomes = self._kept().outcomes
        assert outcomes is not None
        return outcomes.select(S.OUTCOMES.names)

    @property
    def quarantine(self) -> pa.Table:
        """The rows that were set aside."""
        quarantine = self._kept().quarantine
        assert quarantine is not None
        return quarantine

    @property
    def tallies(self) -> Tallies:
        return self._done().tallies

    @property
    def as_of(self) -> int | None:
        return self._done().as_of

    @property
    def quarantined(self) -> Counter[str]:
        return self._done().reasons

    def kinds(self) -> Counter[str]:
        plan = self._job.plan
        kinds = (EventColumns(part.read([plan.columns[S.KIND]]).events, plan).kind.values for part in self._parts())
        return sum(map(counted, kinds), Counter())

    def write(self, outcomes: str | None, quarantine: str | None, *, only_ended: bool = False) -> None:
        outlet = Outlet(self._tally, self.phases, outcomes, only_ended=only_ended)
        aside = QuarantineOutlet(quarantine)
        if self._known is None or self._known.outcomes is None:
            self._known = self._run(outlet, aside)
            return
        outlet.take(self._known.outcomes)
        outlet.close()
        aside.take(self.quarantine)
        aside.close()

    def _done(self) -> Done:
        if self._known is None:
            self._known = self._run(Outlet(self._tally, self.phases), QuarantineOutlet())
        return self._known

    def _kept(self) -> Done:
        if self._known is None or self._known.outcomes is None:
            self._known = self._run(Outlet(self._tally, self.phases, keeps=True), QuarantineOutlet(keeps=True))
        return self._known

    def _tally(self, decided: pa.Table) -> Tallies:
        return tally(decided, self._job.what_if, self._job.rules)

    def _parts(self) -> Iterator[Part]:
        return self._job.source.parts(self._job.plan.dictionary_columns, self._memory // 4)

    def _run(self, outlet: Outlet, aside: QuarantineOutlet) -> Done:
        job = self._job
        with readable(job.source):
            parts = self._parts()
            first = next(parts)
            job.check(first.names)
            opens = job.operations is None
            reading = Gathering(job.plan, opens, aside.take, self._memory, self._scratch, self.phases)
            gathered = reading.gather(first, parts)
        with gathered.drawers:
            as_of = self._decide_opened(gathered, outlet) if opens else self._decide_given(gathered, outlet, aside)
        tallies = for_all(job.rules, outlet.close(), job.what_if)
        return Done(tallies, as_of, aside.reasons, outlet.kept(), aside.close())

    def _decide_opened(self, gathered: Gathered, outlet: Outlet) -> int | None:
        job, drawers = self._job, gathered.drawers
        as_of = job.plan.end_of_log(gathered.latest)
        if drawers.are_files:
            self._say(f"{job.title} is large: its events wait in files, as they may take up {self._memory:,} bytes")
        for drawer in drawers:
            with outlet.deciding():
                decide_opened(job.plan, drawer.parts, as_of, outlet.take)
        return as_of

    def _decide_given(self, gathered: Gathered, outlet: Outlet, aside: QuarantineOutlet) -> int | None:
        """Operations are matched with all events at once."""
        job, drawers = self._job, gathered.drawers
        assert job.operations is not None
        if drawers.are_files:
            raise ConfigError(
                f"{job.title!r} does not fit into {self._memory:,} bytes of memory, which a table of operations "
                "needs; allow more with --memory, or use --engine spark"
            )
        operations = table_without_views(job.operations.read().events)
        given, refused = read_operations(operations, job.plan)
        aside.take(refused)
        as_of = job.plan.end_of_log(latest_of(gathered.latest, given.latest))
        events = drawers.whole()
        with outlet.deciding():
            for table in decide_given(job.plan, events, np.arange(events.num_rows), given, as_of):
                outlet.take(table if job.by is None else with_groups(table, job.by, operations))
        return as_of


def half_of_memory() -> int:
    """Half of what the machine has, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
