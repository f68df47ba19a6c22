"""What is remembered, and for how long: under `per = "first"` exactly so, and levels at least so."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.tables import by_fold
from rules.strategies import rules
from sojourn.rules import Event, Outcome, Reached, Rule, event_error, law, reached, seen
from stream.shards import NEVER_LATE, Run, micro_batches, shape_of
from stream.test_shard_parity import as_told, lateness, long_log

FEWER = settings(max_examples=settings.default.max_examples // 8)
seeds = st.integers(0, 2**32)
durations = st.integers(0, 8)


def counts_levels(rule: Rule) -> bool:
    return any(isinstance(leaf, Reached) for leaf in rule.leaves)


first_rules = rules.filter(lambda rule: rule.per == "first" and not counts_levels(rule))
level_rules = rules.filter(lambda rule: rule.per == "each" and counts_levels(rule))


def by_forgetful_fold(rule: Rule, log: list[Event], remember: int) -> list[Outcome]:
    """A key that has had its operation has the next one with the first opening later than its end and `remember`."""
    told = []
    usable = [event for event in log if event_error(rule, event) is None]
    for key in {event.key for event in usable}:
        events = [event for event in usable if event.key == key]
        openings = sorted((e for e in events if e.kind == rule.opens), key=lambda e: (e.at, rule.deadline(e)))
        forgotten = -NEVER_LATE
        while openings := [event for event in openings if event.at > forgotten]:
            told.append(as_told(law.decide(rule, openings[0], events)._replace(seen="")))
            forgotten = told[-1].at + remember
    return sorted(told)


@FEWER
@given(first_rules, seeds, lateness, durations)
def test_a_key_opens_anew_when_its_operation_is_forgotten_and_not_before(
    rule: Rule, seed: int, late: int, remember: int
) -> None:
    random = Random(seed)
    log = long_log(random)
    decided = by_forgetful_fold(rule, log, remember)
    run = Run(shape_of(rule, remember_ms=remember), random)
    for batch, watermark in micro_batches(log, late, random):
        run.step(batch, watermark)
        assert sorted(run.told) == [o for o in decided if o.at is not None and o.at < watermark]
    assert run.store.pending == 0
    assert not run.store.segments


@FEWER
@given(rules, seeds, lateness)
def test_who_remembers_long_enough_tells_what_the_fold_decides(rule: Rule, seed: int, late: int) -> None:
    random = Random(seed)
    log = long_log(random)
    run = Run(shape_of(rule, remember_ms=100), random)
    for batch, watermark in micro_batches(log, late, random):
        run.step(batch, watermark)
    assert sorted(run.told) == sorted(map(as_told, by_fold([rule], log)))
    assert not run.store.segments


@FEWER
@given(level_rules, seeds, lateness, durations)
def test_a_level_counts_for_as_long_as_it_is_remembered_and_may_count_longer(
    rule: Rule, seed: int, late: int, remember: int
) -> None:
    """Of levels that are older, the oldest may be forgotten, whichever they are."""
    random = Random(seed)
    log = long_log(random)
    run = Run(shape_of(rule, remember_ms=remember), random)
    for batch, watermark in micro_batches(log, late, random):
        run.step(batch, watermark)
    by_cut = [by_name(rule, [event for event in log if event.at >= cut]) for cut in range(26)]
    assert {outcome.operation_id for outcome in run.told} == by_cut[0].keys()
    for outcome in run.told:
        oldest = range(max(0, outcome.opened_at - remember) + 1)
        assert outcome in [by_cut[cut].get(outcome.operation_id) for cut in oldest]
    assert not run.store.segments


def by_name(rule: Rule, log: list[Event]) -> dict[str, Outcome]:
    return {outcome.operation_id: as_told(outcome) for outcome in by_fold([rule], log)}


def test_the_latest_report_of_a_source_is_what_is_remembered() -> None:
    rule = Rule("r", "open", reached("a", at_least=1), within=1, per="each")
    run = Run(shape_of(rule, remember_ms=100), Random(0))
    run.step([Event("k", "a", 0, "x", 2), Event("k", "a", 90, "x", 2)], -NEVER_LATE)
    run.step([], 150)
    run.step([Event("k", "open", 180)], 150)
    run.step([], 182)
    assert [(outcome.outcome, outcome.at) for outcome in run.told] == [("completed", 180)]
    run.step([], NEVER_LATE)
    assert not run.store.segments


@pytest.mark.parametrize(("at", "told"), [(15, 1), (16, 2)])
def test_a_key_is_forgotten_after_the_end_of_its_operation(at: int, told: int) -> None:
    rule = Rule("r", "open", seen("paid"), within=10)
    run = Run(shape_of(rule, remember_ms=10), Random(0))
    for event in (Event("k", "open", 1), Event("k", "paid", 5), Event("k", "open", at)):
        run.step([event], 0)
    run.step([], NEVER_LATE)
    assert len(run.told) == told


def test_a_mark_stays_until_no_opening_can_come_that_it_is_for() -> None:
    run = Run(shape_of(Rule("r", "open", seen("paid"), within=10), remember_ms=10), Random(0))
    run.step([Event("k", "open", 1), Event("k", "paid", 5)], 0)
    for watermark in (14, 15):
        run.step([], watermark)
        run.step([Event("k", "open", 15)], watermark)
    run.step([], NEVER_LATE)
    assert len(run.told) == 1


def test_what_is_forgotten_in_bulk_is_not_forgotten_early() -> None:
    run = Run(shape_of(Rule("r", "open", reached("a", at_least=1), within=1, per="each"), remember_ms=640), Random(0))
    run.step([Event("k", "a", 5, "x", 2)], 0)
    for watermark in (600, 642, 644):
        run.step([], watermark)
    run.step([Event("k", "open", 645)], 645)
    run.step([], 650)
    assert [outcome.outcome for outcome in run.told] == ["completed"]


def test_a_level_that_an_open_operation_looks_at_is_not_forgotten() -> None:
    rule = Rule("r", "open", reached("acked", at_least=1, by=2), within=100, per="each")
    run = Run(shape_of(rule, remember_ms=10), Random(1))
    run.step([Event("k", "acked", 0, "one", 1.0), Event("k", "open", 5)], -NEVER_LATE)
    for watermark in (10, 50):
        # Another event of the key lets the step look at what is kept of it.
        run.step([Event("k", "open", watermark + 1)], watermark)
    run.step([Event("k", "acked", 60, "two", 1.0)], 55)
    run.step([], 62)
    assert [(outcome.outcome, outcome.at) for outcome in run.told] == [("completed", 60)] * 3
