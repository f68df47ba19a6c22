"""Several rules in one shard: each tells what the fold decides, wherever micro-batches are cut; rules come and go."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.tables import by_fold
from rules.strategies import logs_of_two_keys, rules
from sojourn.pipeline.stream.shard.remove import REMOVAL
from sojourn.pipeline.stream.shard.ruleset import Removed, Ruleset
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.rules import Event, Outcome, Rule, column, seen, total, until_column
from stream.shards import NEVER_LATE, Run, micro_batches, shape_of
from stream.test_shard_parity import FEW, as_told, lateness, long_log, randoms

FEWER = settings(max_examples=settings.default.max_examples // 8)
seeds = st.integers(0, 2**32)
NAMES = ("first", "second", "third")


def renamed(rule: Rule, name: str) -> Rule:
    return Rule(name, rule.opens, rule.until, rule.within, rule.per, rule.cancels, rule.keeps_alive)


some_rules = st.lists(rules, min_size=2, max_size=3).map(
    lambda drawn: [renamed(rule, name) for rule, name in zip(drawn, NAMES, strict=False)]
)


def check(chosen: list[Rule], log: list[Event], late: int, random: Random) -> None:
    """As for one rule: what is told, and with it what is held, is the law as of the watermark."""
    decided = sorted(map(as_told, by_fold(chosen, log)))
    run = Run(shape_of(chosen), random)
    for batch, watermark in micro_batches(log, late, random):
        assert run.step(batch, watermark).late == 0
        assert sorted(run.told) == [outcome for outcome in decided if outcome.at is not None and outcome.at < watermark]
        as_of = sorted(map(as_told, by_fold(chosen, log, watermark - 1)))
        assert sorted([*run.told, *run.pending(watermark - 1)]) == as_of
    assert run.store.pending == 0
    assert run.store.wake_at > NEVER_LATE


@FEW
@given(some_rules, logs_of_two_keys, lateness, randoms)
def test_several_rules_tell_what_the_fold_decides_under_each(
    chosen: list[Rule], log: list[Event], late: int, random: Random
) -> None:
    check(chosen, log, late, random)


@FEWER
@given(some_rules, seeds, lateness)
def test_so_they_do_over_longer_logs(chosen: list[Rule], seed: int, late: int) -> None:
    random = Random(seed)
    check(chosen, long_log(random), late, random)


def test_an_event_that_one_rule_cannot_use_counts_for_another() -> None:
    chosen = [
        Rule("adds", "open", total("a", at_least=1), 9),
        Rule("sees", "open", "a", 9),
        Rule("due", "open", "b", column("allowed")),
    ]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "open", 1), Event("k", "a", 2)], -NEVER_LATE)
    run.step([], NEVER_LATE)
    assert [(outcome.rule, outcome.outcome) for outcome in run.told] == [("adds", "expired"), ("sees", "completed")]


def test_what_a_rule_cannot_use_it_does_not_keep() -> None:
    chosen = [Rule("adds", "open", total("a", at_least=1), 9), Rule("due", "b", "a", column("allowed"))]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "a", 2), Event("k", "b", 2)], -NEVER_LATE)
    assert [run.rules.parts[rule].shape.rule.name for rule in run.store.heads()] == ["due"]  # of which `a` is a signal
    run.step([Event("l", "b", 2)], -NEVER_LATE)
    assert run.store.pending == 0
    assert {key for rows in run.kept() for key in rows["key"].to_pylist()} == {"k"}


def test_each_rule_reads_its_own_columns() -> None:
    chosen = [
        Rule("values", "open", total("a", at_least=2), column("allowed")),
        Rule("amounts", "open", total("a", of="amount", at_least=2), until_column("due")),
    ]
    run = Run(shape_of(chosen), Random(0))
    columns = {"amount": 1.0, "allowed": 9, "due": 4}
    run.step([Event("k", "open", 1, columns=columns), Event("k", "a", 2, value=3.0, columns=columns)], -NEVER_LATE)
    run.step([], NEVER_LATE)
    told = [(outcome.rule, outcome.outcome, outcome.deadline) for outcome in run.told]
    assert told == [("amounts", "expired", 4), ("values", "completed", 10)]


def test_two_rules_of_one_meaning_do_not_share_what_they_keep() -> None:
    chosen = [Rule(name, "open", "paid", 5, "each") for name in ("a", "b")]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "open", 1)], -NEVER_LATE)
    assert len(run.store.segments) == 2
    run.step([Event("k", "paid", 2)], -NEVER_LATE)
    run.step([], NEVER_LATE)
    assert sorted(outcome.operation_id for outcome in run.told) == ["a/k/1", "b/k/1"]
    assert not run.store.segments


def test_a_rule_that_has_nothing_to_do_is_not_looked_at() -> None:
    chosen = [Rule("a", "open", "paid", 5), Rule("b", "other", "paid", 5)]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "open", 1)], 0)
    before = dict(run.store.segments)
    run.step([Event("l", "other", 2)], 0)
    assert before.items() <= run.store.segments.items()
    assert run.store.pending == 2


def cancelled_by_removal(outcome: Outcome, at: int) -> Outcome:
    """What becomes of an operation that the law calls pending, under a rule that is removed."""
    if outcome.outcome != "pending":
        return as_told(outcome)
    return outcome._replace(outcome="cancelled", at=at, met_at=None, decided_by=REMOVAL)


def newest_of(log: list[Event]) -> int:
    return max((event.at for event in log), default=-1)


@FEWER
@given(some_rules, rules, seeds, lateness, st.booleans())
def test_rules_come_and_go_at_the_newest_event_that_was_read(
    chosen: list[Rule], other: Rule, seed: int, late: int, is_told: bool
) -> None:
    """The first rule goes and another comes; the others do not notice."""
    random, added = Random(seed), renamed(other, "added")
    log = long_log(random)
    batches = list(micro_batches(log, late, random))
    cut = random.randrange(len(batches) - 1)  # before the last two, whose watermark is of no event
    run = Run(shape_of(chosen), random)
    for batch, watermark in batches[:cut]:
        run.step(batch, watermark)
    read = [event for batch, _ in batches[:cut] for event in batch]
    newest = newest_of(read)
    run.rules = without_the_first(run.rules.whole, chosen, added, newest, is_told=is_told)
    for batch, watermark in batches[cut:]:
        run.step(batch, watermark)
    run.step([], NEVER_LATE)
    told = {rule.name: sorted(o for o in run.told if o.rule == rule.name) for rule in [*chosen, added]}
    for rule in chosen[1:]:
        assert told[rule.name] == sorted(map(as_told, by_fold([rule], log)))
    assert told["added"] == sorted(map(as_told, by_fold([added], [event for event in log if event.at > newest])))
    ended = [cancelled_by_removal(outcome, newest) for outcome in by_fold([chosen[0]], read, newest)]
    known = batches[cut - 1][1] if cut else -NEVER_LATE
    final = [outcome for outcome in ended if outcome.decided_by != REMOVAL and outcome.at < known]
    assert told[chosen[0].name] == sorted(ended if is_told else final)
    assert run.store.pending == 0


def without_the_first(whole: Shape, chosen: list[Rule], added: Rule, newest: int, *, is_told: bool) -> Ruleset:
    gone = Removed(whole.of_rule(chosen[0]), newest, is_told)
    return Ruleset(shape_of([*chosen[1:], added]), {"added": newest}, (gone,))


@pytest.mark.parametrize(("is_told", "told"), [(True, ["completed", "cancelled"]), (False, [])])
def test_what_the_events_have_ended_by_the_removal_is_told_so(is_told: bool, told: list[str]) -> None:
    chosen = [Rule("gone", "open", "paid", 90, "each"), Rule("stays", "open", "paid", 90)]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "open", 1), Event("k", "paid", 8), Event("l", "open", 7)], 0)
    run.rules = without_the_first(run.rules.whole, chosen, Rule("added", "open", "paid", 5), 8, is_told=is_told)
    run.step([], 0)
    assert [outcome.outcome for outcome in run.told] == told
    assert len(run.store.heads()) == 1


def test_a_rule_that_is_added_looks_at_later_events_only() -> None:
    chosen = [Rule("gone", "open", "paid", 90), Rule("stays", "open", "paid", 90)]
    run = Run(shape_of(chosen), Random(0))
    run.rules = without_the_first(run.rules.whole, chosen, Rule("added", "open", "paid", 5, "each"), 8, is_told=True)
    run.step([Event("k", "open", at) for at in (7, 8, 9, 10)], 0)
    run.step([], NEVER_LATE)
    assert [o.operation_id for o in run.told if o.rule == "added"] == ["added/k/10", "added/k/9"]


def test_what_a_removed_rule_held_says_so_and_is_told_once() -> None:
    chosen = [Rule("gone", "open", seen("paid", times=2), 90, "each"), Rule("stays", "open", "paid", 90)]
    run = Run(shape_of(chosen), Random(0))
    run.step([Event("k", "open", 1), Event("k", "open", 7), Event("k", "paid", 8)], 0)
    run.rules = without_the_first(run.rules.whole, chosen, Rule("added", "open", "paid", 5), 8, is_told=True)
    assert run.step([], 0).opened == 0
    run.step([], 0)
    told = [(o.operation_id, o.outcome, o.at, o.decided_by, o.missing, o.waited_ms) for o in run.told]
    assert told == [
        ("gone/k/1", "cancelled", 8, "removal", "1 of 2 paid", 7),
        ("gone/k/7", "cancelled", 8, "removal", "1 of 2 paid", 1),
    ]
    assert run.store.pending == 1
