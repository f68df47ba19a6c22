"""Other deadlines: what a second run would say, or that nobody can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from parity.tables import as_table
from rules.strategies import MANY, alive_rules, logs_of_two_keys, waiting_rules
from sojourn import Event, Rule
from sojourn.pipeline import local
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.report.sections import sections
from sojourn.pipeline.results.counts import STATUSES, Counts
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.tally import tally
from sojourn.pipeline.results.what_if import PART, WhatIf, is_meant

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


def rerun(rule: Rule, log: Sequence[Event], within: int) -> Counts:
    return counts_of(local.outcomes(as_table(log), with_within(rule, within), unit="ms").outcomes)


def decided(rule: Rule, log: Sequence[Event]) -> pa.Table:
    """What a run knows, cancellations too."""
    return local.decided(as_table(log), Plan.of(rule, "ms")).outcomes


@MANY
@given(fixed_rules, logs_of_two_keys, withins)
def test_where_a_run_knows_its_cancellations_a_what_if_is_what_a_second_run_says(
    rule: Rule, log: list[Event], within: int
) -> None:
    found = decided(rule, log)
    assume(found.num_rows)
    asked = (Deadline(within), Deadline(within - int(rule.within), is_shift=True))  # type: ignore[call-overload]
    told = tally(found, asked, [rule])["r"].what_if
    assert told[asked[0]] == told[asked[1]] == rerun(rule, log, within)
    [row] = local.what_if(found, [within]).to_pylist()
    assert Counts(*(row[name] for name in STATUSES)) == told[asked[0]]


@MANY
@given(fixed_rules, logs_of_two_keys, withins)
def test_an_outcome_table_tells_what_a_second_run_says_or_that_it_cannot_know(
    rule: Rule, log: list[Event], within: int
) -> None:
    table = local.outcomes(as_table(log), rule, unit="ms").outcomes
    assume(table.num_rows)
    told, truth = tally(table, [Deadline(within)], [rule])["r"].what_if[Deadline(within)], rerun(rule, log, within)
    assert told.opened == truth.opened == table.num_rows
    assert all(known <= true <= known + told.unknown for known, true in zip(told[:4], truth[:4], strict=True))
    if rule.cancels is None or within <= int(rule.within):  # type: ignore[call-overload]
        assert told == truth
    [row] = local.what_if(table, [within], rule).to_pylist()
    assert row["opened"] == row["completed"] + row["expired"] + row["cancelled"] + row["unknown"] == told.opened
    assert Counts(*(row[name] for name in STATUSES)) == told


def test_what_an_outcome_table_cannot_know_is_counted_as_such() -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes
    rows = local.what_if(table, [5, 10, 11, 20]).to_pylist()
    names = ("completed", "met_late", "never_met", "cancelled", "unknown")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 3, 2, 1, 0),
        (0, 3, 2, 1, 0),
        (1, 0, 0, 1, 4),  # e was met one millisecond late: no cancellation fits in between
        (1, 0, 0, 1, 4),
    ]
    known = local.what_if(decided(CANCELLING, LOG), [11, 20]).to_pylist()
    assert [tuple(row[name] for name in names) for row in known] == [(1, 2, 2, 1, 0), (2, 0, 1, 3, 0)]


def test_whether_a_rule_cancels_is_what_the_rules_say_or_else_the_whole_table() -> None:
    log = [event for event in LOG if event.key in "abcde"]
    table = local.outcomes(as_table(log), CANCELLING, unit="ms").outcomes
    assert local.what_if(table, [20])["unknown"].to_pylist() == [0]  # nobody was cancelled in time
    assert local.what_if(table, [20], CANCELLING)["unknown"].to_pylist() == [4]
    assert local.what_if(table, [20], [CANCELLING])["unknown"].to_pylist() == [4]


def test_parts_of_a_table_add_up_to_what_the_whole_says() -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes
    for rules in ((), (CANCELLING,)):
        parts = pa.Table.from_batches(WhatIf(deadlines("5 ms, 20 ms"), rules)(table.to_batches(max_chunksize=1)), PART)
        keys = ["rule", "within", "within_ms", "may_cancel"]
        summed = parts.group_by(keys).aggregate([(n, "sum") for n in PART.names if n not in keys])
        summed = summed.rename_columns([name.removesuffix("_sum") for name in summed.column_names])
        rows = [row for row in summed.to_pylist() if is_meant(row)]
        expected = local.what_if(table, [5, 20], rules).to_pylist()
        assert [
            {name: row[name] for name in expected[0]} for row in sorted(rows, key=lambda r: r["within_ms"])
        ] == expected


@given(alive_rules.filter(lambda rule: isinstance(rule.within, int)), logs_of_two_keys)
def test_under_keep_alives_nobody_can_know_and_nothing_else_is_said(rule: Rule, log: list[Event]) -> None:
    found = decided(rule, log)
    assume(found.num_rows)
    own = tally(found, deadlines("3 ms, +0 ms"), [rule])["r"]
    assert own.what_if[Deadline(3)] == Counts(unknown=found.num_rows)
    assert own.what_if[Deadline(0, is_shift=True)] == own.counts
    assert local.what_if(found, [3], rule)["unknown"].to_pylist() == [found.num_rows]


def test_outcomes_have_no_column_more_than_they_are_said_to() -> None:
    assert "cancelled_at" in decided(CANCELLING, LOG).column_names
    assert "cancelled_at" not in local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes.column_names


def test_the_report_tells_what_cannot_be_known_and_its_rows_add_up() -> None:
    table = local.outcomes(as_table(LOG), CANCELLING, unit="ms").outcomes
    asked = deadlines("20 ms")
    unsure = "".join(sections(CANCELLING, tally(table, asked, [CANCELLING])["r"], None))
    assert 'data-name="cannot know">4<' in unsure
    assert "may have been cancelled by stop" in unsure
    sure = "".join(sections(CANCELLING, tally(decided(CANCELLING, LOG), asked, [CANCELLING])["r"], None))
    assert "cannot know" not in sure
    assert "may have been cancelled" not in sure
    assert 'data-name="cancelled">3<' in sure
