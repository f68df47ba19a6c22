"""A shard against the fold, wherever micro-batches are cut and in whatever order events arrive within `late`."""

from __future__ import annotations

from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.tables import by_fold, number_types
from rules.strategies import all_events, decimal_logs_of_two_keys, logs_of_two_keys, rules, rules_with_numbers
from sojourn.rules import Event, Outcome, Reached, Rule
from stream.shards import NEVER_LATE, Run, micro_batches, shape_of

FEW = settings(max_examples=settings.default.max_examples // 4)
"""Long logs take long."""

lateness = st.integers(0, 4)
randoms = st.randoms(use_true_random=False)
ALL = [event for key in ("k", "l", "m", "no") for event in all_events(key, "a b c stop open open a b c")]


def as_told(outcome: Outcome) -> Outcome:
    """A stream tells an end before it can know that the condition is met later."""
    return outcome if outcome.outcome == "completed" else outcome._replace(met_at=None)


def long_log(random: Random) -> list[Event]:
    log = random.choices(ALL, k=random.randrange(60))
    for i, event in enumerate(log):
        at = random.randrange(25)
        log[i] = event._replace(at=at, columns={**(event.columns or {}), "due": at + random.randrange(-1, 6)})
    return log


def check(rule: Rule, log: list[Event], late: int, random: Random, number: pa.DataType | None = None) -> None:
    """After each micro-batch, what has been told is what ends before the watermark: neither more nor less.

    With what the shard holds, that is the law as of the last instant before the watermark.
    """
    decided = sorted(map(as_told, by_fold([rule], log)))
    run = Run(shape_of(rule, number=number), random, number)
    for batch, watermark in micro_batches(log, late, random):
        assert run.step(batch, watermark).late == 0
        assert sorted(run.told) == [outcome for outcome in decided if outcome.at is not None and outcome.at < watermark]
        as_of = sorted(map(as_told, by_fold([rule], log, watermark - 1)))
        assert sorted([*run.told, *run.pending(watermark - 1)]) == as_of
    assert run.store.pending == 0
    assert run.store.wake_at > NEVER_LATE
    if rule.per == "each" and not any(isinstance(leaf, Reached) for leaf in rule.leaves):
        assert not run.store.segments


@given(rules, logs_of_two_keys, lateness, randoms)
def test_a_shard_tells_what_the_fold_decides_as_soon_as_it_is_final(
    rule: Rule, log: list[Event], late: int, random: Random
) -> None:
    check(rule, log, late, random)


@given(rules_with_numbers, decimal_logs_of_two_keys, lateness, randoms, number_types)
def test_a_shard_adds_up_decimals_and_texts_exactly(
    rule: Rule, log: list[Event], late: int, random: Random, number: pa.DataType
) -> None:
    check(rule, log, late, random, number)


@FEW
@given(rules, st.integers(0, 2**32), lateness)
def test_so_it_does_over_longer_logs(rule: Rule, seed: int, late: int) -> None:
    random = Random(seed)
    check(rule, long_log(random), late, random)
