"""The hub's own form of the law is the law: `hub/_law.py`, and `verdict` in C, against the fold in `rules.law`.

Without a hub, a timer or a lock; `test_law.py` has these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.program import rules
from rules.strategies import AMOUNTS, SOURCES
from sojourn.hub import _core
from sojourn.hub._law import hear, last_instant, unmet
from sojourn.hub._plan import WaitPlan
from sojourn.rules import Event, Outcome, Rule, Waiting, decide
from sojourn.rules.law import verdict

TIMES = (None, *range(4))


@pytest.mark.parametrize(("met_at", "cancelled_at", "deadline"), [*product(TIMES, TIMES, range(4))])
def test_the_verdict_in_c_is_the_verdict(met_at: int | None, cancelled_at: int | None, deadline: int) -> None:
    assert _core._verdict(met_at, cancelled_at, deadline) == verdict(met_at, cancelled_at, deadline)


@dataclass
class Bare:
    """A wait that nobody holds: what the law keeps of it, and what it did."""

    _plan: WaitPlan
    opened_at: int
    deadline: int
    _cancelled_at: int | None = None
    _progress: Waiting | None = None
    ended: tuple[Any, ...] | None = None

    def _complete(self, at: int) -> bool:
        self.ended = ("completed", at)
        return True

    def _extend_to(self, deadline: int, now_ms: int) -> None:
        self.deadline = deadline

    def _cancel_after(self, at: int) -> None:
        self._cancelled_at = at


def step_by_step(rule: Rule, opened_at: int, events: list[Event]) -> tuple[Any, ...]:
    """The outcome, its time and the deadline, as a hub finds them: it hears each event, unless the wait is over."""
    wait = Bare(WaitPlan(rule), opened_at, opened_at + rule.within)
    for event in events:
        if wait.ended is None and event.at > last_instant(wait):
            wait.ended = unmet(wait)[:2]
        if wait.ended is None and event.kind in wait._plan.kinds:
            hear(wait, event)
    return *(wait.ended or unmet(wait)[:2]), wait.deadline


def as_the_fold_has_it(rule: Rule, opened_at: int, events: list[Event]) -> tuple[Any, ...]:
    """For a hub, what came before the opening came with it."""
    known = [event._replace(at=max(event.at, opened_at)) for event in events]
    outcome: Outcome = decide(rule, Event("k", "open", opened_at), known)
    return outcome.outcome, outcome.at, outcome.deadline


events = st.lists(
    st.builds(
        Event,
        st.just("k"),
        st.sampled_from(["a", "b", "stop"]),
        st.integers(0, 6),
        st.sampled_from(SOURCES),
        st.sampled_from(AMOUNTS[:4]),
        st.none(),
    ),
    max_size=10,
).map(lambda found: sorted(found, key=lambda event: event.at))


@given(rules, events, st.integers(0, 3))
def test_a_hub_judges_event_by_event_as_the_fold_judges_all(
    rules: list[Rule], events: list[Event], opened: int
) -> None:
    for rule in rules:
        assert step_by_step(rule, opened, events) == as_the_fold_has_it(rule, opened, events)


def test_of_two_cancelling_signals_that_overtook_each_other_the_earlier_counts() -> None:
    rule = Rule("r", "open", "a", 9, cancels="stop")
    wait = Bare(WaitPlan(rule), 0, 9)
    for at in (5, 4, 5):
        hear(wait, Event("k", "stop", at))
    assert (unmet(wait), hear(wait, Event("k", "a", 5))) == (("cancelled", 4, "stop"), False)
    assert wait.ended is None


def test_what_the_law_needs_of_a_wait_both_builds_have() -> None:
    from sojourn.hub._law import Judged  # noqa: PLC0415
    from sojourn.hub._wait import Wait  # noqa: PLC0415

    needed = {name for name in (*vars(Judged), *Judged.__annotations__) if not name.startswith(("__", "_abc", "_is_"))}
    assert {"deadline", "_cancelled_at", "_complete"} <= needed
    for build in (SimpleNamespace(Wait=Wait), _core):
        assert needed <= set(dir(build.Wait))
