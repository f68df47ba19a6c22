"""Tallies: the counts of an outcome table, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.logs import DAY, PAID, orders, outcome_table
from sojourn import Outcome, Rule, RuleError
from sojourn.pipeline import local
from sojourn.pipeline.results import bins
from sojourn.pipeline.results import tally as tallying
from sojourn.pipeline.results.bins import Bins
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.tally import EXAMPLES, GROUP, OTHERS, STATUSES, Counts, Tallies, merged, tally, total

TIMES = st.integers(-40 * DAY, 40 * DAY) | st.integers(-5, 5)
RULES = [Rule("r", "a", "b", within=1), Rule("s", "a", "b", within=1, cancels="c")]
DEADLINES = deadlines("0 ms, 3 ms, 10 days, +0 ms, +2 ms, -2 ms, -10 days")


@st.composite
def outcome_rows(draw: st.DrawFn) -> list[Outcome]:
    """Outcomes as the law may give them, of two rules."""
    rows = []
    for number in range(draw(st.integers(0, 30))):
        opened_at, within = draw(TIMES), abs(draw(TIMES))
        deadline = opened_at + within
        met_at = draw(st.none() | st.integers(opened_at, opened_at + 2 * within + 3))
        cancelled_at = draw(st.none() | st.integers(opened_at, deadline))
        if met_at is not None and met_at <= deadline and (cancelled_at is None or met_at <= cancelled_at):
            ending, at = "completed", met_at
        elif cancelled_at is not None:
            ending, at = "cancelled", cancelled_at
        else:
            ending, at = "expired", deadline
        missing = None if ending == "completed" else draw(st.sampled_from(["x", "y"]))
        times = (opened_at, deadline, ending, at, at - opened_at, met_at)
        rule = draw(st.sampled_from(["r", "s"]))
        rows.append(Outcome(f"{rule}/{number}", rule, f"key {number}", *times, "x", missing))
    return rows


def counts_of(rows: list[Outcome]) -> Counts:
    return Counts(
        sum(row.outcome == "completed" for row in rows),
        sum(row.outcome == "expired" and row.met_at is not None for row in rows),
        sum(row.outcome == "expired" and row.met_at is None for row in rows),
        sum(row.outcome == "cancelled" for row in rows),
    )


def same(left: Tallies, right: Tallies) -> bool:
    """Equal, arrays too."""

    def plain(tallies: Tallies) -> object:
        return {
            name: [
                (part.width, part.places.tolist(), part.counts.tolist()) if isinstance(part, Bins) else part
                for part in (getattr(own, field) for field in own.__dataclass_fields__)
            ]
            for name, own in tallies.items()
        }

    return plain(left) == plain(right)


@given(outcome_rows(), st.lists(st.integers(0, 30), max_size=3), st.sampled_from([2, 4_096]))
def test_the_tally_of_a_table_is_the_tallies_of_its_parts_merged(
    rows: list[Outcome], cuts: list[int], most: int
) -> None:
    table = outcome_table(rows)
    table = table.append_column(GROUP, pa.array([row.key[-1] for row in rows], pa.string()))
    ends = sorted([0, *(min(cut, len(rows)) for cut in cuts), len(rows)])
    parts = [table.slice(start, end - start) for start, end in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "MOST", most)
        assert same(merged(tally(part, DEADLINES, RULES) for part in reversed(parts)), tally(table, DEADLINES, RULES))


@given(outcome_rows())
def test_a_tally_counts_what_a_reader_would(rows: list[Outcome]) -> None:
    tallies = tally(outcome_table(rows), DEADLINES)
    assert list(tallies) == sorted({row.rule for row in rows})
    assert total(tallies) == counts_of(rows)
    for name, own in tallies.items():
        mine = [row for row in rows if row.rule == name]
        assert own.counts == counts_of(mine)
        assert own.counts.opened == len(mine)
        assert own.opened_at.counts.sum() == own.waited.counts.sum() == len(mine)
        met = [row for row in mine if row.outcome != "cancelled" and row.met_at is not None]
        assert own.slack.counts.sum() == len(met)
        assert own.missing == {
            text: counts_of([row for row in mine if row.missing == text])
            for text in {row.missing for row in mine} - {None}
        }
        slowest = sorted(met, key=lambda row: (row.deadline - row.met_at, row.operation_id))
        assert own.slowest == tuple(slowest[:EXAMPLES])
        unmet = [row for row in mine if row.outcome == "expired" and row.met_at is None]
        assert own.unmet == tuple(sorted(unmet, key=lambda row: (-row.opened_at, row.operation_id))[:EXAMPLES])


@given(outcome_rows())
def test_another_deadline_is_what_the_local_engine_says_it_is(rows: list[Outcome]) -> None:
    table = outcome_table(rows)
    asked = [deadline for deadline in DEADLINES if not deadline.is_shift]
    found = {
        (name, deadline.ms): counts
        for name, own in tally(table, asked, RULES).items()
        for deadline, counts in own.what_if.items()
    }
    expected = {
        (row["rule"], row["within_ms"]): Counts(*(row[name] for name in STATUSES))
        for row in local.what_if(table, [deadline.ms for deadline in asked], RULES).to_pylist()
    }
    assert found == expected


def test_a_shift_of_nothing_changes_nothing_and_other_shifts_move_each_deadline() -> None:
    own = tally(orders(), deadlines("+0 ms, -1 ms, +38 days, +37 days"), [PAID])["paid"]
    assert [counts.completed for counts in own.what_if.values()] == [2, 1, 3, 2]
    assert own.what_if[Deadline(0, is_shift=True)] == own.counts


def test_a_shift_to_before_the_opening_leaves_the_opening_itself() -> None:
    at_once = Rule("paid", opens="ordered", until="ordered", within="1 day")
    own = tally(orders(at_once), deadlines("-60 days"))["paid"]
    assert own.what_if[Deadline(-60 * DAY, is_shift=True)].completed == 5


def test_groups_are_counted_and_those_without_one_together() -> None:
    table = orders().append_column(GROUP, pa.array(["n", "n", None, "s", None]))
    assert tally(table)["paid"].groups == {"n": Counts(2), "": Counts(0, 1, 1), "s": Counts(0, 0, 1)}


def test_too_many_groups_are_the_largest_and_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallying, "MOST_NAMES", 2)
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


@given(st.lists(st.tuples(TIMES, st.integers(0, 2)), max_size=60), st.integers(1, 10))
def test_intervals_get_wider_until_they_are_few_and_lose_nothing(values: list[tuple[int, int]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "MOST", most)
        numbers, classes = (np.array([pair[i] for pair in values], np.int64) for i in (0, 1))
        found = Bins.of(numbers, classes, 3)
        assert len(found.places) <= most or found.width == bins.WIDTHS[-1]
        expected: dict[int, list[int]] = {}
        for number, place in values:
            expected.setdefault(number // found.width, [0, 0, 0])[place] += 1
        assert {int(p): row.tolist() for p, row in zip(found.places, found.counts, strict=True)} == expected
        assert sorted(found.places.tolist()) == found.places.tolist()


def test_values_on_a_coarse_grid_stay_exact() -> None:
    days = np.arange(0, 3_000, dtype=np.int64) * DAY
    assert Bins.of(days, np.zeros(3_000, np.int64), 1).width == 1


def test_intervals_of_a_calendar_are_never_wider_than_a_day() -> None:
    days = np.arange(0, 20_000, dtype=np.int64) * DAY
    found = Bins.of(days, np.zeros(20_000, np.int64), 1, widest=DAY)
    assert (found.width, len(found.places)) == (DAY, 20_000)
    assert found.plus(found).width == DAY
    assert tallying.tally(orders())["paid"].opened_at.widest == DAY


def test_every_width_divides_the_next() -> None:
    assert all(wide % narrow == 0 for narrow, wide in pairwise(bins.WIDTHS))


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
