"""Rows that a rule cannot use: each with a reason, none dropped in silence."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sojourn import RuleError
from sojourn.rules import Event, Rule, all_of, event_error, outcomes, reached, seen, total, value_error

INF, NAN = float("inf"), float("nan")
RULE = Rule("r", "open", all_of(total("fetch", at_least=9), reached("level", 3), total("load", of="kg", at_least=1)), 5)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Event("k", "fetch", 1, value=None), "no value on 'fetch'"),
        (
            Event("k", "fetch", 1, value=-0.5),
            "value -0.5 of 'fetch' cannot be added up; allowed are finite numbers >= 0",
        ),
        (Event("k", "fetch", 1, value=INF), "value inf of 'fetch' cannot be added up; allowed are finite numbers >= 0"),
        (Event("k", "fetch", 1, value=NAN), "value nan of 'fetch' is not a number"),
        (Event("k", "fetch", 1, value="7"), "value '7' of 'fetch' is not a number"),  # type: ignore[arg-type]
        (Event("k", "fetch", 1, value=True), "value True of 'fetch' is not a number"),
        (Event("k", "fetch", 1, value=Decimal("sNaN")), "value Decimal('sNaN') of 'fetch' is not a number"),
        (
            Event("k", "fetch", 1, value=Decimal("-0.01")),
            "value Decimal('-0.01') of 'fetch' cannot be added up; allowed are finite numbers >= 0",
        ),
        (
            Event("k", "fetch", 1, value=Decimal("1e-77")),
            "value Decimal('1E-77') of 'fetch' is too long; allowed are decimals of at most 76 places",
        ),
        (Event("k", "level", 1), "no value on 'level'"),
        (Event("k", "level", 1, value=NAN), "value nan of 'level' is not a number"),
        (Event("k", "load", 1, value=3), "no kg on 'load'"),
        (
            Event("k", "load", 1, columns={"kg": -1}),
            "kg -1 of 'load' cannot be added up; allowed are finite numbers >= 0",
        ),
    ],
)
def test_a_value_that_the_condition_cannot_use_has_a_reason(event: Event, reason: str) -> None:
    assert value_error(RULE.until, event) == reason
    assert event_error(RULE, event) == reason


@pytest.mark.parametrize(
    "event",
    [
        Event("k", "fetch", 1, value=0),
        Event("k", "fetch", 1, value=10**400),
        Event("k", "level", 1, value=-3),
        Event("k", "level", 1, value=-INF),
        Event("k", "level", 1, value=INF),
        Event("k", "load", 1, value=NAN, columns={"kg": 2}),
        Event("k", "other", 1, value=NAN),
        Event("k", "open", -(2**62) + 1, 7),
    ],
)
def test_a_value_that_can_be_used_or_need_not_be_has_none(event: Event) -> None:
    assert event_error(RULE, event) is None


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Event(None, "x", 1), "no key"),
        (Event("k", None, 1), "no kind"),
        (Event("k", "x", None), "no time"),
        (Event(7, "x", 1), "key 7 is not a text"),
        (Event("k", 7, 1), "kind 7 is not a text"),
        (
            Event("k", "x", 1.5),
            "time 1.5 is not a whole number of milliseconds within 4611686018427387903 of the epoch",
        ),
        (Event("k", "x", 2**62), f"time {2**62} is not a whole number of milliseconds"),
        (Event("k", "x", True), "time True is not a whole number of milliseconds"),
        (Event("k", "x", 1, ["a"]), r"source \['a'\] is neither a text nor a whole number"),
    ],
)
def test_a_row_that_cannot_be_read_has_a_reason(event: Event, reason: str) -> None:
    found = event_error(RULE, event)
    assert found is not None
    with pytest.raises(RuleError, match=rf"rule 'r' cannot use Event\(.*\): {reason}"):
        outcomes(RULE, [event])


def test_rows_set_aside_and_rows_used_add_up() -> None:
    rule = Rule("r", "open", total("fetch", at_least=9), 5)
    good = [Event("k", "open", 0), Event("k", "fetch", 1, value=5), Event("k", "fetch", 2, value=4)]
    bad = [Event("k", "fetch", 0, value=NAN), Event("k", "fetch", 0), Event("", "fetch", 1, value=-1)]
    aside: list[Event] = []
    found = outcomes(rule, [bad[0], *good, *bad[1:]], lambda event, reason: aside.append(event))
    assert aside == bad
    assert [(outcome.outcome, outcome.at) for outcome in found] == [("completed", 2)]


def test_an_infinite_level_is_reached_by_infinity() -> None:
    rule = Rule("r", "open", reached("level", 10**400), 5)
    log = [Event("k", "open", 0), Event("k", "level", 1, value=1e308), Event("k", "level", 2, value=INF)]
    assert outcomes(rule, log)[0].at == 2


def test_a_condition_without_numbers_reads_no_values() -> None:
    assert value_error(seen("ack", 2, "source"), Event("k", "ack", 1, value=NAN)) is None
