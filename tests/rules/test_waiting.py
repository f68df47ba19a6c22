"""A waiting operation decides as the law does, however its events arrive, are cut, stored and merged."""

from __future__ import annotations

import json
import pickle
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import MANY, alive_rules, logs, openings, rules
from sojourn import RuleError
from sojourn.rules import Event, Rule, Waiting, all_of, any_of, decide, reached, seen, total

randoms = st.randoms(use_true_random=False)


def opened(rule: Rule, opening: Event, log: list[Event]) -> tuple[Event, list[Event]]:
    """The opening under this rule, and all events of its key."""
    opening = opening._replace(kind=rule.opens)
    return opening, [opening, *log]


def waiting_for(rule: Rule, opening: Event, events: list[Event]) -> Waiting:
    waiting = Waiting.open(rule, opening)
    for event in events:
        waiting.add(event)
    return waiting


def restored(waiting: Waiting) -> Waiting:
    return Waiting.from_state(waiting.operation.rule, json.loads(json.dumps(waiting.to_state())))


@MANY
@given(rules, openings, logs, randoms)
def test_events_added_in_any_order_give_the_outcome_of_the_law(
    rule: Rule, opening: Event, log: list[Event], random: Random
) -> None:
    opening, log = opened(rule, opening, log)
    arrived = random.sample(log, len(log))
    assert waiting_for(rule, opening, arrived).outcome() == decide(rule, opening, log)


@MANY
@given(rules, openings, logs, randoms)
def test_events_gathered_apart_and_merged_in_any_grouping_give_the_outcome_of_the_law(
    rule: Rule, opening: Event, log: list[Event], random: Random
) -> None:
    opening, log = opened(rule, opening, log)
    piles: list[list[Event]] = [[] for _ in range(random.randint(1, 4))]
    for event in random.sample(log, len(log)):
        random.choice(piles).append(event)
    parts = [waiting_for(rule, opening, pile) for pile in piles]
    while len(parts) > 1:
        one, other = random.sample(parts, 2)
        one.merge(other)
        parts.remove(other)
    assert parts[0].outcome() == decide(rule, opening, log)
    assert parts[0].to_state() == waiting_for(rule, opening, log).to_state()


@given(rules, openings, logs, randoms)
def test_what_is_kept_depends_on_the_set_of_events_only(
    rule: Rule, opening: Event, log: list[Event], random: Random
) -> None:
    opening, log = opened(rule, opening, log)
    arrived = random.sample(log, len(log))
    assert waiting_for(rule, opening, arrived).to_state() == waiting_for(rule, opening, log).to_state()


@given(rules, openings, logs, st.integers(0, 12))
def test_a_waiting_operation_can_be_stored_as_json_at_any_point_and_go_on(
    rule: Rule, opening: Event, log: list[Event], cut: int
) -> None:
    opening, log = opened(rule, opening, log)
    waiting = restored(waiting_for(rule, opening, log[:cut]))
    for event in log[cut:]:
        waiting.add(event)
    assert waiting.outcome() == decide(rule, opening, log)
    assert pickle.loads(pickle.dumps(waiting)).outcome() == waiting.outcome()


@MANY
@given(rules, openings, logs, st.integers(-1, 14))
def test_up_to_a_watermark_it_decides_what_the_law_decides_and_nothing_that_could_still_change(
    rule: Rule, opening: Event, log: list[Event], watermark: int
) -> None:
    opening, log = opened(rule, opening, log)
    by_then = decide(rule, opening, [event for event in log if event.at <= watermark])
    expected = by_then if by_then.at <= watermark else None
    assert waiting_for(rule, opening, log).outcome(watermark) == expected


@MANY
@given(rules, openings, logs, st.integers(-1, 14))
def test_what_is_decided_at_a_watermark_no_later_event_changes_but_for_met_at(
    rule: Rule, opening: Event, log: list[Event], watermark: int
) -> None:
    opening, log = opened(rule, opening, log)
    outcome = waiting_for(rule, opening, [event for event in log if event.at <= watermark]).outcome(watermark)
    final = decide(rule, opening, log)
    assert outcome is None or outcome._replace(met_at=None) == final._replace(met_at=None)
    assert outcome is None or outcome.met_at in (None, final.met_at)


@MANY
@given(st.one_of(alive_rules, rules), openings, logs, randoms)
def test_a_stream_that_forgets_stores_and_merges_as_its_watermark_moves_ends_like_the_law(
    rule: Rule, opening: Event, log: list[Event], random: Random
) -> None:
    """Micro-batches cut anywhere; each event arrives before the watermark passes it, by up to three instants."""
    opening, log = opened(rule, opening, log)
    arrival = {id(event): event.at - random.randint(0, 3) for event in log}
    waiting, outcome = Waiting.open(rule, opening), None
    for watermark in range(-4, 30):
        delta = waiting_for(rule, opening, [event for event in log if arrival[id(event)] == watermark + 1])
        if random.random() < 0.5:
            waiting.merge(restored(delta))
        else:
            delta.merge(waiting)
            waiting = restored(delta)
        outcome = outcome or waiting.outcome(watermark)
        waiting.forget(watermark)
    final = decide(rule, opening, log)
    assert outcome is not None
    assert outcome._replace(met_at=None) == final._replace(met_at=None)


@given(rules, openings, logs)
def test_add_says_whether_an_event_was_news(rule: Rule, opening: Event, log: list[Event]) -> None:
    opening, log = opened(rule, opening, log)
    waiting = Waiting.open(rule, opening)
    for event in log:
        before = waiting.to_state()
        assert waiting.add(event) == (waiting.to_state() != before)


def test_no_more_is_kept_than_can_matter() -> None:
    until = all_of(seen("a", 2), seen("b", 2, "source"), total("c", at_least=10), reached("d", at_least=5, by=2))
    rule = Rule("r", "open", until, within=100)
    waiting = Waiting.open(rule, Event("k", "open", 0))
    for at in range(200, 0, -1):
        for kind in "abcd":
            waiting.add(Event("k", kind, at, f"s{at % 7}", 4))
    assert [entries for _, entries in waiting.to_state()["leaves"]] == [
        [[1], [2]],
        [[1, "s1"], [2, "s2"]],
        [[at, 4, 0, 0, False] for at in (1, 2, 3)],
        [],
    ]
    waiting.add(Event("k", "d", -50, "s3", 5))
    assert waiting.to_state()["leaves"][3][1] == [[-50, "s3"]]


def test_a_watermark_lets_a_long_life_be_forgotten() -> None:
    waiting = Waiting.open(Rule("r", "join", within=5, keeps_alive="beat"), Event("k", "join", 0))
    for at in range(0, 1000, 4):
        waiting.add(Event("k", "beat", at))
        waiting.forget(at)
    assert waiting.to_state()["alive"] == [996]
    assert waiting.deadline == 1001


def test_what_is_gathered_apart_joins_a_life_that_was_partly_forgotten() -> None:
    opening = Event("k", "join", 0)
    rule = Rule("r", "join", within=5, keeps_alive="beat")
    long_alive = waiting_for(rule, opening, [Event("k", "beat", at) for at in (4, 8, 12)])
    long_alive.forget(12)
    fresh = waiting_for(rule, opening, [Event("k", "beat", 14)])
    fresh.merge(restored(long_alive))
    long_alive.merge(waiting_for(rule, opening, [Event("k", "beat", 14)]))
    assert fresh.deadline == long_alive.deadline == 19
    assert fresh.to_state() == long_alive.to_state()


def test_an_operation_forgets_nothing_once_it_is_decided() -> None:
    rule = Rule("r", "join", within=5, cancels="leave", keeps_alive="beat")
    waiting = Waiting.open(rule, Event("k", "join", 0))
    for kind, at in [("beat", 3), ("leave", 4), ("beat", 7)]:
        waiting.add(Event("k", kind, at))
    before = waiting.outcome(9)
    waiting.forget(9)
    assert waiting.outcome(9) == before


def test_the_outcome_is_undecided_until_the_watermark_passes_what_could_undo_it() -> None:
    rule = Rule("r", "open", "paid", within=5, cancels="stop")
    waiting = Waiting.open(rule, Event("k", "open", 10))
    waiting.add(Event("k", "paid", 13))
    assert waiting.met_at == 13
    assert waiting.outcome(12) is None  # a cancellation stamped 12 might still arrive
    decided = waiting.outcome(13)
    assert decided is not None
    assert decided[5:7] == ("completed", 13)


def test_the_whole_condition_is_looked_at_again_only_if_the_time_of_a_leaf_has_changed() -> None:
    waiting = Waiting.open(Rule("r", "open", any_of(seen("a", 3), "b"), within=5), Event("k", "open", 0))
    looked_at = []
    for kind, at in [("a", 1), ("a", 2), ("x", 2), ("a", 3), ("a", 4), ("a", 2), ("b", 4), ("b", 5)]:
        waiting.add(Event("k", kind, at))
        looked_at.append(waiting._is_stale)
        assert waiting.met_at in (None, 2, 3)
    assert looked_at == [False, False, False, True, False, True, True, False]


def test_only_the_same_operation_merges() -> None:
    rule = Rule("r", "open", "paid", within=5)
    one, other = Waiting.open(rule, Event("k", "open", 0)), Waiting.open(rule, Event("k", "open", 1))
    with pytest.raises(RuleError, match=r"<Waiting 'r/k/1' .*> is not the operation 'r/k/0'; only the same one merges"):
        one.merge(other)


@pytest.mark.parametrize(
    "changed",
    [
        Rule("r", "open", seen("paid", 3), within=5),
        Rule("other", "open", seen("paid", 2), within=5),
        Rule("r", "open", within=5, keeps_alive="paid"),
    ],
    ids=str,
)
def test_a_state_stored_under_another_rule_is_refused(changed: Rule) -> None:
    state = Waiting.open(Rule("r", "open", seen("paid", 2), within=5), Event("k", "open", 0)).to_state()
    with pytest.raises(RuleError, match="operation 'r/k/0' was stored by another rule"):
        Waiting.from_state(changed, state)


def test_a_value_that_cannot_be_used_is_refused_at_once() -> None:
    waiting = Waiting.open(Rule("r", "open", total("fetch", at_least=3), within=5), Event("k", "open", 0))
    with pytest.raises(RuleError, match="value nan of 'fetch' is not a number"):
        waiting.add(Event("k", "fetch", 1, value=float("nan")))


def test_a_waiting_operation_shows_what_is_known_of_it() -> None:
    waiting = Waiting.open(Rule("r", "open", "paid", within=5), Event("k", "open", 10))
    waiting.add(Event("k", "paid", 17))
    assert repr(waiting) == "<Waiting 'r/k/10' met_at=17, cancelled_at=None, deadline=15>"
