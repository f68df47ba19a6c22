"""Events that come in pieces: what `still_needed` lets go of is never missed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from parity import random_rules
from parity.columns import as_columns
from sojourn.pipeline.kernel import NOTHING, Words, given, judge, openings, still_needed
from sojourn.pipeline.kernel.search import Ints


def told(words: Words, codes: Ints) -> list[str | None]:
    return [None if code == NOTHING else words.texts[code] for code in codes.tolist()]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_kept_gives_the_verdicts_that_everything_would(seed: int) -> None:
    random = Random(seed)
    rule, log = random_rules.rule(random), random_rules.log(random, 60)
    _, events = as_columns(rule, log)
    operations = openings(rule, events)
    verdicts = judge(rule, events, operations)
    is_open = verdicts.at > random.randrange(-1, 8)
    rows = np.flatnonzero(still_needed(rule, events, operations, is_open))
    kept = events.take(rows, np.searchsorted(rows, events.starts))
    still = given(kept, *(column[is_open] for column in operations[:3]))
    again = judge(rule, kept, still)
    for name in ("ending", "at", "deadline", "met_at"):
        assert getattr(again, name).tolist() == getattr(verdicts, name)[is_open].tolist()
    for name in ("decided_by", "missing"):
        was, now = getattr(verdicts, name), getattr(again, name)
        assert told(now, now.codes) == told(was, was.codes[is_open])


def test_when_nothing_is_open_nothing_is_kept() -> None:
    random = Random(0)
    rule, log = random_rules.rule(random), random_rules.log(random, 60)
    _, events = as_columns(rule, log)
    operations = openings(rule, events)
    assert not still_needed(rule, events, operations, np.zeros(len(operations.group), bool)).any()
