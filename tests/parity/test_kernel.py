"""The vectorised kernel against the fold: the same outcomes, for every rule and every log."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from parity import random_rules
from parity.columns import as_columns, as_outcomes
from parity.tables import by_fold, latest
from rules.strategies import MANY, ends, logs_of_two_keys, rules
from sojourn.pipeline.kernel import judge, openings
from sojourn.rules import AsOf, Event, Outcome, Rule, end_of_log
from sojourn.rules.law import known


def by_kernel(rule: Rule, log: list[Event], as_of: AsOf) -> list[Outcome]:
    end = end_of_log(as_of, latest([rule], log))
    keys, events = as_columns(rule, known(log, end))
    operations = openings(rule, events)
    return as_outcomes(rule, keys, operations, judge(rule, events, operations, as_of=end))


@MANY
@given(rules, logs_of_two_keys, ends)
def test_the_kernel_decides_as_the_fold(rule: Rule, log: list[Event], as_of: AsOf) -> None:
    assert sorted(by_kernel(rule, log, as_of)) == by_fold([rule], log, as_of)


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_decides_as_the_fold_on_keys_with_many_events_and_operations(seed: int) -> None:
    random = Random(seed)
    rule, log = random_rules.rule(random), random_rules.log(random, random.choice([5, 50, 500]))
    as_of = random_rules.as_of(random)
    assert sorted(by_kernel(rule, log, as_of)) == by_fold([rule], log, as_of)
