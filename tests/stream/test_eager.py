"""An eager shard: ends other than the deadline's are told at once, and once only."""

from __future__ import annotations

from itertools import groupby
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from parity.tables import by_fold
from rules.strategies import rules
from sojourn.rules import Event, Rule, column, seen
from stream.shards import NEVER_LATE, Run, micro_batches, shape_of
from stream.test_shard_parity import FEW, as_told, lateness, long_log

seeds = st.integers(0, 2**32)


@FEW
@given(rules, seeds, lateness)
def test_in_the_order_of_time_an_eager_shard_tells_what_the_fold_decides_and_at_once(
    rule: Rule, seed: int, late: int
) -> None:
    random = Random(seed)
    log = sorted(long_log(random), key=lambda event: event.at)
    decided = sorted(map(as_told, by_fold([rule], log)))
    run = Run(shape_of(rule, is_eager=True), random)
    watermark = -NEVER_LATE
    for now, instant in groupby(log, key=lambda event: event.at):
        run.step(list(instant), watermark)
        assert sorted(run.told) == [o for o in decided if o.at < watermark or (o.outcome != "expired" and o.at <= now)]
        watermark = now - late
    run.step([], NEVER_LATE)
    assert sorted(run.told) == decided


@FEW
@given(rules, seeds, lateness)
def test_in_any_order_each_operation_is_told_once(rule: Rule, seed: int, late: int) -> None:
    random = Random(seed)
    log = long_log(random)
    run = Run(shape_of(rule, is_eager=True), random)
    for batch, watermark in micro_batches(log, late, random):
        run.step(batch, watermark)
    told = sorted(outcome.operation_id for outcome in run.told)
    if rule.per == "each":
        assert told == [outcome.operation_id for outcome in by_fold([rule], log)]
    else:
        assert len({outcome.key for outcome in run.told}) == len(told) == len(by_fold([rule], log))
    assert run.store.pending == 0


def test_what_eagerness_may_get_wrong_is_an_end_that_an_earlier_event_would_have_prevented() -> None:
    rule = Rule("r", "open", seen("paid"), within=10, cancels="stop")
    log = [Event("k", "open", 0), Event("k", "paid", 5), Event("k", "stop", 3)]
    told = []
    for is_eager in (True, False):
        run = Run(shape_of(rule, is_eager=is_eager), Random(0))
        for event in log:
            run.step([event], -NEVER_LATE)
        run.step([], NEVER_LATE)
        told.append([(outcome.outcome, outcome.at) for outcome in run.told])
    assert told == [[("completed", 5)], [("cancelled", 3)]]


def test_of_two_that_open_at_once_each_keeps_its_number_though_the_second_is_told_first() -> None:
    """Where deadlines stand in a column: else those that open at once end at once."""
    rule = Rule("r", "a", within=column("allowed"), per="each", cancels="stop", keeps_alive="a")
    run = Run(shape_of(rule, is_eager=True), Random(0))
    openings = [Event("m", "a", 16, columns={"allowed": allowed}) for allowed in (0, 1)]
    run.step([*openings, Event("m", "stop", 17)], 12)
    run.step([], NEVER_LATE)
    assert sorted(outcome.operation_id for outcome in run.told) == ["r/m/16", "r/m/16#2"]


def test_one_that_opens_at_once_with_them_but_comes_later_gets_a_number_that_is_left() -> None:
    rule = Rule("r", "open", "paid", within=column("allowed"), per="each", cancels="stop")
    run = Run(shape_of(rule, is_eager=True), Random(0))
    late, early = (Event("k", "open", 5, columns={"allowed": allowed}) for allowed in (9, 2))
    run.step([late, early, Event("k", "stop", 8)], 0)
    run.step([Event("k", "open", 5, columns={"allowed": 1})], 0)
    run.step([], NEVER_LATE)
    told = [(outcome.operation_id, outcome.outcome, outcome.deadline) for outcome in run.told]
    assert told == [("r/k/5#2", "cancelled", 14), ("r/k/5", "expired", 6), ("r/k/5#3", "expired", 7)]


def test_what_eagerness_may_get_wrong_is_also_a_tie_whose_other_event_comes_in_a_later_micro_batch() -> None:
    rule = Rule("r", "open", seen("paid"), within=10, cancels="stop")
    told = []
    for is_eager in (True, False):
        run = Run(shape_of(rule, is_eager=is_eager), Random(0))
        for event in (Event("k", "open", 0), Event("k", "stop", 5), Event("k", "paid", 5)):
            run.step([event], -NEVER_LATE)
        run.step([], NEVER_LATE)
        told.append([(outcome.outcome, outcome.at) for outcome in run.told])
    assert told == [[("cancelled", 5)], [("completed", 5)]]


def test_numbers_are_kept_apart_before_1970_too() -> None:
    """What stands in the place of a number, once an instant is settled, may be any deadline."""
    rule = Rule("r", "a", seen("a", times=9), within=column("allowed"), per="each", cancels="stop")
    run = Run(shape_of(rule, is_eager=True), Random(0))
    run.step([Event("k", "a", -5, columns={"allowed": allowed}) for allowed in (2, 100, 100)], -NEVER_LATE)
    run.step([Event("k", "a", 50, columns={"allowed": 100})], -4)
    run.step([Event("k", "stop", 60)], -4)
    run.step([], NEVER_LATE)
    ids = sorted(outcome.operation_id for outcome in run.told)
    assert ids == ["r/k/-5", "r/k/-5#2", "r/k/-5#3", "r/k/50"]
