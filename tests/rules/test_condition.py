"""Conditions as values: what they are, what they refuse, how they read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given

from rules.strategies import conditions
from sojourn import RuleError
from sojourn.rules import AllOf, Condition, Seen, all_of, any_of, n_of, never, reached, seen, total


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (seen("Payment"), "Payment"),
        (seen("ack", times=3), "3 ack"),
        (seen("ack", times=3, distinct="source"), "3 ack from distinct sources"),
        (total("fetch", at_least=100), "100 value in fetch"),
        (total("fetch", of="bytes", at_least=0.5), "0.5 bytes in fetch"),
        (reached("offset", at_least=100), "offset >= 100"),
        (reached("offset", at_least=100.0, by=2), "offset >= 100 from 2 sources"),
        (never(), "never"),
        (all_of("paid", "packed"), "paid and packed"),
        (any_of("paid", all_of("sent", "signed")), "paid or (sent and signed)"),
        (n_of(2, "a", "b", any_of("c", "d")), "2 of (a, b, c or d)"),
        (all_of("x", n_of(1, "a", "b")), "x and 1 of (a, b)"),
    ],
    ids=str,
)
def test_a_condition_reads_as_people_would_say_it(condition: Condition, text: str) -> None:
    assert str(condition) == text


def test_a_plain_text_means_seen() -> None:
    assert all_of("paid", seen("packed")) == AllOf((Seen("paid"), Seen("packed")))


def test_conditions_of_different_kinds_differ_even_with_equal_parts() -> None:
    assert len({all_of("a", "b"), any_of("a", "b"), n_of(1, "a", "b"), n_of(2, "a", "b")}) == 4


@given(conditions)
def test_conditions_are_hashable_comparable_and_picklable(condition: Condition) -> None:
    copy = pickle.loads(pickle.dumps(condition))
    assert copy == condition
    assert hash(copy) == hash(condition)


def test_conditions_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        seen("a").times = 2  # type: ignore[misc]


NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: seen(""), "seen='' must be a text that is not empty"),
        (lambda: seen(3), "seen=3 must be a text that is not empty"),
        (lambda: seen("ack", 0), r"seen\('ack'\): times=0 must be a whole number of at least 1"),
        (
            lambda: seen("ack", 2**31),
            r"must be a whole number of at least 1 and at most 2,147,483,647",
        ),
        (lambda: seen("ack", 1.0), r"seen\('ack'\): times=1.0 must be a whole number"),
        (lambda: seen("ack", True), r"seen\('ack'\): times=True must be a whole number"),
        (lambda: seen("ack", 2, "key"), r"seen\('ack'\): distinct='key' is not known; allowed is \"source\""),
        (lambda: total("fetch", at_least=0), r"total\('fetch'\): at_least=0 must be more than 0"),
        (lambda: total("fetch", at_least=NAN), r"total\('fetch'\): at_least=nan must be a finite number"),
        (lambda: total("fetch", at_least="1"), r"total\('fetch'\): at_least='1' must be a finite number"),
        (lambda: total("fetch", of="", at_least=1), r"total\('fetch'\): of='' must be a text"),
        (lambda: reached("offset", at_least=None), r"reached\('offset'\): at_least=None must be a finite number"),
        (lambda: reached("offset", 1, by=0), r"reached\('offset'\): by=0 must be a whole number of at least 1"),
        (all_of, r"all_of\(\) needs at least one part, as in all_of\('paid'\)"),
        (any_of, r"any_of\(\) needs at least one part, as in any_of\('paid'\)"),
        (lambda: n_of(1), r"n_of\(\) needs at least one part, as in n_of\(1, 'paid'\)"),
        (lambda: n_of(3, "a", "b"), "n_of: n=3 must be a whole number from 1 to 2, the number of parts"),
        (lambda: n_of(0, "a", "b"), "n_of: n=0 must be a whole number from 1 to 2"),
        (lambda: all_of("a", 3), "3 is not a condition; allowed are the name of a kind, seen, total"),
        (lambda: AllOf(("a",)), "all_of: 'a' is not a condition"),
        (lambda: AllOf([seen("a")]), r"all_of\(\) needs at least one part"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused_with_the_value_and_what_is_allowed(
    make: Callable[[], Condition], message: str
) -> None:
    with pytest.raises(RuleError, match=message):
        make()


def test_numbers_too_large_for_a_float_are_still_numbers() -> None:
    assert reached("offset", at_least=10**400).at_least == 10**400
