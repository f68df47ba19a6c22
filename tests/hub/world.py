"""A world for actors: a hub whose lock, clock and callbacks are decision points, and a book of who was told what.

The pure build's lock is a decision point. In the compiled build the GIL is the lock, and others come in only where
Python code runs: calls, callbacks, the clock, and the lines of the files that both builds share (`SHARED`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from concurrency.scheduler import Body, Program, Stage, explore
from concurrency.stand_ins import CooperativeLock, Points, TurnClock
from hub.scene import ROOMS, check
from sojourn.errors import HubFullError, PurgatoryClosedError
from sojourn.hub import _blocking, _core, _signals, _wait
from sojourn.purgatory import _operation, _watchers
from sojourn.rules import Outcome, Rule, all_of
from sojourn.timer import _task, _timer
from support import Build

LOCKS = frozenset({"acquire", "callback", "clock"})
CALLS = frozenset({"call", "callback", "clock"})
SHARED = tuple(f"hub/{name}.py" for name in ("hub", "_waits", "_law", "_plan", "_ending", "_memory", "_ids", "_table"))

WITHIN_MS = 1
LATE_MS = 1_000
BOTH = Rule("both", "open", all_of("a", "b"), WITHIN_MS, cancels="stop")
ONE = Rule("one", "open", "b", WITHIN_MS)
ALIVE = Rule("alive", "open", within=WITHIN_MS, keeps_alive="beat")
RULES = {rule.name: rule for rule in (BOTH, ONE, ALIVE)}


class Told:
    """A callback that writes down the outcome each time it is called."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: list[Outcome] = []

    def __call__(self, wait: Any) -> None:
        assert wait.done(), "told of an end before it came"
        assert self.world.lock.holder is None or self.world.lock.holder is not self.world.stage.current, "lock is held"
        self.outcomes.append(wait.result(0))
        self.world.point("callback")


class OddKey(NamedTuple):
    """A key that is hashed and compared in Python, though to the same effect."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OddKey) and self.name == other.name


class World(Points):
    """Keys "k" and "l"; waits have names. After a run, `check` proves that it all adds up."""

    key: Callable[[str], Hashable] = staticmethod(str)

    def __init__(self, stage: Stage, build: Build, at: frozenset[str], options: dict[str, Any]) -> None:
        super().__init__(stage, at)
        self.build, self._options = build, options
        self.lock = CooperativeLock(self)
        self.clock = TurnClock(self)
        self.errors: list[BaseException] = []
        self.timer = build.SystemTimer("world", wheel_size=2, clock=self.clock, on_error=self._note)
        self.waits: dict[str, Any] = {}
        self.told: dict[str, list[Told]] = {}
        self.answers: Counter[str] = Counter()
        self.signals: list[tuple[str, int, int]] = []
        self.waited_before: list[Any] = []
        self.results: list[Outcome] = []
        self.refused: list[Exception] = []
        self.left: list[Any] = []
        self.is_closed = False
        self.remembers = "remember" in options
        self.expectations: list[Body] = []
        self.hub: Any = None

    def open(self) -> None:
        self.hub = ROOMS[self.build].Hub("world", timer=self.timer, shards=2, on_error=self._note, **self._options)

    def _note(self, wait: object, error: BaseException) -> None:
        self.errors.append(error)

    # What actors do

    def wait(self, name: str = "x", rule: Rule = BOTH, **options: Any) -> None:
        self.point("call")
        told = Told(self)
        try:
            wait = self.hub.wait([self.key("k"), self.key("l")], rule=rule, callback=told, **options)
        except (PurgatoryClosedError, HubFullError) as refusal:
            self.refused.append(refusal)
            return
        self.waits[name] = wait
        self.told.setdefault(name, []).append(told)
        if self.stage.current is None:
            self.waited_before.append(wait)

    def signal(self, kind: str, key: str = "k") -> None:
        self.point("call")
        earliest = self.hub.now_ms()
        completed = self.hub.signal(self.key(key), kind)
        self.signals.append((kind, earliest, self.hub.now_ms()))
        self.answers["completed"] += completed

    def expire(self) -> None:
        """Let time pass, and be the driver who notices."""
        self.point("call")
        self.clock.now_ms += WITHIN_MS + 1
        self.timer._run_due()

    def tick(self) -> None:
        """Let time pass, unnoticed."""
        self.point("call")
        self.clock.now_ms += 1

    def cancel(self, name: str = "x") -> None:
        self.point("call")
        is_cancelled = self.waits[name].cancel()
        self.answers["cancelled"] += is_cancelled

    def extend(self, ms: int, name: str = "x") -> None:
        self.point("call")
        self.hub.extend(self.waits[name], ms)

    def call_back(self, name: str = "x") -> None:
        self.point("call")
        self.told[name].append(told := Told(self))
        self.waits[name].add_done_callback(told)

    def ask(self, name: str = "x") -> None:
        self.point("call")
        self.results.append(self.waits[name].result())

    def explain(self, name: str = "x") -> None:
        self.point("call")
        wait = self.waits[name]
        assert not wait.done() or None not in (wait.at, wait.decided_by), "an end has its time and its reason"
        text = self.hub.explain(wait)
        assert text.split()[0].strip(",") in ("pending", "completed", "expired", "cancelled")

    def look(self) -> None:
        self.point("call")
        assert all(isinstance(wait, ROOMS[self.build].Wait) for wait in self.hub.list())

    def close(self) -> None:
        self.point("call")
        self.is_closed = True
        self.left += self.hub.close()

    # What must hold afterwards

    def check(self) -> None:
        self._check_books()
        self.clock.now_ms += LATE_MS
        self.timer._run_due()
        self._check_books()
        assert all(wait.done() for wait in self.waits.values()), "nobody waits for ever"
        assert self.timer.size == 0, "nothing is forgotten"
        for expectation in self.expectations:
            expectation()

    def _check_books(self) -> None:
        if self.errors:
            raise self.errors[0]
        assert self.lock.holder is None, "the lock is free"
        check(self.hub)
        for name, wait in self.waits.items():
            self._check_wait(name, wait)
        waits = set(self.waits.values())
        outcomes = Counter(wait.outcome for wait in waits)
        assert self.hub.pending == outcomes[None], "pending is exact"
        counts = tuple(outcomes[name] for name in ("completed", "expired", "cancelled"))
        assert self.is_closed or self.hub.stats()[1:4] == counts, "every end is counted once"
        at_once = sum(wait.outcome == "completed" for wait in waits if wait not in self.waited_before)
        claimed = self.answers["completed"]
        assert 0 <= outcomes["completed"] - claimed <= at_once, "who completed is told so, and nobody else"
        by_hand = sum(wait.result(0).decided_by == "cancel" for wait in waits if wait.done())
        claimed = self.answers["cancelled"]
        assert self.is_closed or by_hand <= claimed <= outcomes["cancelled"], (
            "who cancelled is told so, and nobody else"
        )

    def _check_wait(self, name: str, wait: Any) -> None:
        calls = [told.outcomes for told in self.told[name]]
        if not wait.done():
            assert not any(calls), f"{name} is pending, and its end was told"
            assert not self.is_closed, "a closed hub keeps nobody"
            assert not self._holds(wait), "a signal was lost"
            return
        outcome = wait.result(0)
        assert calls == [[outcome]] * len(calls), "each is told the outcome once, and it does not change"
        assert all(result == outcome for result in self.results), "whoever asked got that very outcome"
        assert wait.opened_at <= outcome.at <= outcome.deadline, "in time, whatever the outcome"
        if outcome.outcome == "expired":
            assert (outcome.at, outcome.decided_by) == (outcome.deadline, "deadline"), "expired by its deadline"
            assert self.hub.now_ms() > outcome.at, "never early"
        elif outcome.outcome == "cancelled":
            assert outcome.decided_by in ("cancel", "stop"), "cancelled by a canceller"
        else:
            assert outcome.decided_by in ("a", "b"), "completed by a signal"

    def _holds(self, wait: Any) -> bool:
        """Whether it has everything it waits for, in time for sure; or its deadline has not moved with a beat."""
        if wait not in self.waited_before and not self.remembers:
            return False
        deadline = min(wait.deadline, wait.opened_at + WITHIN_MS)
        in_time = [(kind, earliest) for kind, earliest, latest in self.signals if latest <= deadline]
        if wait.rule == ALIVE.name:
            return any(earliest + WITHIN_MS > wait.deadline for _, earliest in in_time)
        return {leaf.kind for leaf in RULES[wait.rule].leaves} <= {kind for kind, _ in in_time}


class CooperativeEvent:
    """What `result()` sleeps on."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def wait(self, timeout: float | None) -> bool:
        if timeout is None:
            self._stage.wait_until(lambda: self._is_set, "result")
        return self._is_set


Actor = Callable[[World], object]


def interleavings(
    build: Build,
    actors: Sequence[Actor],
    *,
    before: Actor = lambda world: None,
    at: frozenset[str] | None = None,
    hub: dict[str, Any] | None = None,
    **options: Any,
) -> int:
    """Run the actors in every way they can be interleaved, each in a world of its own; return in how many."""
    points = at if at is not None else LOCKS if build.name == "pure" else CALLS
    with pytest.MonkeyPatch.context() as patch:

        def program(stage: Stage) -> Program:
            world = World(stage, build, points, hub or {})
            for module in (_timer, _task, _operation, _watchers, _wait, _signals):
                patch.setattr(module, "lock", world.lock)
            patch.setattr(_core, "RLock", lambda: CooperativeLock(world))
            events = SimpleNamespace(Event=lambda: CooperativeEvent(stage), get_ident=threading.get_ident)
            patch.setattr(_blocking, "threading", events)
            world.open()
            before(world)
            bodies: list[Body] = [lambda actor=actor: actor(world) for actor in actors]
            return Program(bodies, world.check)

        return explore(program, len(actors), **options)
