"""Which events open operations, what the operations are called, and when they are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sojourn import RuleError
from sojourn.rules import Event, Rule, column, openings, operation_id, outcomes, until_column


def opening(at: int, key: str = "A1", **columns: object) -> Event:
    return Event(key, "open", at, columns=columns)


def ids(rule: Rule, *events: Event) -> list[str]:
    return [outcome.operation_id for outcome in outcomes(rule, events)]


def test_per_first_opens_one_operation_a_key_at_its_earliest_opening() -> None:
    rule = Rule("fine-paid", "open", "paid", within=5)
    assert ids(rule, opening(7), opening(3), opening(3), opening(4, "B2")) == ["fine-paid/A1/3", "fine-paid/B2/4"]


def test_per_each_opens_one_operation_for_every_opening_and_numbers_those_of_one_instant() -> None:
    rule = Rule("fine-paid", "open", "paid", within=5, per="each")
    found = ids(rule, opening(7), opening(3), opening(3), opening(3, "B2"), opening(3))
    assert found == ["fine-paid/A1/3", "fine-paid/A1/3#2", "fine-paid/A1/3#3", "fine-paid/B2/3", "fine-paid/A1/7"]


def test_one_signal_completes_every_operation_that_is_open() -> None:
    rule = Rule("r", "open", "paid", within=5, per="each")
    found = outcomes(rule, [opening(1), opening(4), opening(8), Event("A1", "paid", 6)], as_of="complete")
    assert [(o.opened_at, o.outcome, o.at) for o in found] == [
        (1, "completed", 6),
        (4, "completed", 6),
        (8, "expired", 13),
    ]


def test_signals_of_other_keys_do_not_count() -> None:
    rule = Rule("r", "open", "paid", within=5)
    assert outcomes(rule, [opening(1), Event("B2", "paid", 2)], as_of="complete")[0].outcome == "expired"


def test_a_log_that_opens_nothing_has_no_outcomes() -> None:
    assert outcomes(Rule("r", "open", "paid", within=5), [Event("A1", "paid", 6)]) == []


def test_operation_ids_are_readable_and_tell_rule_key_and_time_apart() -> None:
    assert operation_id("fine-paid", "A1", 1167606000000) == "fine-paid/A1/1167606000000"
    assert operation_id("fine-paid", "A1", 1167606000000, 2) == "fine-paid/A1/1167606000000#2"
    with pytest.raises(RuleError, match="the name must not contain '/'"):
        Rule("fine/paid", "open", "paid", within=5)


def test_of_openings_at_one_instant_the_one_due_first_comes_first() -> None:
    rule = Rule("r", "open", "paid", column("allowed"), per="each")
    late, soon = opening(3, allowed=9), opening(3, allowed=2)
    expected = [("r/A1/3", 5), ("r/A1/3#2", 12)]
    for log in ([late, soon], [soon, late]):
        assert [(o.operation_id, o.deadline) for o in outcomes(rule, log)] == expected
        assert openings(Rule("r", "open", "paid", column("allowed")), log) == [(soon, 1)]


@pytest.mark.parametrize("allowed", [1500, 1500.0, "1.5 s", "1s500ms", timedelta(seconds=1.5)])
def test_a_column_of_the_opening_says_how_long(allowed: object) -> None:
    assert Rule("r", "open", "paid", column("allowed")).deadline(opening(100, allowed=allowed)) == 1600


@pytest.mark.parametrize(
    "due",
    [
        1_600,
        datetime(1970, 1, 1, 0, 0, 1, 600_000, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 1, 599_001, tzinfo=UTC),  # rounded up: never early
        datetime(1970, 1, 1, 1, 0, 1, 600_000, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_column_of_the_opening_says_until_when(due: object) -> None:
    assert Rule("r", "open", "paid", until_column("due")).deadline(opening(100, due=due)) == 1_600


def test_times_before_the_epoch_are_times_like_any_other() -> None:
    rule = Rule("r", "open", "paid", until_column("due"))
    due = datetime(1948, 5, 1, tzinfo=UTC)
    assert rule.deadline(opening(-700_000_000_000, due=due)) == int(due.timestamp()) * 1000


@pytest.mark.parametrize(
    ("within", "value", "reason"),
    [
        (column("allowed"), None, "no allowed on 'open'; the deadline is read from that column"),
        (column("allowed"), "soon", "allowed of 'open': duration 'soon' is not a number and a unit"),
        (column("allowed"), -1, "allowed of 'open': duration -1 is negative"),
        (column("allowed"), float("nan"), "allowed of 'open': duration nan is neither"),
        (column("allowed"), True, "allowed of 'open': duration True is neither"),
        (until_column("allowed"), None, "no allowed on 'open'"),
        (until_column("allowed"), "2007", "allowed of 'open': time '2007' is neither epoch milliseconds nor"),
        (until_column("allowed"), True, "allowed of 'open': time True is neither"),
        (until_column("allowed"), datetime(2007, 1, 1), "has no time zone"),
        (until_column("allowed"), 2**62, "is too far"),
    ],
)
def test_an_opening_whose_deadline_cannot_be_read_is_set_aside_with_the_reason(
    within: object, value: object, reason: str
) -> None:
    rule = Rule("r", "open", "paid", within)  # type: ignore[arg-type]
    bad, good = opening(1, allowed=value), opening(2, allowed=3)
    aside: list[tuple[Event, str]] = []
    found = outcomes(rule, [bad, good], lambda event, why: aside.append((event, why)))
    assert [(event, reason in why) for event, why in aside] == [(bad, True)]
    assert [outcome.opened_at for outcome in found] == [2]
