"""What counts for an operation, gathered from parts of its events, decides it as all of them do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from parity import random_rules
from parity.columns import as_columns, told
from sojourn.pipeline.kernel import Words, counted, given, judge, openings
from sojourn.rules import Event


@pytest.mark.parametrize("seed", range(150))
def test_what_counts_of_each_part_of_the_events_decides_as_all_of_them(seed: int) -> None:
    random = Random(seed)
    rule = random_rules.rule(random)
    log = [event._replace(key="k") for event in random_rules.log(random, random.choice([5, 30, 200]))]
    _, events = as_columns(rule, log)
    operations = openings(rule, events)
    if not len(operations.group):
        return
    number = random.randrange(len(operations.group))
    opened_at, deadline = (column[[number]] for column in operations[1:3])
    kept: list[Event] = []
    for part in parts(random, log):
        ordered = sorted(part, key=lambda event: event.at)
        _, own = as_columns(rule, ordered)
        given_here = given(own, np.zeros(1, np.int64), opened_at, deadline)
        kept += [ordered[row] for row in counted(rule, own, given_here)[1]]
    _, few = as_columns(rule, [*kept, Event("k", "open", 99)])
    by_few = judge(rule, few, given(few, np.zeros(1, np.int64), opened_at, deadline))
    by_all = judge(rule, events, given(events, np.zeros(1, np.int64), opened_at, deadline))
    for few_column, all_column in zip(by_few, by_all, strict=True):
        if isinstance(few_column, Words):
            assert told(few_column, few_column.codes) == told(all_column, all_column.codes)
        else:
            assert few_column.tolist() == all_column.tolist()


def parts(random: Random, log: list[Event]) -> list[list[Event]]:
    """The events dealt out at random, none of the hands empty."""
    hands: list[list[Event]] = [[] for _ in range(random.randint(1, 3))]
    for event in log:
        random.choice(hands).append(event)
    return [hand for hand in hands if hand]


def test_no_more_is_kept_of_many_events_than_can_decide() -> None:
    random = Random(0)
    log = [Event("k", "a", at % 7, f"s{at % 3}", 1.0, {"amount": 1.0}) for at in range(1000)]
    for _ in range(50):
        rule = random_rules.rule(random)
        if rule.keeps_alive is None and rule.cancels is None:
            _, events = as_columns(rule, [*log, Event("k", "open", 0, columns={"allowed": 1, "due": 1})])
            here = given(events, np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64))
            assert len(counted(rule, events, here)[1]) <= 50
