"""The law decides: every wait of a generated program ends as `sojourn.rules.decide` says, on either build.

Few instants, so that ties are frequent: signals stamped like an opening, a deadline, a cancellation and each other.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from hub.program import (
    DRIVES,
    HANDS,
    Run,
    Watched,
    as_all_is_known,
    as_the_wait_knew,
    programs,
    rules,
)
from scene import on_builds
from sojourn.rules import Outcome, Rule
from support import Build

MANY = settings(max_examples=2 * settings.default.max_examples)


def ended_once_and_lawfully(watched: list[Watched]) -> None:
    for one in watched:
        assert one.told == [one.wait], "told once"
        outcome = one.wait.result(0)
        assert (one.wait.outcome, one.wait.at) == (outcome.outcome, outcome.at)
        if one.was_pending:
            assert outcome == as_the_wait_knew(one)
        if not one.is_touched:
            assert what_counts(outcome) == what_counts(as_all_is_known(one))


def what_counts(outcome: Outcome) -> tuple[Any, ...]:
    """Not who decided: of several signals of the same instant a wait has heard some, and did not wait for more."""
    return outcome.outcome, outcome.at, outcome.waited_ms, outcome.missing, outcome.deadline


@on_builds
@MANY
@given(rules=rules, steps=programs())
def test_every_wait_ends_as_the_law_says(build: Build, rules: list[Rule], steps: list[Any]) -> None:
    ended_once_and_lawfully(Run(build, rules).play(steps))


@on_builds
@MANY
@given(rules=rules, steps=programs(DRIVES))
def test_a_timer_that_comes_late_changes_no_outcome(build: Build, rules: list[Rule], steps: list[Any]) -> None:
    ended_once_and_lawfully(Run(build, rules, is_driven=False).play(steps))


@on_builds
@MANY
@given(rules=rules, steps=programs())
def test_early_signals_count_as_if_they_came_with_the_wait(build: Build, rules: list[Rule], steps: list[Any]) -> None:
    ended_once_and_lawfully(Run(build, rules, remembers=True).play(steps))


@on_builds
@MANY
@given(rules=rules, steps=programs(HANDS))
def test_a_wait_that_is_extended_or_cancelled_by_hand_ends_as_the_law_says(
    build: Build, rules: list[Rule], steps: list[Any]
) -> None:
    ended_once_and_lawfully(Run(build, rules).play(steps))


@on_builds
@MANY
@given(rules=rules, steps=programs(DRIVES, HANDS))
def test_all_of_it_at_once(build: Build, rules: list[Rule], steps: list[Any]) -> None:
    ended_once_and_lawfully(Run(build, rules, is_driven=False, remembers=True).play(steps))
