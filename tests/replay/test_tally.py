"""Tallies: the counts of an outcome table, however it is cut."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.logs import DAY, PAID, orders, outcome_table
from replay.plain import plain
from sojourn import Outcome, Rule, RuleError
from sojourn.pipeline import local
from sojourn.pipeline.results import bins, cells, named
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.named import OTHERS
from sojourn.pipeline.results.observed import Observed
from sojourn.pipeline.results.survival import CENSORED, COMPLETED, MET_LATE, UNMET
from sojourn.pipeline.results.tally import EXAMPLES, STATUSES, Counts, merged, tally, total
from sojourn.pipeline.schema import GROUP
from sojourn.rules import AsOf

TIMES = st.integers(-40 * DAY, 40 * DAY) | st.integers(-5, 5)
RULES = [Rule("r", "a", "b", within=1), Rule("s", "a", "b", within=1, cancels="c")]
DEADLINES = deadlines("0 ms, 3 ms, 10 days, +0 ms, +2 ms, -2 ms, -10 days")


class Table(NamedTuple):
    """Outcomes, and where their log ended."""

    rows: list[Outcome]
    as_of: int | None

    @property
    def end(self) -> AsOf:
        return "complete" if self.as_of is None else self.as_of


@st.composite
def outcome_tables(draw: st.DrawFn) -> Table:
    """Outcomes as the law may give them, of two rules."""
    as_of = draw(st.none() | TIMES)
    rows = []
    for number in range(draw(st.integers(0, 30))):
        opened_at, within = draw(TIMES), abs(draw(TIMES))
        if as_of is not None and opened_at > as_of:
            continue
        deadline = opened_at + within
        met_at = draw(st.none() | st.integers(opened_at, opened_at + 2 * within + 3))
        cancelled_at = draw(st.none() | st.integers(opened_at, deadline))
        rule = draw(st.sampled_from(["r", "s"]))
        missing = draw(st.sampled_from(["x", "y"]))
        named = (f"{rule}/{number}", rule, f"key {number}", opened_at, deadline)
        rows.append(ended(named, *(known(at, as_of) for at in (met_at, cancelled_at)), missing, as_of))
    return Table(rows, as_of)


def known(at: int | None, as_of: int | None) -> int | None:
    return None if at is None or (as_of is not None and at > as_of) else at


def ended(named: Any, met_at: int | None, cancelled_at: int | None, missing: str, as_of: int | None) -> Outcome:
    opened_at, deadline = named[3:]
    if met_at is not None and met_at <= deadline and (cancelled_at is None or met_at <= cancelled_at):
        return Outcome(*named, "completed", met_at, met_at - opened_at, met_at, "x", None)
    if cancelled_at is not None:
        return Outcome(*named, "cancelled", cancelled_at, cancelled_at - opened_at, met_at, "x", missing)
    if as_of is not None and deadline > as_of:
        return Outcome(*named, "pending", None, as_of - opened_at, met_at, None, missing)
    return Outcome(*named, "expired", deadline, deadline - opened_at, met_at, "x", missing)


def counts_of(rows: list[Outcome]) -> Counts:
    return Counts(
        sum(row.outcome == "completed" for row in rows),
        sum(row.outcome == "expired" and row.met_at is not None for row in rows),
        sum(row.outcome == "expired" and row.met_at is None for row in rows),
        sum(row.outcome == "cancelled" for row in rows),
        sum(row.outcome == "pending" for row in rows),
    )


@given(outcome_tables(), st.lists(st.integers(0, 30), max_size=3), st.sampled_from([2, 4_096]))
def test_the_tally_of_a_table_is_the_tallies_of_its_parts_merged(found: Table, cuts: list[int], most: int) -> None:
    table = outcome_table(found.rows)
    table = table.append_column(GROUP, pa.array([row.key[-1] for row in found.rows], pa.string()))
    ends = sorted([0, *(min(cut, len(found.rows)) for cut in cuts), len(found.rows)])
    parts = [table.slice(start, end - start) for start, end in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "MOST", most)
        patch.setattr(cells, "MOST", most)
        several = (tally(part, DEADLINES, RULES, found.end) for part in reversed(parts))
        assert plain(merged(several)) == plain(tally(table, DEADLINES, RULES, found.end))


@given(outcome_tables())
def test_a_tally_counts_what_a_reader_would(found: Table) -> None:
    rows = found.rows
    tallies = tally(outcome_table(rows), DEADLINES, as_of=found.end)
    assert list(tallies) == sorted({row.rule for row in rows})
    assert total(tallies) == counts_of(rows)
    for name, own in tallies.items():
        mine = [row for row in rows if row.rule == name]
        assert own.counts == counts_of(mine)
        assert own.counts.opened == len(mine)
        assert own.opened == (min(row.opened_at for row in mine), max(row.opened_at for row in mine))
        assert own.waited.counts.sum() == own.slack.counts.sum() == own.spells.counts.sum() == len(mine)
        assert own.periods[0].counts.sum(axis=0).tolist() == list(own.counts)
        met = [row for row in mine if row.outcome != "cancelled" and row.met_at is not None]
        assert own.slack.counts[:, :2].sum() == own.spells.counts[:, :2].sum() == len(met)
        assert own.missing == {
            text: counts_of([row for row in mine if row.missing == text])
            for text in {row.missing for row in mine} - {None}
        }
        slowest = sorted(met, key=lambda row: (row.deadline - row.met_at, row.operation_id))
        assert own.slowest == tuple(slowest[:EXAMPLES])
        unmet = [row for row in mine if row.outcome == "expired" and row.met_at is None]
        assert own.unmet == tuple(sorted(unmet, key=lambda row: (-row.opened_at, row.operation_id))[:EXAMPLES])


@given(outcome_tables())
def test_the_end_of_the_log_is_what_the_pending_say_or_else_it_is_complete(found: Table) -> None:
    has_pending = any(row.outcome == "pending" for row in found.rows)
    expected = tally(outcome_table(found.rows), DEADLINES, RULES, found.end if has_pending else "complete")
    assert plain(tally(outcome_table(found.rows), DEADLINES, RULES)) == plain(expected)


def seen_until(row: Outcome, as_of: int | None) -> tuple[int, bool] | None:
    """How long an operation was seen, and whether it was met then; None if nothing ends it."""
    if row.met_at is not None and row.outcome != "cancelled":
        return row.met_at, True
    if row.outcome == "cancelled":
        assert row.at is not None
        return row.at, False
    return None if as_of is None else (as_of, False)


@given(outcome_tables())
def test_a_tally_knows_how_long_each_operation_was_seen(found: Table) -> None:
    for name, own in tally(outcome_table(found.rows), as_of=found.end).items():
        expected: Counter[tuple[int, int]] = Counter()
        for row in found.rows:
            if row.rule == name:
                seen = seen_until(row, found.as_of)
                late = seen is not None and seen[1] and seen[0] > row.deadline
                kind = UNMET if seen is None else MET_LATE if late else COMPLETED if seen[1] else CENSORED
                expected[(0 if seen is None else seen[0] - row.opened_at, kind)] += 1
        counted = {
            (-int(start), kind): int(number)
            for start, row in zip(own.spells.starts, own.spells.counts, strict=True)
            for kind, number in enumerate(row)
            if number
        }
        assert counted == expected


def test_what_is_met_and_cancelled_at_one_instant_was_seen_to_be_met() -> None:
    """Completed goes before cancelled, in every engine."""
    zero, five = np.zeros(2, np.int64), np.full(2, 5, np.int64)
    met_at = np.array([5, 6])
    seen = Observed(zero, five + 4, met_at, five, zero, as_of=None, is_all_known=True).spells()
    assert (seen.last.tolist(), seen.is_met.tolist()) == ([5, 5], [True, False])


@given(outcome_tables())
def test_another_deadline_is_what_the_local_engine_says_it_is(found: Table) -> None:
    table = outcome_table(found.rows)
    asked = [deadline for deadline in DEADLINES if not deadline.is_shift]
    told = {
        (name, deadline.ms): (tried.counts, tried.estimate() or (None, None, None))
        for name, own in tally(table, asked, RULES, found.end).items()
        for deadline, tried in own.what_if.items()
    }
    expected = {
        (row["rule"], row["within_ms"]): (
            Counts(*(row[name] for name in STATUSES)),
            (row["share"], row["share_low"], row["share_high"]),
        )
        for row in local.what_if(table, [deadline.ms for deadline in asked], RULES, found.end).to_pylist()
    }
    assert told == expected


def test_a_shift_of_nothing_changes_nothing_and_other_shifts_move_each_deadline() -> None:
    own = tally(orders(), deadlines("+0 ms, -1 ms, +38 days, +37 days"), [PAID])["paid"]
    assert [tried.counts.completed for tried in own.what_if.values()] == [2, 1, 3, 2]
    assert own.what_if[Deadline(0, is_shift=True)].counts == own.counts


def test_a_shift_to_before_the_opening_leaves_the_opening_itself() -> None:
    at_once = Rule("paid", opens="ordered", until="ordered", within="1 day")
    own = tally(orders(at_once), deadlines("-60 days"))["paid"]
    tried = own.what_if[Deadline(-60 * DAY, is_shift=True)]
    assert (tried.counts.completed, tried.estimate()) == (5, (1, 0, 1))


def test_groups_are_counted_and_those_without_one_together() -> None:
    table = orders().append_column(GROUP, pa.array(["n", "n", None, "s", None]))
    assert tally(table)["paid"].groups == {"n": Counts(2), "": Counts(0, 1, 1), "s": Counts(0, 0, 1)}


def test_too_many_groups_are_the_largest_and_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "MOST_NAMES", 2)
    names = [["a", "b", "b", "c", "c"], ["d", "c", "e", "c", "a"]]
    tables = [orders().append_column(GROUP, pa.array(column)) for column in names]
    groups = merged(tally(table) for table in tables)["paid"].groups
    assert set(groups) == {"c", OTHERS}
    assert sum(counts.opened for counts in groups.values()) == 10
    assert groups["c"].opened == 4


def test_the_counts_of_a_summary_add_up() -> None:
    cancelling = Rule("paid", opens="ordered", until="paid", within="60 days", cancels="withdrawn")
    counts = tally(orders(cancelling))["paid"].counts
    assert counts == Counts(completed=2, met_late=1, never_met=1, cancelled=1)
    assert (counts.opened, counts.expired) == (5, 2)


def test_an_empty_table_has_no_tallies() -> None:
    assert tally(orders().slice(0, 0)) == {}
    assert total({}) == Counts()


def test_deadlines_are_read_from_text() -> None:
    assert deadlines("30 days, 60 days,+15 min , -1.5 h,30 days") == (
        Deadline(30 * DAY),
        Deadline(60 * DAY),
        Deadline(900_000, is_shift=True),
        Deadline(-5_400_000, is_shift=True),
    )
    assert [str(deadline) for deadline in deadlines("60 days, +15 min, -90 min, +0 ms")] == [
        "60 days",
        "+15 min",
        "-1h30m",
        "+0 ms",
    ]


@pytest.mark.parametrize("text", ["", "soon", "30 days,", "+", "+soon", "60", "- -5 min"])
def test_what_is_no_deadline_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="duration"):
        deadlines(text)


def test_the_rule_of_these_tests_is_the_one_its_file_says() -> None:
    assert str(PAID) == "paid: from the first ordered, until paid, within 60 days"
