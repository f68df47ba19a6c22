"""A log ends: what has not ended by then is pending, and nothing that is pending is called expired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.oracle import opinion
from rules.strategies import MANY, logs, logs_of_two_keys, openings, rules
from sojourn import ConfigError
from sojourn.rules import Event, Outcome, Rule, Waiting, decide, never, outcomes, reached, seen

SHIPPED = Rule("shipped", "order", "packed", within=60)
ORDER = Event("A1", "order", 0)

times = st.integers(-1, 13)


def only(found: list[Outcome]) -> Outcome:
    (outcome,) = found
    return outcome


def as_of(log: list[Event], end: int, rule: Rule = SHIPPED) -> Outcome:
    return only(outcomes(rule, log, as_of=end))


def test_what_is_due_after_the_end_of_the_log_is_pending_with_its_age_and_what_is_missing() -> None:
    outcome = as_of([ORDER], 59)
    assert outcome == ("shipped/A1/0", "shipped", "A1", 0, 60, "pending", None, 59, None, None, "packed", "no packed")
    assert outcome.explain() == "pending for 59 ms, 1 ms left: no packed"


def test_a_deadline_at_the_end_of_the_log_has_passed_as_its_whole_day_has_been_seen() -> None:
    assert as_of([ORDER], 60)[5:8] == ("expired", 60, 60)


def test_a_signal_at_the_end_of_the_log_counts_and_one_after_it_is_not_looked_at() -> None:
    log = [ORDER, Event("A1", "packed", 40)]
    assert as_of(log, 40)[5:9] == ("completed", 40, 40, 40)
    assert as_of(log, 39)[5:9] == ("pending", None, 39, None)


def test_a_signal_that_would_have_met_it_late_is_not_known_before_it_has_come() -> None:
    log = [ORDER, Event("A1", "packed", 90)]
    assert as_of(log, 89)[5:9] == ("expired", 60, 60, None)
    assert as_of(log, 90)[5:9] == ("expired", 60, 60, 90)


def test_a_log_ends_with_its_latest_event_whatever_its_kind_and_key() -> None:
    assert only(outcomes(SHIPPED, [ORDER, Event("B2", "weather", 59)])).waited_ms == 59
    assert only(outcomes(SHIPPED, [ORDER, Event("B2", "weather", 60)])).outcome == "expired"


def test_an_event_that_cannot_be_used_does_not_say_how_far_the_log_goes() -> None:
    rule = Rule("r", "order", reached("level", 3), within=60)
    aside: list[Event] = []
    found = outcomes(rule, [ORDER, Event("A1", "level", 99)], lambda event, reason: aside.append(event))
    assert (only(found).outcome, only(found).waited_ms, len(aside)) == ("pending", 0, 1)


def test_whoever_says_that_nothing_else_will_come_has_no_pending_operations() -> None:
    assert only(outcomes(SHIPPED, [ORDER], as_of="complete"))[5:8] == ("expired", 60, 60)


def test_an_operation_that_is_opened_after_the_end_is_not_there_yet() -> None:
    assert outcomes(SHIPPED, [ORDER, Event("B2", "order", 5)], as_of=-1) == []
    assert [o.key for o in outcomes(SHIPPED, [ORDER, Event("B2", "order", 5)], as_of=4)] == ["A1"]


def test_what_is_kept_alive_is_pending_until_its_last_deadline_and_misses_nothing() -> None:
    rule = Rule("session", "order", None, within=10, keeps_alive="beat")
    log = [ORDER, Event("A1", "beat", 8), Event("A1", "beat", 16)]
    assert as_of(log, 15, rule)[4:] == (18, "pending", None, 15, None, None, None, "")
    assert as_of(log, 16, rule).deadline == 26
    assert as_of(log, 26, rule)[4:8] == (26, "expired", 26, 26)


def test_what_only_its_deadline_ends_is_pending_until_then() -> None:
    rule = Rule("delivery", "order", never(), within=10)
    assert [as_of([ORDER], end, rule).outcome for end in (9, 10)] == ["pending", "expired"]


def test_a_pending_operation_says_how_far_it_has_come() -> None:
    rule = Rule("r", "order", seen("ack", times=3, distinct="source"), within=10)
    outcome = as_of([ORDER, Event("A1", "ack", 1, "x"), Event("A1", "ack", 5, "y")], 4, rule)
    assert (outcome.missing, outcome.seen) == ("2 of 3 ack", "seen 1 of 3 acks (x), missing 2")


@pytest.mark.parametrize(
    "end",
    [
        59,
        datetime(1970, 1, 1, 0, 0, 0, 59_999, tzinfo=UTC),
        datetime(1970, 1, 1, 1, 0, 0, 59_000, tzinfo=timezone(timedelta(hours=1))),
        datetime(1970, 1, 1, 0, 0, 0, 59_000),
        "1970-01-01T00:00:00.059",
        "1970-01-01T01:00:00.059+01:00",
    ],
)
def test_the_end_is_a_time_in_any_form_and_in_utc_unless_it_says_otherwise(end: object) -> None:
    assert only(outcomes(SHIPPED, [ORDER], as_of=end)).waited_ms == 59  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["now", "", True, None, 1.5, 2**80])
def test_anything_else_is_refused_and_told_what_is_allowed(end: object) -> None:
    with pytest.raises(ConfigError, match='is not the end of a log; allowed are "log", "complete", a time'):
        outcomes(SHIPPED, [ORDER], as_of=end)  # type: ignore[arg-type]


@MANY
@given(rules, openings, logs, times)
def test_as_of_a_time_an_operation_has_ended_as_one_who_lived_until_then_would_have_seen(
    rule: Rule, opening: Event, log: list[Event], end: int
) -> None:
    opening = opening._replace(kind=rule.opens)
    lived = opinion(rule, opening.at, rule.deadline(opening), [e for e in [opening, *log] if e.at <= end])
    if opening.at > end:
        return
    outcome = decide(rule, opening, [opening, *log], as_of=end)
    if lived.at <= end:
        assert (outcome.outcome, outcome.at, outcome.deadline, outcome.met_at, outcome.decided_by) == lived
    else:
        assert (outcome.outcome, outcome.waited_ms, outcome.met_at) == ("pending", end - opening.at, None)


@MANY
@given(rules, logs_of_two_keys, times, st.integers(0, 5))
def test_a_later_end_turns_pending_into_an_ending_and_never_one_ending_into_another(
    rule: Rule, log: list[Event], end: int, more: int
) -> None:
    earlier = {o.operation_id: o for o in outcomes(rule, log, as_of=end)}
    later = {o.operation_id: o for o in outcomes(rule, log, as_of=end + more)}
    assert earlier.keys() <= later.keys()
    for name, before in earlier.items():
        after = later[name]
        if before.outcome == "pending":
            assert after.at is None or after.at > end
        else:
            assert after._replace(met_at=None) == before._replace(met_at=None)
            assert before.met_at in (None, after.met_at)


@given(rules, logs_of_two_keys)
def test_as_of_a_time_after_everything_a_log_is_complete(rule: Rule, log: list[Event]) -> None:
    assert outcomes(rule, log, as_of=100) == outcomes(rule, log, as_of="complete")


@MANY
@given(rules, openings, logs, times, st.randoms(use_true_random=False))
def test_a_waiting_operation_stands_as_the_law_says_as_of_any_time(
    rule: Rule, opening: Event, log: list[Event], end: int, random: Random
) -> None:
    opening = opening._replace(kind=rule.opens)
    log = [opening, *log]
    waiting = Waiting.open(rule, opening)
    for event in random.sample(log, len(log)):
        waiting.add(event)
    expected = None if opening.at > end else decide(rule, opening, log, as_of=end)
    assert waiting.as_of(end) == expected
