"""The local engine against the fold."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from parity.tables import as_outcomes, as_table
from parity.test_kernel import by_fold
from rules.strategies import MANY, logs_of_two_keys, rules
from sojourn.pipeline import local
from sojourn.rules import Event, Rule


@MANY
@given(rules, logs_of_two_keys, st.randoms(use_true_random=False))
def test_the_local_engine_decides_as_the_fold_in_whatever_order_the_log_comes(
    rule: Rule, log: list[Event], random: Random
) -> None:
    shuffled = random.sample(log, len(log))
    result = local.outcomes(as_table(shuffled), rule, unit="ms")
    assert as_outcomes(result.outcomes) == by_fold(rule, log)
    assert result.quarantine.num_rows == 0
