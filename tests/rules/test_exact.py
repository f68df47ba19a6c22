"""Sums that do not depend on order, and what counts as enough."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.rules import Event, met_at, total
from sojourn.rules.event import Number
from sojourn.rules.exact import (
    PLACES,
    amount_text,
    enough,
    exact,
    fits,
    is_level,
    is_rough,
    meant,
    number_text,
    pack,
    reaches,
    settled,
    threshold,
    unpack,
)

floats = st.floats(min_value=0, allow_infinity=False)
binary = st.one_of(floats, st.integers(0, 2**70), st.floats(0, 1))
decimals = st.one_of(
    st.decimals(0, 10**6, places=2), st.decimals(0, 1, places=PLACES), st.floats(0, 2**53).map(repr).map(Decimal)
).filter(fits)
numbers = st.one_of(binary, decimals)
thresholds = numbers.filter(bool).map(settled)


def adds_up(values: list[Number], at_least: Number) -> bool:
    return reaches(sum(map(exact, values)), at_least, any(map(is_rough, values)))


def as_written(at_least: Number) -> Fraction:
    """From 2**53 on a float is the whole number that it holds."""
    return Fraction(str(at_least)) if at_least <= 2**53 else Fraction(at_least)


@given(st.lists(binary, max_size=6), binary.filter(bool))
def test_a_sum_of_floats_is_enough_if_it_is_exactly_or_once_rounded_to_a_float(
    values: list[Number], at_least: Number
) -> None:
    whole = sum(map(Fraction, values), Fraction(0))
    assert adds_up(values, at_least) == (whole >= at_least or (at_least <= 2**53 and float(whole) >= at_least))


@given(st.lists(st.one_of(decimals, st.integers(0, 2**70)), max_size=6), thresholds)
@example([Decimal("82.72"), Decimal("334.33")], 417.05)
@example([Decimal("417.04999999999999")], 417.05)
@example([Decimal("0.1")] * 3, Decimal("0.300000000000000000001"))
def test_a_sum_of_decimals_is_enough_if_it_is_as_much_as_was_written(values: list[Number], at_least: Number) -> None:
    assert adds_up(values, at_least) == (sum(map(Fraction, values), Fraction(0)) >= as_written(at_least))


@given(st.lists(numbers, max_size=6), thresholds)
def test_one_float_makes_a_sum_of_decimals_rough(values: list[Number], at_least: Number) -> None:
    whole = sum(map(Fraction, values), Fraction(0))
    is_binary = any(isinstance(value, float) and value % 1 for value in values)
    is_exactly = whole >= as_written(at_least)
    assert adds_up(values, at_least) == (is_exactly or (is_binary and at_least <= 2**53 and float(whole) >= at_least))


def test_one_in_ten_sums_of_cents_no_longer_misses() -> None:
    random = Random(13)
    for _ in range(1_000):
        cents = [random.randrange(1, 100_000) for _ in range(random.randint(2, 6))]
        amounts: list[Number] = [Decimal(cent).scaleb(-2) for cent in cents]
        asked = sum(cents) / 100
        assert adds_up(amounts, asked)
        assert not adds_up([*amounts[:-1], amounts[-1] - Decimal("0.01")], asked)


@given(st.one_of(decimals, st.integers(0, 2**70)), thresholds)
def test_a_decimal_is_a_level_if_it_is_as_much_as_was_written(value: Number, at_least: Number) -> None:
    assert is_level(value, at_least) == (Fraction(value) >= as_written(at_least))


@given(binary, binary)
def test_a_float_is_a_level_if_it_is_as_much_as_the_float(value: Number, at_least: Number) -> None:
    assert is_level(value, at_least) == (value >= at_least)


@given(numbers)
def test_a_threshold_is_settled_as_an_int_or_a_float_that_means_the_same(at_least: Number) -> None:
    assert meant(settled(at_least)) == meant(at_least)
    assert settled(Decimal("417.05")) == 417.05
    assert type(settled(Decimal("40.0"))) is int
    assert settled(Decimal("0.1000000000000000000001")) == Decimal("0.1000000000000000000001")


@given(st.lists(numbers, max_size=5), numbers, thresholds)
def test_one_value_more_never_makes_a_sum_too_small(values: list[Number], more: Number, at_least: Number) -> None:
    assert adds_up([*values, more], at_least) >= adds_up(values, at_least)


@given(st.lists(st.integers(0, 2**70), max_size=6), st.integers(1, 2**72))
def test_whole_numbers_are_never_rounded(values: list[int], at_least: int) -> None:
    assert adds_up([*values], at_least) == (sum(values) >= at_least)
    assert reaches(sum(map(exact, values)), at_least, is_rough=True) == (sum(values) >= at_least)


def test_beyond_what_a_float_can_tell_apart_whole_numbers_are_still_counted_one_by_one() -> None:
    assert adds_up([2**55, 7], 2**55 + 7)
    assert not adds_up([2**55, 6], 2**55 + 7)  # as a float it would be 2**55 + 8


@given(thresholds)
@example(5e-324)
@example(1e-323)
@example(1)
@example(2.0**53)
@example(2.0**-1022)
@example(Decimal("0.1000000000000000000001"))
def test_enough_is_the_least_total_that_reaches(at_least: Number) -> None:
    for rough in (False, True):
        assert reaches(enough(at_least, rough), at_least, rough)
        assert not reaches(enough(at_least, rough) - 1, at_least, rough)


def test_tenths_add_up_as_people_expect_in_every_order() -> None:
    for values in permutations([0.6, 0.3, 0.1]):
        assert adds_up(list(values), 1)
        assert adds_up(list(values), 1.0)
    assert adds_up([0.1] * 10, 1)
    assert not adds_up([0.1] * 9, 1)


def test_a_small_value_beside_a_large_one_is_not_lost() -> None:
    values: list[Number] = [1e16, 1.0, 1.0]
    assert adds_up(values, 10**16 + 2)
    assert not adds_up(values, 10**16 + 3)
    log = [Event("k", "v", at, value=value) for at, value in enumerate(values)]
    assert met_at(total("v", at_least=10**16 + 2), log, 0) == 2


def test_the_largest_and_the_smallest_floats_add_up_without_overflow() -> None:
    assert adds_up([1.7e308] * 10, 1.7e308)
    assert adds_up([5e-324] * 3, 1.5e-323)
    assert not adds_up([5e-324] * 2, 1.5e-323)


@given(st.lists(numbers, max_size=4))
def test_an_exact_total_is_packed_and_unpacked_without_loss(values: list[Number]) -> None:
    amount = sum(map(exact, values))
    n, twos, fives = pack(amount)
    assert unpack(n, twos, fives) == amount
    assert Fraction(n, 2**twos * 5**fives) == sum(map(Fraction, values), Fraction(0))
    assert twos == 0 or n % 2
    assert fives == 0 or n % 5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (40, "40"),
        (40.0, "40"),
        (0.1, "0.1"),
        (1e22, f"{10**22}"),
        (0, "0"),
        (Decimal("334.330"), "334.33"),
        (Decimal("12345678901234567890.01"), "12345678901234567890.01"),
    ],
)
def test_amounts_are_written_without_a_needless_point(value: Number, text: str) -> None:
    assert amount_text(exact(value)) == text
    assert number_text(value) == text


def test_what_is_missing_of_decimals_is_written_exactly() -> None:
    assert amount_text(threshold(417.05) - exact(Decimal("82.72"))) == "334.33"
