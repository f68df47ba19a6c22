"""Sums that do not depend on order, and what counts as enough."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.rules import Event, met_at, total
from sojourn.rules.exact import amount_text, enough, exact, pack, reaches, unpack

floats = st.floats(min_value=0, allow_infinity=False)
numbers = st.one_of(floats, st.integers(0, 2**70), st.floats(0, 1))


def adds_up(values: list[float], at_least: float) -> bool:
    return reaches(sum(map(exact, values)), at_least)


@given(st.lists(numbers, max_size=6), numbers.filter(bool))
def test_a_sum_is_enough_if_it_is_exactly_or_once_rounded_to_a_float(values: list[float], at_least: float) -> None:
    whole = sum(map(Fraction, values), Fraction(0))
    assert adds_up(values, at_least) == (whole >= at_least or (at_least <= 2**53 and float(whole) >= at_least))


@given(st.lists(numbers, max_size=5), numbers, numbers.filter(bool))
def test_one_value_more_never_makes_a_sum_too_small(values: list[float], more: float, at_least: float) -> None:
    assert adds_up([*values, more], at_least) >= adds_up(values, at_least)


@given(st.lists(st.integers(0, 2**70), max_size=6), st.integers(1, 2**72))
def test_whole_numbers_are_never_rounded(values: list[int], at_least: int) -> None:
    assert adds_up(values, at_least) == (sum(values) >= at_least)


def test_beyond_what_a_float_can_tell_apart_whole_numbers_are_still_counted_one_by_one() -> None:
    assert adds_up([2**55, 7], 2**55 + 7)
    assert not adds_up([2**55, 6], 2**55 + 7)  # as a float it would be 2**55 + 8


@given(numbers.filter(bool))
@example(5e-324)
@example(1e-323)
@example(1)
@example(2.0**53)
@example(2.0**-1022)
def test_enough_is_the_least_total_that_reaches(at_least: float) -> None:
    assert reaches(enough(at_least), at_least)
    assert not reaches(enough(at_least) - 1, at_least)


def test_tenths_add_up_as_people_expect_in_every_order() -> None:
    for values in permutations([0.6, 0.3, 0.1]):
        assert adds_up(list(values), 1)
        assert adds_up(list(values), 1.0)
    assert adds_up([0.1] * 10, 1)
    assert not adds_up([0.1] * 9, 1)


def test_a_small_value_beside_a_large_one_is_not_lost() -> None:
    values = [1e16, 1.0, 1.0]
    assert adds_up(values, 10**16 + 2)
    assert not adds_up(values, 10**16 + 3)
    log = [Event("k", "v", at, value=value) for at, value in enumerate(values)]
    assert met_at(total("v", at_least=10**16 + 2), log, 0) == 2


def test_the_largest_and_the_smallest_floats_add_up_without_overflow() -> None:
    assert adds_up([1.7e308] * 10, 1.7e308)
    assert adds_up([5e-324] * 3, 1.5e-323)
    assert not adds_up([5e-324] * 2, 1.5e-323)


@given(st.lists(numbers, max_size=4))
def test_an_exact_total_is_packed_and_unpacked_without_loss(values: list[float]) -> None:
    amount = sum(map(exact, values))
    n, bits = pack(amount)
    assert unpack(n, bits) == amount
    assert Fraction(n, 2**bits) == sum(map(Fraction, values), Fraction(0))
    assert bits == 0 or n % 2


@pytest.mark.parametrize(("value", "text"), [(40, "40"), (40.0, "40"), (0.1, "0.1"), (1e22, f"{10**22}"), (0, "0")])
def test_amounts_are_written_without_a_needless_point(value: float, text: str) -> None:
    assert amount_text(exact(value)) == text
