"""Small programs of waits and signals on a hub in virtual time, and what the law says must become of each wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

from hypothesis import strategies as st

from hub.scene import ROOMS, check
from rules.strategies import AMOUNTS, SOURCES, groups
from sojourn.rules import Condition, Event, Leaf, Outcome, Rule, decide, never, reached, seen, total
from sojourn.testing import ManualClock
from support import Build

KEEP_MS, KEEP_MOST = 2, 3
BY_HAND = "cancel"

LEAVES: list[Leaf] = [
    *(seen(kind, times, distinct) for times in (1, 2) for kind in "ab" for distinct in (None, "source")),
    *(reached(kind, at_least, by) for by in (1, 2) for kind in "ab" for at_least in (0.6, 2)),
    *(total(kind, at_least=x) for x in (0.3, 2) for kind in "ab"),
]
some: st.SearchStrategy[Condition] = st.sampled_from([*LEAVES, never()])
conditions = st.one_of(
    st.sampled_from([seen("a"), seen("b")]), some, groups(some), groups(st.one_of(some, groups(some)))
)
waiting_rules = st.builds(
    Rule,
    st.just("r"),
    opens=st.just("open"),
    until=conditions,
    within=st.integers(0, 4),
    cancels=st.sampled_from([None, "stop", None, "b"]),
)
alive_rules = st.builds(
    Rule,
    st.just("r"),
    opens=st.just("open"),
    within=st.integers(0, 3),
    cancels=st.sampled_from([None, "stop"]),
    keeps_alive=st.sampled_from(["a", "b"]),
)
rules = st.lists(st.one_of(waiting_rules, waiting_rules, waiting_rules, alive_rules), min_size=1, max_size=3)

# Every step there is, one draw each, in the proportions that make for the most ties.
SIGNALS = [
    ("signal", key, kind, source, value)
    for value, source, kind, key in product(AMOUNTS[:4], SOURCES, ("a", "b", "a", "b", "stop"), ("k", "k", "l"))
]
WAITS = [("wait", keys, nth) for nth, keys in product(range(3), (["k"], ["k"], ["l"], ["k", "l"]))] * 4
MOVES = [("advance", ms) for ms in (1, 0.5, 1, 2)] * 16
DRIVES = [("drive",)] * 32
HANDS = [("extend", nth, within) for nth, within in product(range(4), range(4))] * 4 + [
    ("cancel", n) for n in range(4)
] * 6


def programs(*others: list[Any]) -> st.SearchStrategy[list[Any]]:
    steps = st.sampled_from([*WAITS, *SIGNALS, *MOVES, *chain(*others)])
    return st.tuples(st.just(WAITS[0]), st.lists(steps, min_size=8, max_size=24)).map(
        lambda found: [found[0], *found[1]]
    )


@dataclass
class Watched:
    """A wait, and what a bystander knows of it."""

    wait: Any
    rule: Rule
    keys: list[str]
    told: list[Any]
    recalled: list[Event]
    """From before the wait, stamped like its opening."""
    was_pending: bool
    """Whether it had to wait at all."""
    events: list[Event] = field(default_factory=list)
    """On its keys since it was opened, for ever."""
    heard: int = 0
    """How many of these came before it ended."""
    is_touched: bool = False
    """Extended or cancelled by hand."""

    def is_being_cancelled(self) -> bool:
        """In the instant of a cancelling signal a wait may still complete, but is not extended any more."""
        return any(event.kind == self.rule.cancels for event in self.recalled + self.events)


class Run:
    """Runs a program step by step. `is_driven`: the clock moves the timer; otherwise only the step "drive" does."""

    def __init__(self, build: Build, rules: list[Rule], *, is_driven: bool = True, remembers: bool = False) -> None:
        self.rules, self.remembers = rules, remembers
        self.clock = ManualClock(7, wall_ms=1_000)
        self.timer = build.SystemTimer("law", clock=self.clock, wheel_size=2)
        if is_driven:
            self.timer.start()
        options = {"remember": KEEP_MS, "remember_most": KEEP_MOST} if remembers else {}
        self.errors: list[BaseException] = []
        self.hub = ROOMS[build].Hub(
            timer=self.timer, shards=2, on_error=lambda wait, error: self.errors.append(error), **options
        )
        self.watched: list[Watched] = []
        self.memory: list[Event] = []

    def play(self, steps: list[Any]) -> list[Watched]:
        """The waits, all of which have ended."""
        for verb, *arguments in steps:
            getattr(self, verb)(*arguments)
            check(self.hub)
            assert not self.errors
        self.clock.advance(20)
        self.timer.advance_clock()
        check(self.hub)
        assert self.hub.pending == 0
        return self.watched

    def wait(self, keys: list[str], nth: int) -> None:
        rule, told, now = self.rules[nth % len(self.rules)], [], self.hub.now_ms()
        kept = [event for event in self.memory if event.at >= now - KEEP_MS][-KEEP_MOST:]
        wait = self.hub.wait(keys if len(keys) > 1 else keys[0], rule=rule, callback=told.append)
        assert wait.opened_at == now
        recalled = [event._replace(at=now) for event in kept if event.key in keys] if self.remembers else []
        self.watched.append(Watched(wait, rule, keys, told, recalled, not wait.done()))

    def signal(self, key: str, kind: str, source: Any, value: Any) -> None:
        event = Event(key, kind, self.hub.now_ms(), source, value)
        self.memory.append(event)
        listening = [one for one in self.watched if key in one.keys]
        pending = [one for one in listening if not one.wait.done()]
        for one in listening:
            one.events.append(event)
        for one in pending:
            one.heard = len(one.events)
        completed = self.hub.signal(key, kind, source, value)
        assert completed == sum(one.wait.outcome == "completed" for one in pending), "who completes is counted"

    def advance(self, ms: float) -> None:
        self.clock.advance(ms)

    def drive(self) -> None:
        self.timer.advance_clock()

    def extend(self, nth: int, within: int) -> None:
        """Up to the deadline in force a wait can be extended: from then on the law has another one for it."""
        if nth >= len(self.watched) or (one := self.watched[nth]).rule.keeps_alive:
            return
        is_in_time, deadline = self.is_in_time(one), self.hub.now_ms() + within
        is_extended = self.hub.extend(one.wait, within)
        assert is_extended == (is_in_time and not one.is_being_cancelled())
        if is_extended:
            one.rule = lasting(one.rule, deadline - one.wait.opened_at, one.rule.cancels)
            one.is_touched = True

    def cancel(self, nth: int) -> None:
        """As if by a signal of that kind, except that nothing else of the same instant counts any more."""
        if nth >= len(self.watched):
            return
        one = self.watched[nth]
        is_in_time = self.is_in_time(one)
        assert self.hub.cancel(one.wait) == is_in_time
        if is_in_time:
            one.events.append(Event(one.wait.key, BY_HAND, self.hub.now_ms()))
            one.heard, one.is_touched = len(one.events), True

    def is_in_time(self, one: Watched) -> bool:
        """Whether the wait is pending, by the law too; the timer may be late."""
        return not one.wait.done() and self.hub.now_ms() <= verdict(one, one.recalled + one.events).at


def lasting(rule: Rule, within: int, cancels: str | None) -> Rule:
    """The rule with another deadline, and another way to be cancelled."""
    return Rule(rule.name, rule.opens, rule.until, within, cancels=cancels, keeps_alive=rule.keeps_alive)


def verdict(one: Watched, events: list[Event]) -> Outcome:
    rule, opening = one.rule, Event(one.wait.key, "open", one.wait.opened_at)
    if not any(event.kind == rule.cancels for event in events):
        rule = lasting(rule, rule.within, BY_HAND)
    return decide(rule, opening, events)._replace(operation_id=str(one.wait.id))


def as_the_wait_knew(one: Watched) -> Outcome:
    """The law on what the wait had heard up to its end."""
    return verdict(one, one.recalled + [event for event in one.events[: one.heard] if event.at <= one.wait.at])


def as_all_is_known(one: Watched) -> Outcome:
    """The law on everything there was, after the end too."""
    return verdict(one, one.recalled + one.events)
