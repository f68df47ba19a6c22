"""Operations by when they were opened: counts, and the first cases, whatever the order and however they are cut."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.pipeline.results import calendar, periods
from sojourn.pipeline.results.bins import DAY, encoded
from sojourn.pipeline.results.calendar import MOST_PERIODS, OF_MONTHS, OF_ONE_LENGTH
from sojourn.pipeline.results.counts import STATUSES
from sojourn.pipeline.results.periods import Periods, by_period, merged

times = st.integers(-(10**14), 10**14) | st.integers(0, 100 * DAY) | st.integers(0, 100) | st.just(0)
operations = st.lists(st.tuples(times, st.integers(0, len(STATUSES) - 1)), min_size=1, max_size=60)


def found(rows: list[tuple[int, int]], names: range | None = None) -> tuple[Periods, ...]:
    opened_at, status = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    ids = pa.chunked_array([[f"{name:03}" for name in names or range(len(rows))]], pa.string())
    return by_period(opened_at, status, encoded(opened_at % 7, status % 4, 4), ids)


def plain(told: tuple[Periods, ...]) -> object:
    return [
        [p.is_of_months, p.unit.name, p.first, p.counts.tolist(), p.cases.to_pylist()]
        + [column.tolist() for column in (p.spells.labels, p.spells.places, p.spells.counts)]
        for p in told
    ]


@given(operations, st.integers(1, 3))
def test_each_operation_counts_in_its_period_and_the_first_ones_are_named(
    rows: list[tuple[int, int]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(periods, "CASES", most)
        told = found(rows)
    assert told[-1].is_of_months
    for own in told:
        assert len(own.counts) <= MOST_PERIODS
        cases: dict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
        for i, (opened_at, status) in enumerate(rows):
            place = int(own.unit.number(np.array([opened_at]))[0]) - own.first
            cases[place, status].append((opened_at, f"{i:03}"))
        assert {
            (place, status): int(own.counts[place, status]) for place, status in np.argwhere(own.counts).tolist()
        } == {where: len(those) for where, those in cases.items()}
        for (place, status), those in cases.items():
            assert own.ids(place, status) == [name for _, name in sorted(those)[:most]]
            assert own.spells.bins(place).counts.sum() == own.counts[place].sum()


@given(operations, st.integers(0, 60), st.integers(1, 3))
def test_parts_that_are_counted_apart_are_the_whole(rows: list[tuple[int, int]], cut: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(periods, "CASES", most)
        whole = found(rows)
        parts = [
            found(rows[cut:], range(cut, len(rows))) if rows[cut:] else (),
            found(rows[:cut]) if rows[:cut] else (),
        ]
        opened = min(at for at, _ in rows), max(at for at, _ in rows)
        assert plain(merged(*parts, opened)) == plain(whole)


@given(times, st.sampled_from([*OF_ONE_LENGTH, *OF_MONTHS]))
def test_a_time_lies_in_its_period(ms: int, unit: calendar.CalendarUnit) -> None:
    number = unit.number(np.array([ms]))
    assert unit.start(number)[0] <= ms < unit.start(number + 1)[0]


@pytest.mark.parametrize("units", [OF_ONE_LENGTH, OF_MONTHS])
def test_a_period_lies_in_one_of_any_coarser_unit(units: tuple[calendar.CalendarUnit, ...]) -> None:
    numbers = np.arange(-1_000, 1_000)
    for i, fine in enumerate(units):
        starts, ends = fine.start(numbers), fine.start(numbers + 1) - 1
        assert all((coarse.number(starts) == coarse.number(ends)).all() for coarse in units[i:])


def test_weeks_and_months_are_both_kept_while_both_may_be_asked_for() -> None:
    year = [(day * DAY, 0) for day in range(365)]
    assert [own.unit.name for own in found(year)] == ["week", "month"]
    assert [own.unit.name for own in found([*year, (800 * DAY, 0)])] == ["month"]
    assert found(year)[0].unit.label(found(year)[0].first) == "week of 29 Dec 1969"
