"""Keep-alive: each event in time moves the deadline; a gap ends it."""

from __future__ import annotations

import pytest

from sojourn import RuleError
from sojourn.rules import Event, Outcome, Rule, column, decide, never, seen, until_column

OPENING = Event("k", "join", 10)


def end(*beats: int, leave: int | None = None) -> Outcome:
    rule = Rule("session", "join", within=5, cancels="leave", keeps_alive="beat")
    leaves = [] if leave is None else [Event("k", "leave", leave)]
    return decide(rule, OPENING, [*(Event("k", "beat", at) for at in beats), *leaves])


@pytest.mark.parametrize(
    ("beats", "deadline"),
    [
        ((), 15),
        ((12,), 17),
        ((15,), 20),  # at the deadline is in time
        ((16,), 15),  # one millisecond later is not
        ((9,), 15),  # nor is before the opening
        ((10,), 15),
        ((20, 15), 25),  # a chain, in whatever order it arrives
        ((21, 15), 20),
        ((12, 14, 13), 19),
        ((12, 12), 17),
        ((16, 17, 18), 15),  # a broken chain stays broken
    ],
)
def test_the_deadline_moves_along_an_unbroken_chain_and_then_the_operation_expires(
    beats: tuple[int, ...], deadline: int
) -> None:
    assert end(*beats)[4:10] == (deadline, "expired", deadline, deadline - 10, None, "deadline")


def test_a_cancellation_in_the_life_of_a_chain_cancels() -> None:
    assert end(14, 19, leave=23)[4:7] == (24, "cancelled", 23)


def test_a_cancelled_operation_keeps_the_deadline_that_was_in_force_then() -> None:
    assert end(14, 19, 24, leave=16)[4:7] == (19, "cancelled", 16)


def test_a_cancellation_at_the_very_deadline_cancels() -> None:
    assert end(14, leave=19)[4:7] == (19, "cancelled", 19)


def test_a_cancellation_after_the_chain_has_broken_is_too_late() -> None:
    assert end(14, 20, leave=20)[4:7] == (19, "expired", 19)


def test_at_the_instant_of_a_cancellation_an_event_still_moves_the_deadline_it_reports() -> None:
    assert end(15, leave=15)[4:7] == (20, "cancelled", 15)


def test_an_operation_kept_alive_never_completes_and_is_never_met() -> None:
    outcome = end(12, 13, 14)
    assert (outcome.outcome, outcome.met_at) == ("expired", None)


def test_the_kind_that_opens_may_keep_alive() -> None:
    rule = Rule("visit", "click", within=5, keeps_alive="click")
    clicks = [Event("k", "click", at) for at in (10, 13, 18, 24)]
    assert decide(rule, clicks[0], clicks)[4:7] == (23, "expired", 23)


def test_each_operation_may_have_a_life_of_its_own_length() -> None:
    rule = Rule("session", "join", within=column("allowed"), keeps_alive="beat")
    opening = OPENING._replace(columns={"allowed": "3 ms"})
    assert decide(rule, opening, [Event("k", "beat", 12)]).deadline == 15


def test_what_is_missing_at_the_end_is_the_event_that_did_not_come() -> None:
    assert end(12).missing == "beat"
    assert end(12, leave=13).missing is None


def test_a_rule_with_keeps_alive_has_no_condition() -> None:
    assert Rule("r", "join", never(), 5, keeps_alive="beat") == Rule("r", "join", within=5, keeps_alive="beat")
    with pytest.raises(RuleError, match=r"rule 'r': keeps_alive='beat' leaves no room for until: leave one out"):
        Rule("r", "join", seen("paid"), 5, keeps_alive="beat")


def test_a_rule_with_keeps_alive_needs_a_duration() -> None:
    with pytest.raises(RuleError, match="needs a duration as within, not a fixed time"):
        Rule("r", "join", within=until_column("due"), keeps_alive="beat")
