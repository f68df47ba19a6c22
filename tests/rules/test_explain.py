"""Every outcome explains itself: what had been seen, what was missing, which event decided."""

from __future__ import annotations

import pytest

from sojourn.rules import Condition, Event, Outcome, Rule, all_of, any_of, decide, n_of, never, reached, seen, total

OPENED_AT = 1_167_566_400_000  # 2006-12-31 12:00:00 UTC
DAY_MS = 86_400_000


def end(until: Condition | None, *signals: tuple[object, ...], within: str = "60 days") -> Outcome:
    """Signals are (kind, days after the opening, source, value)."""
    rule = Rule("r", "open", until, within, cancels="stop")
    opening = Event("k", "open", OPENED_AT)
    events = [Event("k", kind, OPENED_AT + int(days * DAY_MS), *more) for kind, days, *more in signals]
    return decide(rule, opening, [opening, *events])


ACKS = seen("ack", times=2, distinct="source")


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (
            end(ACKS, ("ack", 1, "replica-1"), ("ack", 2, "replica-1")),
            "expired at 2007-03-01 12:00:00 UTC after 60 days: seen 1 of 2 acks (replica-1), missing 1",
        ),
        (
            end(seen("Payment"), ("Payment", 12.5)),
            "completed by Payment at 2007-01-13 00:00:00 UTC after 12d12h: seen Payment",
        ),
        (
            end(seen("Payment"), ("stop", 3)),
            "cancelled by stop at 2007-01-03 12:00:00 UTC after 3 days: no Payment",
        ),
        (
            end(seen("Payment"), ("Payment", 65)),
            "expired at 2007-03-01 12:00:00 UTC after 60 days: no Payment; met 5 days late",
        ),
        (
            end(all_of("paid", total("fetch", at_least=100)), ("paid", 1), ("fetch", 1, None, 60)),
            "expired at 2007-03-01 12:00:00 UTC after 60 days: seen paid; seen 60 of 100 value in fetch, missing 40",
        ),
        (
            end(all_of(total("fetch", at_least=100), "paid"), ("paid", 2), ("fetch", 1, None, 160)),
            "completed by paid at 2007-01-02 12:00:00 UTC after 2 days: seen 100 of 100 value in fetch; seen paid",
        ),
        (
            end(reached("offset", at_least=9, by=2), ("offset", -1, "r2", 9), ("offset", 1, "r1", 8)),
            "expired at 2007-03-01 12:00:00 UTC after 60 days: seen 1 of 2 sources with offset >= 9 (r2), missing 1",
        ),
        (
            end(reached("offset", at_least=9), ("offset", -1, "r2", 9)),
            "completed by offset at 2006-12-31 12:00:00 UTC after 0 ms: seen offset >= 9 (r2)",
        ),
        (
            end(reached("offset", at_least=9), within="1 ms"),
            "expired at 2006-12-31 12:00:00.001 UTC after 1 ms: no offset >= 9",
        ),
        (end(never(), within="5 s"), "expired at 2006-12-31 12:00:05 UTC after 5 s"),
    ],
    ids=lambda value: value.split(":")[-1] if isinstance(value, str) else "",
)
def test_an_outcome_explains_itself_in_a_sentence(outcome: Outcome, sentence: str) -> None:
    assert outcome.explain() == sentence


def test_a_life_that_ended_is_explained_by_the_silence() -> None:
    rule = Rule("session", "join", within="30 s", keeps_alive="heartbeat")
    outcome = decide(rule, Event("k", "join", 0), [Event("k", "heartbeat", 10_000)])
    assert outcome.explain() == "expired at 1970-01-01 00:00:40 UTC after 40 s: no heartbeat for 30 s"


@pytest.mark.parametrize(
    ("outcome", "missing"),
    [
        (end(seen("Payment")), "Payment"),
        (end(seen("Payment"), ("Payment", 1)), None),
        (end(seen("Payment"), ("stop", 1), ("Payment", 2)), "Payment"),
        (end(ACKS), "2 of 2 ack"),
        (end(ACKS, ("ack", 1, "x"), ("ack", 61, "y")), "1 of 2 ack"),
        (end(total("fetch", at_least=100), ("fetch", 1, None, 60), ("fetch", -1, None, 9)), "40 of 100 value in fetch"),
        (end(total("fetch", at_least=1), ("fetch", 1, None, 0.1), ("fetch", 1, None, 0.2)), "0.7 of 1 value in fetch"),
        (end(reached("offset", 9), ("offset", 1, "x", 8)), "offset >= 9"),
        (end(reached("offset", 9, by=3), ("offset", 1, "x", 9)), "2 of 3 sources with offset >= 9"),
        (end(all_of("a", "b", "c"), ("b", 1)), "a and c"),
        (end(any_of("a", "b")), "a or b"),
        (end(n_of(2, "a", "b", "c"), ("b", 1)), "1 of (a, c)"),
        (end(all_of("a", any_of("b", "c"))), "a and (b or c)"),
        (end(all_of("a", any_of("b", "c")), ("a", 1)), "b or c"),
        (end(all_of("x", all_of(any_of("b", "c"), "d")), ("d", 1)), "x and (b or c)"),
        (end(any_of(all_of("a", "b"), "c"), ("a", 1)), "b or c"),
        (end(any_of("a", never())), "a or never"),
        (end(never()), None),
        (end(never(), ("stop", 1)), None),
    ],
)
def test_what_was_missing_when_the_operation_ended_is_said_in_words(outcome: Outcome, missing: str | None) -> None:
    assert outcome.missing == missing


def test_what_came_after_the_end_is_not_part_of_the_explanation() -> None:
    outcome = end(all_of("a", "b"), ("stop", 2), ("a", 3), ("b", 4))
    assert outcome.explain() == "cancelled by stop at 2007-01-02 12:00:00 UTC after 2 days: no a; no b"


def test_of_many_sources_the_first_five_are_named() -> None:
    acks = [("ack", day, f"r{day}") for day in range(1, 9)]
    assert end(seen("ack", 9, "source"), *acks).seen == "seen 8 of 9 acks (r1, r2, r3, r4, r5, 3 more), missing 1"


def test_sources_are_named_by_time_and_then_by_name_and_the_unnamed_one_is_not() -> None:
    acks = [("ack", 2, "b"), ("ack", 2, "a"), ("ack", 2, 7), ("ack", 2, None), ("ack", 1, "z")]
    assert end(seen("ack", 9, "source"), *acks).seen == "seen 5 of 9 acks (z, 7, a, b), missing 4"


def test_a_kind_that_ends_in_s_gets_no_second_one() -> None:
    assert end(seen("access", 2)).seen == "seen 0 of 2 access, missing 2"


def test_times_beyond_the_calendar_are_told_as_numbers() -> None:
    rule = Rule("r", "open", "paid", 2**62 - 1)
    assert decide(rule, Event("k", "open", 0), []).explain().startswith(f"expired at {2**62 - 1} ms after ")


def test_times_before_the_epoch_are_told_as_dates() -> None:
    rule = Rule("r", "open", "paid", 1)
    assert (
        decide(rule, Event("k", "open", -2), [])
        .explain()
        .startswith("expired at 1969-12-31 23:59:59.999 UTC after 1 ms")
    )
