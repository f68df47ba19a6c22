"""A world for the actors: real timers whose lock, clock and callbacks are decision points, and a diary of it all.

In the pure build the lock's outermost acquire and release are decision points. In the compiled build the GIL is the
lock, and a call is one step until it runs Python code: so the calls, the clock and the callbacks are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from concurrency.scheduler import Body, Program, Stage, explore
from concurrency.stand_ins import CooperativeAlarm, CooperativeLock, ReaperActor, TurnClock
from sojourn import TaskState, TimerClosedError
from sojourn.clock import NS_PER_MS
from sojourn.timer import _task, _timer
from support import COMPILED, PURE, Build

STEPS = {PURE: frozenset({"acquire"}), COMPILED: frozenset({"call", "clock", "callback"})}
"""The decision points that tell all outcomes apart; a test with few actors can afford more."""


class Noted:
    """A task that can be armed again and again, and writes in the world's diary."""

    def __init__(self, world: World, name: str, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.world, self.name = world, name

    def run(self) -> None:
        self.world.note(self.name)


NOTED = {build: type("NotedTask", (Noted, build.TimerTask), {}) for build in (PURE, COMPILED)}


class World:
    """Two timers on tiny wheels; tasks have names. After a run, `check` proves that it all adds up."""

    def __init__(self, stage: Stage, build: Build, at: frozenset[str], wheel_size: int = 2) -> None:
        self.stage = stage
        self.at = at
        self.lock = CooperativeLock(self)
        self.clock = TurnClock(self)
        self.tasks: dict[str, Any] = {}
        self.not_before: dict[str, list[int]] = {}
        self.ran: list[tuple[str, int]] = []
        self.cancelled: Counter[str] = Counter()
        self.denied: Counter[str] = Counter()
        self.left: list[Any] = []
        self.extends = self.adds = 0
        self.driven: list[int] = []
        self.runs_pending = False
        self.running: list[object] = []
        self._begun: set[object] = set()
        self.errors: list[BaseException] = []
        self.in_order: list[str] = []
        self.meanwhile: dict[str, Body] = {}
        self.expectations: list[Body] = []

        def noted(task: object, error: BaseException) -> None:
            self.errors.append(error)

        self.timer, self.other = (
            build.SystemTimer(name, wheel_size=wheel_size, clock=self.clock, on_error=noted)
            for name in ("timer", "other")
        )
        self.timer._alarm = CooperativeAlarm(self)
        self._task_type = NOTED[build]

    def point(self, what: str) -> None:
        """A decision point where timers run code that is not theirs: they must not hold their lock."""
        if self.stage.current is not None and self.lock.holder is self.stage.current:
            raise AssertionError(f"the lock is held at a {what}")
        if what in self.at and (what != "call" or self._has_begun()):
            self.stage.point(what)

    def _has_begun(self) -> bool:
        """Whether the actor has done something already; its first call begins at a decision anyway."""
        actor = self.stage.current
        return actor in self._begun or self._begun.add(actor)

    # What actors do

    def schedule(self, name: str, delay_ms: int) -> None:
        self.point("call")
        not_before = self.clock.now_ms + delay_ms
        try:
            self.tasks[name] = self.timer.schedule(delay_ms, self.note, name)
        except TimerClosedError:
            return
        self.not_before.setdefault(name, []).append(not_before)

    def schedule_many(self, names: str, delay_ms: int) -> Any:
        self.point("call")
        not_before = self.clock.now_ms + delay_ms
        try:
            batch = self.timer.schedule_many([delay_ms] * len(names), self.note, each=names)
        except TimerClosedError:
            return None
        self.tasks |= zip(names, batch, strict=True)
        self.not_before |= {name: [not_before] for name in names}
        return batch

    def add(self, name: str, delay_ms: int = 0, to: Any = None) -> None:
        """Arm a task that can be armed again; it moves if it is pending."""
        self.point("call")
        task = self.tasks.get(name) or self._task_type(self, name, delay_ms)
        not_before = self.clock.now_ms + task.delay_ms
        try:
            (to or self.timer).add(task)
        except TimerClosedError:
            return
        self.adds += name in self.tasks
        self.tasks[name] = task
        self.not_before.setdefault(name, []).append(not_before)

    def cancel(self, name: str) -> None:
        self.point("call")
        (self.cancelled if self.tasks[name].cancel() else self.denied)[name] += 1

    def cancel_batch(self, batch: Any) -> None:
        self.point("call")
        self.cancelled["batches"] += batch.cancel()

    def extend(self, name: str, delay_ms: int) -> None:
        self.point("call")
        not_before = self.clock.now_ms + delay_ms
        if self.tasks[name].extend(delay_ms):
            self.extends += 1
            self.not_before[name].append(not_before)
        else:
            self.denied[name] += 1

    def reaper(self) -> Body:
        """The timer's own reaper, as one of the actors."""
        self.timer._driver = reaper = ReaperActor(self)
        return reaper.run

    def hand_drive(self, timeout_ms: int = 0) -> None:
        self.point("call")
        with suppress(TimerClosedError):
            self.driven.append(self.timer.advance_clock(timeout_ms))

    def close_when_run(self, names: str) -> None:
        self.stage.wait_until(lambda: {name for name, _ in self.ran}.issuperset(names), f"for {names} to run")
        self.close()

    def expire(self, ms: int, timer: Any = None) -> None:
        """Let time pass, and be the driver who notices."""
        self.point("call")
        self.clock.now_ms += ms
        self.driven.append((timer or self.timer)._run_due())

    def close(self, timer: Any = None, *, run_pending: bool = False) -> None:
        self.point("call")
        self.runs_pending |= run_pending
        timer = timer or self.timer
        self.left += timer.close(run_pending=run_pending)
        if isinstance(timer._driver, ReaperActor):
            assert timer._driver.is_current() or timer._driver.actor not in self.running, "closing waits for the reaper"

    def note(self, name: str) -> None:
        self.running.append(self.stage.current)
        self.point("callback")
        self.ran.append((name, self.clock.now_ms))
        if name in self.meanwhile:
            self.meanwhile[name]()
        self.running.remove(self.stage.current)

    # What must hold afterwards

    def check(self) -> None:
        if self.errors:
            raise self.errors[0]
        assert self.lock.holder is None, "the lock is free"
        assert self.timer._death is None, "the reaper is alive"
        if not self.runs_pending and self.timer._driver is None:
            assert sum(self.driven) == len(self.ran), "drivers count what they ran"
        self._check_books()
        self._finish()
        self._check_books()
        self._check_runs()
        for expectation in self.expectations:
            expectation()

    def _check_books(self) -> None:
        """Every task ended once each time it was armed, or is pending, and the timers count the same."""
        stats = [timer.stats() for timer in (self.timer, self.other)]
        for timer in (self.timer, self.other):
            timer._check()
        names = {id(task): name for name, task in self.tasks.items()}
        ends = Counter(name for name, _ in self.ran) + self.cancelled
        ends.update(names.get(id(task), "refused") for task in self.left)
        assert ends.keys() <= {*self.tasks, "batches"}, "what was refused is neither run nor handed back"
        pending = [name for name, task in self.tasks.items() if task.is_pending]
        assert sum(one.pending for one in stats) == len(pending), "size is exact"
        assert sum(one.expired for one in stats) == len(self.ran), "expired is what ran"
        assert sum(one.undone for one in stats) == len(self.left), "undone is what was handed back"
        moved = sum(one.cancelled for one in stats) - self.cancelled.total()
        assert 0 <= moved <= self.adds, "cancelled is what the callers prevented, and what moved elsewhere"
        assert sum(one.scheduled for one in stats) - moved == ends.total() + len(pending), "none lost, none twice"
        assert self.adds or sum(one.extended for one in stats) == self.extends, "extended is what the callers extended"
        for name, task in self.tasks.items():
            armed = len(self.not_before.get(name, ())) if self.adds else min(1, len(self.not_before.get(name, ())))
            if not self.cancelled["batches"]:
                assert min(1, armed) <= ends[name] + task.is_pending <= armed, f"{name} ends once"
                assert ends[name] or not self.denied[name], f"no for an answer, though {name} had not ended"
            assert (task.state is TaskState.PENDING) == task.is_pending

    def _finish(self) -> None:
        """Whatever is pending in an open timer runs at its very deadline."""
        timers = [timer for timer in (self.timer, self.other) if timer._is_open]
        for timer in timers:
            timer.advance_clock()
        done = len(self.ran)
        while naps := [nap_ns for timer in timers if (nap_ns := timer.nap_ns()) is not None]:
            assert min(naps), "what was due has run"
            self.clock.now_ms += min(naps) // NS_PER_MS
            for timer in timers:
                timer.advance_clock()
        for name, at in self.ran[done:]:
            assert at == self.tasks[name].deadline_ms, f"{name} runs at its deadline"
        assert self.timer.size == self.other.size == 0, "nothing is forgotten"

    def _check_runs(self) -> None:
        for name, at in self.ran:
            bounds = self.not_before[name]
            extended = bounds[1:] if not self.adds else ()
            assert self.runs_pending or at >= min(extended or bounds), f"{name} never runs early"
        order = [self.in_order.index(name) for name, _ in self.ran if name in self.in_order]
        assert all(one < other for one, other in pairwise(order)), "first in, first out"


Scene = Callable[[World], Sequence[Body]]


def interleavings(
    build: Build,
    scene: Scene,
    actors: int,
    *,
    at: frozenset[str] | None = None,
    chunk: int = 4096,
    wheel_size: int = 2,
    **options: Any,
) -> int:
    """Play the scene in every way its actors can be interleaved, each in a world of its own; return in how many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_timer, "CHUNK", chunk)

        def program(stage: Stage) -> Program:
            world = World(stage, build, STEPS[build] if at is None else at, wheel_size)
            patch.setattr(_timer, "lock", world.lock)
            patch.setattr(_task, "lock", world.lock)
            return Program(scene(world), world.check)

        return explore(program, actors, **options)
