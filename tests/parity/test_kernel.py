"""The vectorised kernel against the fold: the same outcomes, for every rule and every log."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from parity import random_rules
from parity.columns import as_columns, as_outcomes
from parity.tables import by_fold
from rules.strategies import MANY, logs_of_two_keys, rules
from sojourn.pipeline.kernel import judge, openings
from sojourn.rules import Event, Outcome, Rule


def by_kernel(rule: Rule, log: list[Event]) -> list[Outcome]:
    keys, events = as_columns(rule, log)
    operations = openings(rule, events)
    return as_outcomes(rule, keys, operations, judge(rule, events, operations))


@MANY
@given(rules, logs_of_two_keys)
def test_the_kernel_decides_as_the_fold(rule: Rule, log: list[Event]) -> None:
    assert sorted(by_kernel(rule, log)) == by_fold([rule], log)


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_decides_as_the_fold_on_keys_with_many_events_and_operations(seed: int) -> None:
    random = Random(seed)
    rule, log = random_rules.rule(random), random_rules.log(random, random.choice([5, 50, 500]))
    assert sorted(by_kernel(rule, log)) == by_fold([rule], log)
