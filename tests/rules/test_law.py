"""The law against an oracle that walks through time, and against itself."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rules.oracle import END, first_time, opinion
from rules.strategies import MANY, conditions, ends, logs, logs_of_two_keys, openings, rules, times, waiting_rules
from sojourn.rules import AsOf, Condition, Event, Outcome, Rule, decide, outcomes, verdict
from sojourn.rules import openings as openings_of
from sojourn.rules.law import case_of
from sojourn.rules.operation import Operation


def opened_by(rule: Rule, opening: Event) -> Event:
    return opening._replace(kind=rule.opens)


def met_at(condition: Condition, log: list[Event], opened_at: int) -> int | None:
    rule = Rule("r", "open", condition, within=0)
    return case_of(Operation(rule, "k", opened_at, opened_at, "r"), log).outcome.met_at


@MANY
@given(conditions, logs, times)
def test_a_condition_is_met_at_the_first_instant_at_which_it_holds(
    condition: Condition, log: list[Event], opened_at: int
) -> None:
    assert met_at(condition, log, opened_at) == first_time(condition, log, opened_at)


@MANY
@given(rules, openings, logs)
def test_an_operation_ends_as_if_one_had_lived_through_it_instant_by_instant(
    rule: Rule, opening: Event, log: list[Event]
) -> None:
    opening = opened_by(rule, opening)
    outcome = decide(rule, opening, [opening, *log])
    lived = opinion(rule, opening.at, rule.deadline(opening), [opening, *log])
    assert (outcome.outcome, outcome.at, outcome.deadline, outcome.met_at, outcome.decided_by) == lived


@MANY
@given(rules, logs_of_two_keys, ends, st.randoms(use_true_random=False))
def test_the_outcomes_of_a_log_do_not_depend_on_the_order_of_arrival(
    rule: Rule, log: list[Event], as_of: AsOf, random: Random
) -> None:
    shuffled = random.sample(log, len(log))
    assert outcomes(rule, shuffled, as_of=as_of) == outcomes(rule, log, as_of=as_of)


@given(rules, logs_of_two_keys)
def test_each_operation_of_a_log_ends_exactly_once_and_as_it_would_alone(rule: Rule, log: list[Event]) -> None:
    found = outcomes(rule, log, as_of="complete")
    alone = [
        decide(rule, opening, own, ordinal)
        for own in ([e for e in log if e.key == key] for key in ("k", "l"))
        for opening, ordinal in openings_of(rule, own)
    ]
    assert sorted(found) == sorted(alone)
    assert len({outcome.operation_id for outcome in found}) == len(found)


@given(rules, logs_of_two_keys, ends)
def test_what_an_outcome_says_agrees_with_itself(rule: Rule, log: list[Event], as_of: AsOf) -> None:
    for outcome in outcomes(rule, log, as_of=as_of):
        if outcome.at is None:
            assert (outcome.outcome, outcome.decided_by, outcome.met_at) == ("pending", None, None)
            assert outcome.opened_at + outcome.waited_ms < outcome.deadline
            continue
        assert outcome.opened_at <= outcome.at <= outcome.deadline
        assert outcome.waited_ms == outcome.at - outcome.opened_at
        assert outcome.rule == rule.name
        if outcome.outcome == "completed":
            assert outcome.at == outcome.met_at
            assert outcome.missing is None
        if outcome.outcome == "expired":
            assert outcome.at == outcome.deadline
            assert outcome.met_at is None or outcome.met_at > outcome.deadline
        if rule.leaves and outcome.outcome != "completed":
            assert outcome.missing


@MANY
@given(waiting_rules, openings, logs, st.integers(0, 12))
def test_what_if_the_deadline_were_another_one_follows_from_met_at_and_the_cancellation(
    rule: Rule, opening: Event, log: list[Event], within: int
) -> None:
    """No second run: `met_at` does not depend on the deadline, and the verdict needs nothing else."""
    opening = opened_by(rule, opening)
    log = [opening, *log]
    met = decide(rule, opening, log).met_at
    cancelled_at = min((e.at for e in log if e.kind == rule.cancels and e.at >= opening.at), default=None)
    rerun = decide(with_deadline(rule, within), opening, log)
    assert (rerun.outcome, rerun.at) == verdict(met, cancelled_at, opening.at + within)
    assert rerun.met_at == met


@given(waiting_rules.filter(lambda rule: rule.cancels is None), openings, logs, st.integers(0, 12))
def test_without_cancellations_met_at_alone_tells_the_outcome_for_every_deadline(
    rule: Rule, opening: Event, log: list[Event], within: int
) -> None:
    opening = opened_by(rule, opening)
    late = decide(with_deadline(rule, END), opening, [opening, *log])
    rerun = decide(with_deadline(rule, within), opening, [opening, *log])
    in_time = late.met_at is not None and late.met_at - opening.at <= within
    assert (rerun.outcome, rerun.waited_ms) == (("completed", late.waited_ms) if in_time else ("expired", within))


@given(waiting_rules, openings, logs, st.lists(st.sampled_from(["d", "e"]), max_size=3))
def test_events_of_kinds_that_a_rule_does_not_name_change_nothing(
    rule: Rule, opening: Event, log: list[Event], kinds: list[str]
) -> None:
    opening = opened_by(rule, opening)
    strangers = [Event("k", kind, opening.at) for kind in kinds]
    assert decide(rule, opening, [opening, *log, *strangers]) == decide(rule, opening, [opening, *log])


@given(waiting_rules, openings, logs, logs)
def test_more_signals_never_make_a_condition_later(
    rule: Rule, opening: Event, log: list[Event], more: list[Event]
) -> None:
    few = met_at(rule.until, log, opening.at)
    many = met_at(rule.until, log + more, opening.at)
    assert few is None or (many is not None and many <= few)


def with_deadline(rule: Rule, within: int) -> Rule:
    return Rule(rule.name, rule.opens, rule.until, within, rule.per, rule.cancels)


def test_the_outcome_table_has_the_columns_of_the_design() -> None:
    design = "operation_id rule key opened_at deadline outcome at waited_ms met_at decided_by missing"
    assert Outcome._fields == (*design.split(), "seen")
