"""Counts by interval: each value in the right one, the same however they are cut and merged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.pipeline.results import bins, cells
from sojourn.pipeline.results.bins import DAY, GRID, HOUR, MINUTE, Bins, encoded, rounded_up
from sojourn.pipeline.results.cells import Cells

LEVELS = range(GRID.levels)
values = st.integers(-(2**62), 2**62) | st.integers(-2 * DAY, 2 * DAY) | st.integers(-5, 5)
classed = st.lists(st.tuples(values, st.integers(0, 2), st.integers(0, 3)), max_size=60)


@given(values, st.sampled_from(LEVELS))
def test_a_value_lies_in_its_interval(value: int, level: int) -> None:
    place = GRID.place(np.array([value]), level)
    start, end = (int(GRID.start(place + i, level)[0]) for i in (0, 1))
    assert start <= value < end
    assert end - start <= max(1, abs(value) // 10 ** (3 - level))


@given(values, values, st.sampled_from(LEVELS))
def test_intervals_are_in_the_order_of_what_lies_in_them(left: int, right: int, level: int) -> None:
    places = GRID.place(np.array(sorted([left, right])), level)
    assert places[0] <= places[1]


@given(values, st.sampled_from(list(pairwise(LEVELS))))
def test_an_interval_lies_in_one_that_is_coarser(value: int, levels: tuple[int, int]) -> None:
    fine, coarse = levels
    place = GRID.place(np.array([value]), fine)
    assert GRID.coarser(place, fine, coarse) == GRID.place(np.array([value]), coarse)


def test_no_interval_holds_both_what_is_before_0_and_what_is_not() -> None:
    for level in LEVELS:
        assert GRID.start(np.array([0]), level)[0] == 0


@given(classed, st.integers(1, 10), st.integers(0, 60))
def test_intervals_get_wider_until_they_are_few_and_lose_nothing(
    rows: list[tuple[int, int, int]], most: int, cut: int
) -> None:
    numbers, classes, _ = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "MOST", most)
        found = Bins.of(numbers, classes, 3)
        assert len(found.places) <= most or found.level == LEVELS[-1]
        expected: dict[int, list[int]] = {}
        for place, kind in zip(GRID.place(numbers, found.level).tolist(), classes.tolist(), strict=True):
            expected.setdefault(place, [0, 0, 0])[kind] += 1
        assert {int(p): row.tolist() for p, row in zip(found.places, found.counts, strict=True)} == expected
        assert found.places.tolist() == sorted(expected)
        merged = Bins.of(numbers[cut:], classes[cut:], 3).plus(Bins.of(numbers[:cut], classes[:cut], 3))
        assert (merged.level, merged.places.tolist()) == (found.level, found.places.tolist())
        assert merged.counts.tolist() == found.counts.tolist()


def test_counts_together_are_as_coarse_as_the_coarser_of_the_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bins, "MOST", 3)
    fine = Bins.of(np.array([5]), np.array([0]), 1)
    coarse = Bins.of(np.arange(100_001, 100_005), np.zeros(4, np.int64), 1)
    for both in (fine.plus(coarse), coarse.plus(fine)):
        assert (both.level, both.starts.tolist(), both.counts.tolist()) == (1, [5, 100_000], [[1], [4]])


def test_with_and_without_the_core_intervals_and_counts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.outer(bins.WIDTHS, (1, 10, 100)).ravel()
    edges = np.concatenate([[0, 2**62], *(edges + by for by in (-1, 0, 1))])
    both_ways = np.concatenate([edges, -edges])
    classes = np.arange(len(both_ways)) % 3
    found = []
    for core in (bins.core, None):
        monkeypatch.setattr(bins, "core", core)
        places = [GRID.place(both_ways, level).tolist() for level in LEVELS]
        found.append((places, Bins.of(both_ways, classes, 3).counts.tolist()))
    assert found[0] == found[1]


@given(classed, st.integers(0, 60), st.sampled_from([3, 1_000]), st.sampled_from([0, 1_000_000]))
def test_cells_are_the_bins_of_each_label(rows: list[tuple[int, int, int]], cut: int, most: int, dense: int) -> None:
    numbers, classes, labels = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "MOST", most)
        patch.setattr(cells, "_DENSE", dense)
        found = Cells.of(labels, 4, encoded(numbers, classes, 3))
        parts = [slice(cut, None), slice(None, cut)]
        merged = [Cells.of(labels[part], 4, encoded(numbers[part], classes[part], 3)) for part in parts]
        both = merged[0].plus(merged[1])
    assert len(found.places) <= most or found.level == LEVELS[-1]
    for label in range(4):
        own = Bins.of(numbers[labels == label], classes[labels == label], 3).coarser(found.level)
        for told in (found.bins(label), both.bins(label)):
            assert (told.level, told.places.tolist()) == (own.level, own.places.tolist())
            assert told.counts.tolist() == own.counts.tolist()


def test_values_on_a_coarse_grid_stay_exact() -> None:
    days = np.arange(0, 3_000, dtype=np.int64) * DAY
    assert Bins.of(days, np.zeros(3_000, np.int64), 1).level == 0


def test_many_values_are_told_to_within_one_per_cent() -> None:
    ms = np.arange(100_000, dtype=np.int64) * 7_919
    found = Bins.of(ms, np.zeros(100_000, np.int64), 1)
    assert found.level == 1
    assert found.counts.sum() == 100_000


def test_every_width_divides_the_next() -> None:
    assert all(wide % narrow == 0 for narrow, wide in pairwise(bins.WIDTHS))


def test_a_round_number_is_at_most_one_per_cent_longer() -> None:
    assert rounded_up(97_432_345) == 27 * HOUR + 10 * MINUTE
    assert rounded_up(60 * DAY) == 60 * DAY
    assert rounded_up(-97_432_345) == -27 * HOUR
    assert rounded_up(0) == 0
