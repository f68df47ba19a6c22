"""An eager shard: ends other than the deadline's are told at once, and once only."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.tables import by_fold
from rules.strategies import rules
from sojourn.rules import Event, Outcome, Rule, column, seen
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
    is_named = rule.per == "first" or isinstance(rule.within, int)  # names: see the last test

    def shown(outcomes: Iterable[Outcome]) -> list[Outcome]:
        return sorted(o if is_named else o._replace(operation_id="") for o in outcomes)

    decided = shown(map(as_told, by_fold([rule], log)))
    run = Run(shape_of(rule, is_eager=True), random)
    watermark = -NEVER_LATE
    for now, instant in groupby(log, key=lambda event: event.at):
        run.step(list(instant), watermark)
        assert shown(run.told) == [o for o in decided if o.at < watermark or (o.outcome != "expired" and o.at <= now)]
        watermark = now - late
    run.step([], NEVER_LATE)
    assert shown(run.told) == decided


@FEW
@given(rules, seeds, lateness)
def test_in_any_order_each_operation_is_told_once(rule: Rule, seed: int, late: int) -> None:
    random = Random(seed)
    log = long_log(random)
    run = Run(shape_of(rule, is_eager=True), random)
    for batch, watermark in micro_batches(log, late, random):
        run.step(batch, watermark)
    told = sorted(outcome.operation_id for outcome in run.told)
    if rule.per == "each" and not isinstance(rule.within, int):
        assert len(told) == len(by_fold([rule], log))  # names: see the last test
    elif rule.per == "each":
        assert told == [outcome.operation_id for outcome in by_fold([rule], log)]
    else:
        assert len({outcome.key for outcome in run.told}) == len(told) == len(by_fold([rule], log))
    assert run.store.head().pending == 0


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


@pytest.mark.xfail(strict=True, reason="the one that is told late gets the number of the one that was told at once")
def test_of_two_that_open_at_once_each_keeps_its_number_though_the_second_is_told_first() -> None:
    """Where deadlines stand in a column: else those that open at once end at once."""
    rule = Rule("r", "a", within=column("allowed"), per="each", cancels="stop", keeps_alive="a")
    run = Run(shape_of(rule, is_eager=True), Random(0))
    openings = [Event("m", "a", 16, columns={"allowed": allowed}) for allowed in (0, 1)]
    run.step([*openings, Event("m", "stop", 17)], 12)
    run.step([], NEVER_LATE)
    assert sorted(outcome.operation_id for outcome in run.told) == ["r/m/16", "r/m/16#2"]
