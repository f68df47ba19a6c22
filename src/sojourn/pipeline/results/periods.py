"""Operations by when they were opened: counts, durations and the first cases of each period of a calendar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .bins import DAY, WIDTHS, Encoded, Ints
from .calendar import OF_MONTHS, OF_ONE_LENGTH, CalendarUnit, fitting
from .cells import Cells
from .counts import STATUSES
from .rows import few_of

CASES = 100
"""How many operations of a period and a status are named: those opened first, and of these the first by their ids."""

_SLOTS = 65_536
_UNITS = (OF_ONE_LENGTH, OF_MONTHS)
_PERIOD, _STATUS, _OPENED_AT, _ID = "period", "status", "opened_at", "id"
_CASES = pa.schema([(_PERIOD, pa.int64()), (_STATUS, pa.int64()), (_OPENED_AT, pa.int64()), (_ID, pa.string())])


@dataclass(frozen=True, slots=True)
class Periods:
    """The periods of one unit, from the `first` on, without a gap.

    `counts`  a row for each period, by status.
    `spells`  durations, by the classes of `survival`: the labels are 0 for the first period, 1 for the next ...
    `cases`   the first operations of each period and status.
    """

    is_of_months: bool
    unit_index: int
    first: int
    counts: Ints
    spells: Cells
    cases: pa.Table

    @property
    def unit(self) -> CalendarUnit:
        return _UNITS[self.is_of_months][self.unit_index]

    def ids(self, place: int, status: int) -> list[str]:
        """The first operations of a period with a status."""
        is_meant = pc.and_(pc.equal(self.cases[_PERIOD], place + self.first), pc.equal(self.cases[_STATUS], status))
        ids: list[str] = self.cases.filter(is_meant)[_ID].to_pylist()
        return ids

    def plus(self, other: Periods, opened: tuple[int, int]) -> Periods | None:
        """Both, with operations opened from one time to the other; None if there are too many periods then."""
        index = fitting(_UNITS[self.is_of_months], *opened)
        if index is None:
            return None
        mine, theirs = self._coarser(index), other._coarser(index)
        first = min(mine.first, theirs.first)
        end = max(part.first + len(part.counts) for part in (mine, theirs))
        counts = np.zeros((end - first, len(STATUSES)), np.int64)
        for part in (mine, theirs):
            counts[part.first - first : part.first - first + len(part.counts)] += part.counts
        spells = mine._spells_from(first).plus(theirs._spells_from(first))
        cases = _limited(pa.concat_tables([mine.cases, theirs.cases]))
        return Periods(self.is_of_months, index, first, counts, spells, cases)

    def _coarser(self, index: int) -> Periods:
        if index == self.unit_index:
            return self
        unit = _UNITS[self.is_of_months][index]
        numbers = unit.number(self.unit.start(np.arange(len(self.counts)) + self.first))
        first = int(numbers[0])
        counts = np.add.reduceat(self.counts, np.searchsorted(numbers, np.arange(first, numbers[-1] + 1)))
        of_cases = numbers[self.cases[_PERIOD].to_numpy() - self.first]
        cases = _limited(self.cases.set_column(0, _PERIOD, pa.array(of_cases, pa.int64())))
        return Periods(self.is_of_months, index, first, counts, self.spells.relabelled(numbers - first), cases)

    def _spells_from(self, first: int) -> Cells:
        return self.spells.relabelled(np.arange(len(self.counts)) + self.first - first)


def by_period(opened_at: Ints, status: Ints, spells: Encoded, operation_id: pa.ChunkedArray) -> tuple[Periods, ...]:
    """The periods of two calendars, as months cut weeks; without that of weeks where it would have too many."""
    if not len(opened_at):
        return ()
    slots = _Slots(opened_at, status)
    chosen = [(units is OF_MONTHS, units, index) for units in _UNITS if (index := slots.fitting(units)) is not None]
    numbers = [units[index].number(slots.starts) for _, units, index in chosen]
    rows = slots.rows_in(np.logical_or.reduce([slots.is_early(number) for number in numbers]))
    named = pa.table([status[rows], opened_at[rows], few_of(operation_id, rows)], names=_CASES.names[1:])
    return tuple(
        Periods(
            is_of_months,
            index,
            int(number[0]),
            slots.counts(number),
            Cells.of((number - number[0])[slots.slot], int(number[-1] - number[0]) + 1, spells),
            _limited(named.add_column(0, _PERIOD, pa.array(number[slots.slot[rows]])).cast(_CASES)),
        )
        for (is_of_months, _, index), number in zip(chosen, numbers, strict=True)
    )


class _Slots:
    """Times cut so finely that a slot holds few operations: what holds for a slot holds for all of them."""

    def __init__(self, opened_at: Ints, status: Ints) -> None:
        self._first, self._last = int(opened_at.min()), int(opened_at.max())
        width = next(w for w in WIDTHS if w == DAY or self._last // w - self._first // w < _SLOTS)
        begin = self._first // width
        self.slot: Ints = opened_at // width - begin
        self.starts = np.arange(begin, self._last // width + 1) * width
        self._keys = self.slot * len(STATUSES) + status
        counts = np.bincount(self._keys, minlength=len(self.starts) * len(STATUSES))
        self._counts = counts.reshape(-1, len(STATUSES))

    def fitting(self, units: tuple[CalendarUnit, ...]) -> int | None:
        return fitting(units, self._first, self._last)

    def counts(self, period: Ints) -> Ints:
        """How many of each status there are in each period, given the period of each slot."""
        return np.add.reduceat(self._counts, _firsts(period))

    def is_early(self, period: Ints) -> np.ndarray:
        """Which slots, by status, may hold one of the first cases of their period."""
        before = np.cumsum(self._counts, axis=0) - self._counts
        return np.asarray(before - before[_firsts(period)][period - period[0]] < CASES)

    def rows_in(self, is_meant: np.ndarray) -> Ints:
        """The operations in the slots, by status, that are meant."""
        return np.flatnonzero(is_meant.ravel()[self._keys])


def _firsts(period: Ints) -> Ints:
    """Where each period begins; they ascend without a gap."""
    return np.searchsorted(period, np.arange(period[0], period[-1] + 1))


def _limited(cases: pa.Table) -> pa.Table:
    """The first cases of each period and status, in order."""
    cases = cases.take(pc.sort_indices(cases, [(name, "ascending") for name in _CASES.names]))
    group = cases[_PERIOD].to_numpy() * len(STATUSES) + cases[_STATUS].to_numpy()
    starts = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    rank = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return cases.filter(pa.array(rank < CASES))


def merged(mine: tuple[Periods, ...], theirs: tuple[Periods, ...], opened: tuple[int, int]) -> tuple[Periods, ...]:
    """The periods of both, calendar by calendar."""
    if not mine or not theirs:
        return mine or theirs
    other = {periods.is_of_months: periods for periods in theirs}
    both = (own.plus(other[own.is_of_months], opened) for own in mine if own.is_of_months in other)
    return tuple(periods for periods in both if periods is not None)
