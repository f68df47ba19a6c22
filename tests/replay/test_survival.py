"""The share that completes where not all is seen to the end: as lifelines has it, and the plain share where all is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from lifelines.utils import qth_survival_time

from sojourn.pipeline.results.bins import Bins
from sojourn.pipeline.results.survival import CENSORED, CLASSES, COMPLETED, MET_LATE, UNMET, Curve, DeadlineFor, curve

Spell = tuple[int, bool]
"""How long an operation was seen, and whether it was met then."""

spells = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=30)
forever = st.integers(0, 5)


def curve_of(spells: list[Spell], unmet: int = 0) -> Curve:
    values = [*(-time for time, _ in spells), *[0] * unmet]
    classes = [*(COMPLETED if is_met else CENSORED for _, is_met in spells), *[UNMET] * unmet]
    return curve(Bins.of(np.array(values, np.int64), np.array(classes, np.int64), CLASSES))


def by_hand(spells: list[Spell], unmet: int, time: int) -> Fraction:
    """The estimate in its own words: at each time, of those still there, so many are not met."""
    left = Fraction(1)
    for at in sorted({t for t, is_met in spells if is_met and t <= time}):
        still_there = unmet + sum(t >= at for t, _ in spells)
        left *= 1 - Fraction(sum(t == at and is_met for t, is_met in spells), still_there)
    return 1 - left


@given(spells, forever)
def test_the_share_is_that_of_the_definition_by_every_time(spells: list[Spell], unmet: int) -> None:
    found = curve_of(spells, unmet)
    for time in range(-1, 14):
        assert found.by(time).share == pytest.approx(float(by_hand(spells, unmet, time)), abs=1e-12)


@given(spells)
def test_share_and_band_are_those_of_lifelines(spells: list[Spell]) -> None:
    times, is_met = zip(*spells, strict=True)
    fitted = KaplanMeierFitter().fit(times, is_met)
    found = curve_of(spells)
    for time in range(13):
        share = 1 - float(fitted.survival_function_at_times(time).iloc[0])
        low, high = (1 - bound for bound in fitted.confidence_interval_.asof(time).iloc[::-1])
        estimate = found.by(time)
        assert estimate.share == pytest.approx(share, abs=1e-9)
        if share < 1 - 1e-9:  # there it has none
            assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)


@given(spells, st.sampled_from([0.1, 0.25, 0.5, 0.9, 0.95, 1.0]))
def test_the_deadline_for_a_share_is_that_of_lifelines(spells: list[Spell], share: float) -> None:
    times, is_met = zip(*spells, strict=True)
    fitted = KaplanMeierFitter().fit(times, is_met)
    expected = qth_survival_time(1 - share + 1e-9, fitted.survival_function_["KM_estimate"])
    found = curve_of(spells).deadline_for(share).at
    assert found == (None if expected == np.inf else expected)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=200), forever)
def test_where_all_was_seen_to_the_end_the_estimate_is_the_plain_share_exactly(times: list[int], unmet: int) -> None:
    found = curve_of([(time, True) for time in times], unmet)
    for time in range(13):
        assert found.by(time).share == sum(t <= time for t in times) / (len(times) + unmet)


@given(spells, forever)
def test_the_share_lies_in_its_band_and_only_ever_grows(spells: list[Spell], unmet: int) -> None:
    found = curve_of(spells, unmet)
    assert (found.low <= found.share + 1e-12).all()
    assert (found.share <= found.high + 1e-12).all()
    assert (np.diff(found.share) >= 0).all()
    assert ((found.low >= 0) & (found.high <= 1)).all()


@given(spells, forever, st.floats(0.01, 1))
def test_the_deadline_for_a_share_is_the_first_time_that_has_it(spells: list[Spell], unmet: int, share: float) -> None:
    found = curve_of(spells, unmet)
    deadline = found.deadline_for(share)
    if deadline.at is None:
        assert found.last().share < share
    else:
        assert found.by(deadline.at).share >= share - 1e-12
        assert found.by(deadline.at - 1).share < share
        assert deadline.earliest is not None
        assert deadline.earliest <= deadline.at
        assert deadline.latest is None or deadline.at <= deadline.latest


def test_what_is_censored_when_another_is_met_was_still_there() -> None:
    assert curve_of([(5, True), (5, False)]).by(5).share == 0.5
    assert curve_of([(4, False), (5, True)]).by(5).share == 1


def test_who_is_lost_sight_of_hands_on_its_weight_to_those_seen_for_longer() -> None:
    found = curve_of([(1, True), (2, False), (3, True), (4, True)])
    assert [found.by(time).share for time in range(5)] == pytest.approx([0, 1 / 4, 1 / 4, 5 / 8, 1])


def test_a_share_that_is_never_reached_has_no_deadline() -> None:
    found = curve_of([(1, True), (2, False)], unmet=2)
    assert found.deadline_for(0.5) == DeadlineFor(None, 1, None)
    assert found.end is None
    assert curve_of([(1, True), (2, False)]).end == 2


def test_what_was_met_late_completes_under_a_longer_deadline_only() -> None:
    values, classes = np.array([5, -3, 0]), np.array([COMPLETED, MET_LATE, UNMET])
    bins = Bins.of(values, classes, CLASSES)
    assert curve(bins).last().share == 2 / 3
    assert curve(bins, only_completed=True).last().share == 1 / 3


def test_a_curve_of_nothing_is_empty() -> None:
    found = curve_of([])
    assert found.last() == (0, 0, 0)
    assert found.deadline_for(0.5) == DeadlineFor(None, None, None)
