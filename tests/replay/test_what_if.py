"""Other deadlines: what a second run would say, or that nobody can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parity.tables import as_table
from rules.strategies import MANY, alive_rules, ends, logs_of_two_keys, waiting_rules
from sojourn import Event, Rule
from sojourn.pipeline import local
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.report.sections import sections
from sojourn.pipeline.results.counts import STATUSES, Counts
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.tally import tally
from sojourn.pipeline.results.what_if import Answer, WhatIf
from sojourn.rules import AsOf, Duration

fixed_rules = waiting_rules.filter(lambda rule: isinstance(rule.within, int))
withins = st.integers(0, 12)

CANCELLING = Rule("r", "open", "paid", within=10, cancels="stop")
LOG = [
    *(Event(key, "open", 0) for key in "abcdef"),
    Event("a", "paid", 15),
    Event("b", "paid", 15),
    Event("b", "stop", 12),
    Event("c", "stop", 13),
    Event("e", "paid", 11),
    Event("f", "stop", 3),
]


def with_within(rule: Rule, within: int) -> Rule:
    return Rule(rule.name, rule.opens, rule.until, within, rule.per, rule.cancels, rule.keeps_alive)


def counts_of(found: pa.Table) -> Counts:
    rows = zip(found["outcome"].to_pylist(), found["met_at"].to_pylist(), strict=True)
    told = Counter(
        ending if ending != "expired" else "never_met" if met_at is None else "met_late" for ending, met_at in rows
    )
    return Counts(*(told[status] for status in STATUSES))


def rerun(rule: Rule, log: Sequence[Event], within: int, as_of: AsOf) -> Counts:
    return counts_of(local.outcomes(as_table(log), with_within(rule, within), unit="ms", as_of=as_of).outcomes)


def decided(rule: Rule, log: Sequence[Event], as_of: AsOf = "complete") -> pa.Table:
    """What a run knows, cancellations too."""
    return local.outcomes_by_plan(as_table(log), Plan.of(rule, "ms").ending(as_of)).outcomes


def told_by(row: dict[str, Any]) -> Counts:
    return Counts(*(row[name] for name in STATUSES))


@MANY
@given(fixed_rules, logs_of_two_keys, withins, ends)
def test_where_a_run_knows_its_cancellations_a_what_if_is_what_a_second_run_says(
    rule: Rule, log: list[Event], within: int, as_of: AsOf
) -> None:
    found = decided(rule, log, as_of)
    assume(found.num_rows)
    asked = (Deadline(within), Deadline(within - int(rule.within), is_shift=True))  # type: ignore[call-overload]
    told = tally(found, asked, [rule])["r"].what_if
    assert told[asked[0]].counts == told[asked[1]].counts == rerun(rule, log, within, as_of)
    assert told[asked[0]].estimate() == told[asked[1]].estimate()
    [row] = local.what_if(found, [within]).to_pylist()
    assert told_by(row) == told[asked[0]].counts


@MANY
@given(fixed_rules, logs_of_two_keys, withins, ends)
def test_the_share_under_another_deadline_is_that_of_a_second_run(
    rule: Rule, log: list[Event], within: int, as_of: AsOf
) -> None:
    """Up to the longer of two deadlines both runs have seen the same."""
    found, again = decided(rule, log, as_of), decided(with_within(rule, within), log, as_of)
    assume(found.num_rows)
    told = tally(found, [Deadline(within)], [rule])["r"].what_if[Deadline(within)].estimate()
    expected = tally(again, [], [with_within(rule, within)])["r"].completed()
    assert told is expected is None or told == pytest.approx(expected)


@MANY
@given(fixed_rules, logs_of_two_keys, withins, ends)
def test_an_outcome_table_tells_what_a_second_run_says_or_that_it_cannot_know(
    rule: Rule, log: list[Event], within: int, as_of: AsOf
) -> None:
    result = local.outcomes(as_table(log), rule, unit="ms", as_of=as_of)
    table, end = result.outcomes, "complete" if result.as_of is None else result.as_of
    assume(table.num_rows)
    told = tally(table, [Deadline(within)], [rule], end)["r"].what_if[Deadline(within)].counts
    truth = rerun(rule, log, within, as_of)
    assert told.opened == truth.opened == table.num_rows
    assert all(known <= true <= known + told.unknown for known, true in zip(told[:5], truth[:5], strict=True))
    if rule.cancels is None or within <= int(rule.within):  # type: ignore[call-overload]
        assert told == truth
    [row] = local.what_if(table, [within], rule, end).to_pylist()
    parts = ("completed", "expired", "cancelled", "pending", "unknown")
    assert row["opened"] == sum(row[name] for name in parts) == told.opened
    assert told_by(row) == told


@MANY
@given(fixed_rules, logs_of_two_keys, st.integers(-1, 12), ends)
def test_as_of_an_earlier_time_a_table_tells_what_the_log_up_to_then_does(
    rule: Rule, log: list[Event], earlier: int, as_of: AsOf
) -> None:
    """Except that what it had not seen yet may have been met, or cancelled, in the meantime: that is forgotten."""
    result = local.outcomes_by_plan(as_table(log), Plan.of(rule, "ms").ending(as_of))
    then = earlier if result.as_of is None else min(earlier, result.as_of)
    within = int(rule.within)  # type: ignore[call-overload]
    expected = rerun(rule, log, within, then)
    rows = local.what_if(result.outcomes, [within], rule, as_of=then).to_pylist()
    assert [told_by(row) for row in rows] == ([expected] if expected.opened else [])


def test_what_has_not_been_seen_to_the_end_of_a_longer_deadline_is_pending() -> None:
    rule = Rule("r", "open", "paid", within=10)
    log = [Event("a", "open", 0), Event("b", "open", 5), Event("c", "open", 25), Event("a", "paid", 12)]
    table = local.outcomes(as_table(log), rule, unit="ms", as_of=30).outcomes
    rows = local.what_if(table, [10, 12, 25, 26]).to_pylist()
    names = ("completed", "met_late", "never_met", "pending")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 1, 1, 1),
        (1, 0, 1, 1),
        (1, 0, 1, 1),
        (1, 0, 0, 2),
    ]
    # c was seen for 5 ms: of the two that were seen for longer one completed. Nobody was seen for more than 25.
    assert [row["share"] for row in rows] == [0, 0.5, 0.5, None]
    assert all(row["share_low"] <= row["share"] <= row["share_high"] for row in rows[:3])


def test_whoever_says_that_a_log_is_complete_has_nothing_pending() -> None:
    rule = Rule("r", "open", "paid", within=10)
    log = [Event("a", "open", 0), Event("b", "open", 5), Event("b", "paid", 6)]
    table = local.outcomes(as_table(log), rule, unit="ms").outcomes
    by_itself, complete = (local.what_if(table, [20], as_of=end).to_pylist()[0] for end in ("log", "complete"))
    assert (by_itself["pending"], by_itself["never_met"], by_itself["share"]) == (1, 0, None)
    assert (complete["pending"], complete["never_met"], complete["share"]) == (0, 1, 0.5)


def test_one_rule_tells_where_the_log_of_another_ended() -> None:
    first, second = Rule("r", "open", "paid", within=10), Rule("s", "open", "paid", within=100)
    log = [Event("a", "open", 0), Event("b", "weather", 30)]
    table = local.outcomes(as_table(log), [first, second], unit="ms").outcomes
    assert local.what_if(table, [40], [first, second])["pending"].to_pylist() == [1, 1]


def test_what_an_outcome_table_cannot_know_is_counted_as_such() -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms", as_of="complete").outcomes
    rows = local.what_if(table, [5, 10, 11, 20]).to_pylist()
    names = ("completed", "met_late", "never_met", "cancelled", "unknown")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 3, 2, 1, 0),
        (0, 3, 2, 1, 0),
        (1, 0, 0, 1, 4),  # e was met one millisecond late: no cancellation fits in between
        (1, 0, 0, 1, 4),
    ]
    assert [row["share"] for row in rows] == [0, 0, 1, 1]  # only e was seen for longer than 10 ms
    known = local.what_if(decided(CANCELLING, LOG), [11, 20]).to_pylist()
    assert [tuple(row[name] for name in names) for row in known] == [(1, 2, 2, 1, 0), (2, 0, 1, 3, 0)]
    assert [row["share"] for row in known] == pytest.approx([1 / 5, 1 - 4 / 5 * 1 / 2])


def test_whether_a_rule_cancels_is_what_the_rules_say_or_else_the_whole_table() -> None:
    log = [event for event in LOG if event.key in "abcde"]
    table = local.outcomes(as_table(log), CANCELLING, unit="ms", as_of="complete").outcomes
    assert local.what_if(table, [20])["unknown"].to_pylist() == [0]  # nobody was cancelled in time
    assert local.what_if(table, [20], CANCELLING)["unknown"].to_pylist() == [4]
    assert local.what_if(table, [20], [CANCELLING])["unknown"].to_pylist() == [4]


def test_parts_of_a_table_add_up_to_what_the_whole_says() -> None:
    for end in ("complete", 18):
        table = local.outcomes(as_table(LOG), CANCELLING, unit="ms", as_of=end).outcomes
        for rules in ((), (CANCELLING,)):
            asked = WhatIf(deadlines("5 ms, 20 ms"), rules, end)
            parts = asked(table.to_batches(max_chunksize=1))
            assert pa.Table.from_batches(Answer(asked)(parts)) == local.what_if(table, [5, 20], rules, end)


@given(alive_rules.filter(lambda rule: isinstance(rule.within, int)), logs_of_two_keys)
def test_under_keep_alives_nobody_can_know_and_nothing_else_is_said(rule: Rule, log: list[Event]) -> None:
    found = decided(rule, log, "log")
    assume(found.num_rows)
    own = tally(found, deadlines("3 ms, +0 ms"), [rule])["r"]
    assert own.what_if[Deadline(3)].counts == Counts(unknown=found.num_rows)
    assert own.what_if[Deadline(0, is_shift=True)].counts == own.counts
    [row] = local.what_if(found, [3], rule).to_pylist()
    assert (row["unknown"], row["share"], row["share_low"]) == (found.num_rows, None, None)


def test_outcomes_have_no_column_more_than_they_are_said_to() -> None:
    assert "cancelled_at" in decided(CANCELLING, LOG).column_names
    assert "cancelled_at" not in local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes.column_names


def test_the_report_tells_what_cannot_be_known_and_its_rows_add_up() -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms", as_of="complete").outcomes
    asked = deadlines("20 ms")
    unsure = "".join(sections(CANCELLING, tally(table, asked, [CANCELLING])["r"], None))
    assert 'data-name="cannot know">4<' in unsure
    assert "may have been cancelled by stop" in unsure
    sure = "".join(sections(CANCELLING, tally(decided(CANCELLING, LOG), asked, [CANCELLING])["r"], None))
    assert "cannot know" not in sure
    assert "may have been cancelled" not in sure
    assert 'data-name="cancelled">3<' in sure


@pytest.mark.parametrize("alone", ["15 ms", 15, timedelta(milliseconds=15)])
def test_a_deadline_alone_is_one_of_them(alone: Duration) -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes
    assert local.what_if(table, alone) == local.what_if(table, [alone])
