"""A log, read part by part in threads: its events in the normal form, and what is set aside."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa

from .columns.kinds import table_without_views
from .columns.normal import normal_form, normal_schema, number_types
from .columns.operations import latest_of
from .columns.quarantine import set_aside
from .drawers import Dealt, Drawers
from .files.parts import Part
from .phases import Phases
from .plan import Plan

Aside = Callable[[pa.Table], object]
"""What is done with rows that are set aside, as a quarantine table."""


class Gathered(NamedTuple):
    """The events that count, and the time of the latest one that can be used."""

    drawers: Drawers
    latest: int | None


class _Read(NamedTuple):
    dealt: Dealt
    latest: int | None
    aside: list[pa.Table]


class Gathering:
    """Reads a log under a plan."""

    def __init__(self, plan: Plan, aside: Aside, phases: Phases, *, opens: bool = True) -> None:
        self._plan, self._opens = plan, opens
        self._aside = aside
        self._phases = phases

    def gather(self, parts: Iterable[Part], memory: int, scratch: str | None = None) -> Gathered:
        """All parts of a log, of which there is at least one: the first tells the types of numbers."""
        coming = iter(parts)
        first = next(coming)
        names = self._plan.needed(opens=self._opens)
        numbers = number_types(self._plan, table_without_views(first.read(names).events.slice(0, 0)).schema)
        drawers = Drawers(normal_schema(self._plan, numbers, opens=self._opens), memory, scratch)
        latest: int | None = None
        for read in self._in_threads(drawers, _chain(first, coming)):
            with self._phases("deal"):
                drawers.add(read.dealt)
            latest = latest_of(latest, read.latest)
            for rows in read.aside:
                self._aside(rows)
        return Gathered(drawers, latest)

    def _in_threads(self, drawers: Drawers, parts: Iterator[Part]) -> Iterator[_Read]:
        """Each part, read; no more than one per core is under way."""
        under_way: deque[Future[_Read]] = deque()
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            for part in parts:
                under_way.append(pool.submit(self._read, part, drawers))
                if len(under_way) > pa.cpu_count():
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()

    def _read(self, part: Part, drawers: Drawers) -> _Read:
        with self._phases("read"):
            rows, unreadable = part.read(self._plan.needed(opens=self._opens))
            table = table_without_views(rows)
            normal = normal_form(table, self._plan, drawers.schema, opens=self._opens)
            aside = [unreadable] if len(unreadable) else []
            if normal.aside:  # the rows as they are, with all their columns
                whole = table_without_views(part.read().events)
                aside += [set_aside(whole, reasons) for reasons in normal.reasons]
        with self._phases("deal"):
            return _Read(drawers.dealt(normal.only_usable()), normal.latest, [rows for rows in aside if len(rows)])


def _chain(first: Part, others: Iterator[Part]) -> Iterator[Part]:
    yield first
    yield from others
