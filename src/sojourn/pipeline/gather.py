"""A log, read part by part in threads: its events in the normal form, and what is set aside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from .columns.kinds import table_without_views
from .columns.normal import normal_form, normal_schema, number_types
from .columns.operations import latest_of
from .columns.quarantine import set_aside
from .deal import Dealt
from .drawers import Drawers
from .files.parts import Part
from .phases import Phases
from .plan import Plan

THREADS = pa.cpu_count()


class Gathered(NamedTuple):
    """The events that count, and the time of the latest one that can be used."""

    drawers: Drawers
    latest: int | None


class _Read(NamedTuple):
    dealt: Dealt
    latest: int | None
    aside: list[pa.Table]


@dataclass(frozen=True)
class Gathering:
    """Reads a log under a plan.

    `opens`   whether its events open operations.
    `aside`   is given the rows that cannot be used, as quarantine tables.
    `memory`, `scratch`   as in `Drawers`.
    """

    plan: Plan
    opens: bool
    aside: Callable[[pa.Table], object]
    memory: int
    scratch: str | None
    phases: Phases

    def gather(self, first: Part, others: Iterable[Part]) -> Gathered:
        """All parts of a log: the first one tells the types of numbers."""
        log = table_without_views(first.read(self._names()).events.slice(0, 0)).schema
        drawers = Drawers(
            normal_schema(self.plan, number_types(self.plan, log), opens=self.opens), self.memory, self.scratch
        )
        latest: int | None = None
        with ExitStack() as on_failure:
            on_failure.push(drawers)
            for read in self._in_threads(drawers, [first], others):
                with self.phases("deal"):
                    drawers.add(read.dealt)
                latest = latest_of(latest, read.latest)
                for rows in read.aside:
                    self.aside(rows)
            on_failure.pop_all()
        return Gathered(drawers, latest)

    def _in_threads(self, drawers: Drawers, *several: Iterable[Part]) -> Iterator[_Read]:
        """Each part, read; few more than there are threads are under way."""
        under_way: deque[Future[_Read]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for parts in several:
                for part in parts:
                    under_way.append(pool.submit(self._read, part, drawers))
                    if len(under_way) > THREADS:
                        yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()

    def _read(self, part: Part, drawers: Drawers) -> _Read:
        with self.phases("read", THREADS):
            rows, unreadable = part.read(self._names())
            normal = normal_form(table_without_views(rows), self.plan, drawers.schema, opens=self.opens)
            aside = [unreadable]
            if normal.aside:  # the rows as they are, with all their columns
                whole = table_without_views(part.read().events)
                aside += [set_aside(whole, reasons) for reasons in normal.reasons]
        with self.phases("deal", THREADS):
            dealt = drawers.dealt(normal.only_usable())
        return _Read(dealt, normal.latest, [rows for rows in aside if len(rows)])

    def _names(self) -> list[str]:
        return self.plan.needed(opens=self.opens)
