"""Ties, exactly as written: opened at 10, within 5 unless said otherwise, so the deadline is 15."""

from __future__ import annotations

from itertools import product

import pytest

from sojourn.rules import Condition, Event, Outcome, Rule, all_of, any_of, decide, n_of, reached, seen, total

OPENING = Event("k", "open", 10)


def end(until: str | Condition, *signals: tuple[str, int], cancels: str | None = "stop", within: int = 5) -> Outcome:
    rule = Rule("r", "open", until, within, cancels=cancels)
    return decide(rule, OPENING, [OPENING, *(Event("k", kind, at) for kind, at in signals)])


def test_a_signal_stamped_like_its_opening_completes_at_once() -> None:
    assert end("paid", ("paid", 10))[5:8] == ("completed", 10, 0)


def test_a_signal_before_the_opening_does_not_count() -> None:
    assert end("paid", ("paid", 9))[5:9] == ("expired", 15, 5, None)


def test_a_signal_stamped_like_the_deadline_is_in_time() -> None:
    assert end("paid", ("paid", 15))[5:8] == ("completed", 15, 5)


def test_a_signal_one_millisecond_after_the_deadline_is_late_and_met_at_says_when() -> None:
    outcome = end("paid", ("paid", 16))
    assert (outcome.outcome, outcome.at, outcome.met_at, outcome.decided_by) == ("expired", 15, 16, "deadline")


def test_at_the_same_instant_completed_wins_over_cancelled() -> None:
    assert end("paid", ("stop", 12), ("paid", 12))[5:7] == ("completed", 12)


def test_at_the_same_instant_cancelled_wins_over_expired() -> None:
    assert end("paid", ("stop", 15))[5:7] == ("cancelled", 15)


def test_at_the_deadline_completed_wins_over_both() -> None:
    assert end("paid", ("stop", 15), ("paid", 15))[5:7] == ("completed", 15)


def test_a_cancellation_one_millisecond_before_completion_wins() -> None:
    outcome = end("paid", ("stop", 11), ("paid", 12))
    assert (outcome.outcome, outcome.at, outcome.met_at, outcome.decided_by) == ("cancelled", 11, 12, "stop")


def test_a_cancellation_before_the_opening_does_not_count() -> None:
    assert end("paid", ("stop", 9), ("paid", 12))[5:7] == ("completed", 12)


def test_a_cancellation_stamped_like_the_opening_cancels_at_once() -> None:
    assert end("paid", ("stop", 10), ("paid", 11))[5:8] == ("cancelled", 10, 0)


def test_a_cancellation_after_the_deadline_is_too_late() -> None:
    assert end("paid", ("stop", 16))[5:7] == ("expired", 15)


def test_a_cancellation_after_the_deadline_does_not_hide_that_the_condition_was_met_late() -> None:
    assert end("paid", ("stop", 16), ("paid", 17)).met_at == 17


def test_the_earliest_of_several_cancellations_counts() -> None:
    assert end("paid", ("stop", 14), ("stop", 9), ("stop", 12))[5:7] == ("cancelled", 12)


def test_within_nothing_an_operation_still_completes_at_its_opening() -> None:
    assert end("paid", ("paid", 10), within=0)[5:7] == ("completed", 10)
    assert end("paid", ("paid", 11), within=0)[5:7] == ("expired", 10)


def test_all_combinations_of_one_signal_one_cancellation_and_a_deadline_end_as_the_table_says() -> None:
    for paid, stop, within in product(range(8, 18), range(8, 18), range(5)):
        deadline = 10 + within
        if 10 <= paid <= deadline and not 10 <= stop < paid:
            expected = ("completed", paid)
        elif 10 <= stop <= deadline:
            expected = ("cancelled", stop)
        else:
            expected = ("expired", deadline)
        assert end("paid", ("stop", stop), ("paid", paid), within=within)[5:7] == expected


def test_a_level_reached_before_the_opening_completes_at_the_opening() -> None:
    rule = Rule("r", "open", reached("offset", at_least=100), within=5)
    outcome = decide(rule, OPENING, [OPENING, Event("k", "offset", 3, "r1", 100)])
    assert (outcome.outcome, outcome.at, outcome.decided_by) == ("completed", 10, "offset")


def test_a_level_counts_sources_from_before_and_after_the_opening_together() -> None:
    rule = Rule("r", "open", reached("offset", at_least=100, by=2), within=5)
    before = [Event("k", "offset", 3, "r1", 100), Event("k", "offset", 4, "r1", 120), Event("k", "offset", 5, "r2", 99)]
    assert decide(rule, OPENING, before).outcome == "expired"
    assert decide(rule, OPENING, [*before, Event("k", "offset", 12, "r2", 100)])[5:7] == ("completed", 12)


def test_once_reached_a_level_stays_reached() -> None:
    rule = Rule("r", "open", reached("offset", at_least=100), within=5)
    outcome = decide(rule, OPENING, [Event("k", "offset", 3, "r1", 100), Event("k", "offset", 9, "r1", 7)])
    assert outcome.outcome == "completed"


def test_a_total_starts_from_nothing_at_the_opening() -> None:
    rule = Rule("r", "open", total("fetch", at_least=100), within=5)
    log = [Event("k", "fetch", 9, value=90), Event("k", "fetch", 10, value=60), Event("k", "fetch", 13, value=40)]
    assert decide(rule, OPENING, log)[5:7] == ("completed", 13)


def test_all_values_of_one_instant_count_at_that_instant() -> None:
    rule = Rule("r", "open", total("fetch", at_least=3), within=5)
    assert decide(rule, OPENING, [Event("k", "fetch", 12, value=1)] * 3)[5:7] == ("completed", 12)


def test_distinct_sources_count_once_each_and_the_unnamed_source_is_one_of_them() -> None:
    rule = Rule("r", "open", seen("ack", times=3, distinct="source"), within=5)
    acks = [Event("k", "ack", at, source) for at, source in [(11, "x"), (12, "x"), (12, None), (13, None), (14, "y")]]
    assert decide(rule, OPENING, acks)[5:7] == ("completed", 14)
    assert decide(rule, OPENING, acks[:-1]).outcome == "expired"


def test_an_opening_event_that_is_also_a_signal_counts_for_its_own_operation() -> None:
    rule = Rule("r", "ping", seen("ping", times=2), within=5)
    ping = Event("k", "ping", 10)
    assert decide(rule, ping, [ping]).missing == "1 of 2 ping"
    assert decide(rule, ping, [ping, Event("k", "ping", 12)])[5:7] == ("completed", 12)


def test_a_deadline_before_the_opening_is_the_opening() -> None:
    rule = Rule("r", "open", "paid", {"until_column": "due"})
    opening = Event("k", "open", 10, columns={"due": 3})
    assert decide(rule, opening, [opening])[4:8] == (10, "expired", 10, 0)
    assert decide(rule, opening, [opening, Event("k", "paid", 10)])[4:7] == (10, "completed", 10)


@pytest.mark.parametrize(
    ("until", "kind"),
    [
        (all_of("a", "b", "c"), "b"),  # b and c come last, together: b stands first
        (all_of("a", "c", "b"), "c"),
        (any_of("c", "b"), "c"),
        (any_of("c", "a"), "a"),
        (n_of(2, "c", "b", "a"), "c"),
        (any_of(all_of("b", "late"), "c"), "c"),  # b holds at that time too, but its part does not
        (all_of("a", any_of("a", "b"), any_of("late", "c")), "c"),
    ],
    ids=str,
)
def test_of_parts_that_come_to_hold_together_the_first_in_rule_order_decides(until: Condition, kind: str) -> None:
    outcome = end(until, ("a", 11), ("b", 12), ("c", 12), ("late", 14))
    assert outcome.decided_by == kind
