"""The vectorised kernel against the fold: the same outcomes, for every rule and every log."""

from __future__ import annotations

from hypothesis import given

from parity.columns import as_columns, as_outcomes
from rules.strategies import MANY, logs_of_two_keys, rules
from sojourn.pipeline.kernel import judge, openings
from sojourn.rules import Event, Outcome, Rule, outcomes


def by_kernel(rule: Rule, log: list[Event]) -> list[Outcome]:
    keys, events = as_columns(rule, log)
    operations = openings(rule, events)
    return as_outcomes(rule, keys, operations, judge(rule, events, operations))


def by_fold(rule: Rule, log: list[Event]) -> list[Outcome]:
    return sorted(outcome._replace(seen="") for outcome in outcomes(rule, log, lambda event, reason: None))


@MANY
@given(rules, logs_of_two_keys)
def test_the_kernel_decides_as_the_fold(rule: Rule, log: list[Event]) -> None:
    assert sorted(by_kernel(rule, log)) == by_fold(rule, log)
