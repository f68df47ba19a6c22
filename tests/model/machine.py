"""A state machine that does the same to several sides at once, and wants the same from all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from model.world import EPOCH, NS, ModelTimer, World, up
from sojourn import TimerClosedError
from sojourn.testing import ManualClock
from support import Build

WALL_MS = 10**6

delays_ms = st.one_of(st.integers(0, 12), st.integers(0, 300))
shapes = st.fixed_dictionaries({"tick_ms": st.integers(1, 3), "wheel_size": st.integers(2, 4)})
which = st.integers(0, 1)

Handle = list[tuple[Any, int]]
"""A task on every side: the sequence it is in, and where. One of a batch changes inside once it is asked for."""


class Side:
    """Two timers on one clock, and a log of everything that happened to them."""

    def __init__(self, place: int, build: Build | None, start_ms: int) -> None:
        self.place = place
        self.build = build
        self.clock: Any = World(start_ms, WALL_MS) if build is None else ManualClock(start_ms, wall_ms=WALL_MS)
        self.timers: list[Any] = [None, None]
        self.log: list[Any] = []
        self.is_closing = False

    def renew(self, which: int, shape: dict[str, int]) -> None:
        if self.build is None:
            self.timers[which] = ModelTimer(self.clock, shape["tick_ms"])
        else:
            timer = self.build.SystemTimer("model", clock=self.clock, on_error=self.failed, **shape)
            self.timers[which] = timer.start()

    def close(self, which: int, run_pending: bool) -> list[Any]:
        self.is_closing = True
        left = self.timers[which].close(run_pending=run_pending)
        self.is_closing = False
        return left

    def task(self, handle: Handle) -> Any:
        tasks, index = handle[self.place]
        return tasks[index]

    def note(self, name: Any) -> None:
        self.log.append((name, self.clock.now_ns(), self.clock.wall_ns()))

    def runs(self, name: Any) -> int:
        return sum(isinstance(entry, tuple) and entry[0] == name for entry in self.log)

    def failed(self, task: Any, exception: BaseException) -> None:
        self.log.append(exception)

    def add(self, which: int, task: Any) -> str:
        try:
            self.timers[which].add(task)
        except (TypeError, TimerClosedError) as refusal:
            return type(refusal).__name__
        return "added"


class Deed(NamedTuple):
    """What a task does when it runs, besides writing that down."""

    kind: str
    victim: Handle
    delay_ms: int

    def do(self, side: Side, which: int) -> object:
        if self.kind == "cancel":
            return side.task(self.victim).cancel()
        if self.kind == "extend":
            return side.task(self.victim).extend(self.delay_ms)
        if side.is_closing:
            return None  # adding elsewhere what close() is about to run here: then it runs twice
        return side.add(which, side.task(self.victim))


class TimerMachine(RuleBasedStateMachine):
    builds: tuple[Build | None, ...]
    """One side each; None is the model's."""

    tasks = Bundle("tasks")
    batches = Bundle("batches")

    @initialize(shapes=st.tuples(shapes, shapes), start_ms=st.integers(-50, 50))
    def open(self, shapes: tuple[dict[str, int], ...], start_ms: int) -> None:
        self.sides = [Side(place, build, start_ms) for place, build in enumerate(self.builds)]
        self.names = iter(range(10**9))
        for which, shape in enumerate(shapes):
            self.on_each(lambda side, which=which, shape=shape: side.renew(which, shape))

    def on_each(self, act: Callable[[Side], Any]) -> Any:
        first, *others = (act(side) for side in self.sides)
        for other in others:
            assert other == first
        return first

    # Arming

    @rule(target=tasks, which=which, delay_ms=delays_ms)
    def schedule(self, which: int, delay_ms: int) -> Handle:
        name = next(self.names)
        return [([side.timers[which].schedule(delay_ms, side.note, name)], 0) for side in self.sides]

    @rule(target=tasks, which=which, like=tasks)
    def schedule_for_the_same_deadline(self, which: int, like: Handle) -> Handle:
        """Equal deadlines, reached through other wheels: chance alone seldom makes them."""
        first = self.sides[0]
        deadline_ms = first.task(like).deadline_ms
        return self.schedule(which, max(0, deadline_ms - up(first.clock.now_ns(), NS)))

    @rule(
        target=tasks,
        which=which,
        delay_ms=delays_ms,
        kind=st.sampled_from(["cancel", "extend", "add"]),
        victim=tasks,
        other_ms=delays_ms,
    )
    def schedule_one_that_meddles(self, which: int, delay_ms: int, kind: str, victim: Handle, other_ms: int) -> Handle:
        name, deed = next(self.names), Deed(kind, victim, other_ms)

        def callback(side: Side) -> None:
            side.note(name)
            side.log.append(deed.do(side, which))

        return [([side.timers[which].schedule(delay_ms, callback, side)], 0) for side in self.sides]

    @rule(target=tasks, which=which, delay_ms=delays_ms, times=st.integers(1, 4))
    def schedule_one_that_adds_itself_again(self, which: int, delay_ms: int, times: int) -> Handle:
        name = next(self.names)

        def callback(side: Side) -> None:
            side.note(name)
            if side.runs(name) < times:
                side.log.append(side.add(which, side.task(handle)))

        handle = [([side.timers[which].schedule(delay_ms, callback, side)], 0) for side in self.sides]
        return handle

    @rule(
        targets=(tasks, batches),
        which=which,
        delays=st.lists(delays_ms, min_size=1, max_size=4),
        times=st.integers(1, 3),
    )
    def schedule_many_that_add_themselves_again(self, which: int, delays: list[int], times: int) -> Any:
        names = [next(self.names) for _ in delays]

        def callback(side: Side, index: int) -> None:
            side.note(names[index])
            if side.runs(names[index]) < times:
                side.log.append(side.add(which, made[side.place][index]))

        made = [
            side.timers[which].schedule_many(delays, partial(callback, side), each=range(len(delays)))
            for side in self.sides
        ]
        return multiple(*([(batch, index) for batch in made] for index in range(len(delays))))

    @rule(target=tasks, which=which, ahead_ms=delays_ms)
    def schedule_at(self, which: int, ahead_ms: int) -> Handle:
        name = next(self.names)
        when = EPOCH + timedelta(milliseconds=up(self.sides[0].clock.wall_ns(), NS) + ahead_ms)
        return [([side.timers[which].schedule_at(when, side.note, name)], 0) for side in self.sides]

    @rule(targets=(tasks, batches), which=which, delays=st.lists(delays_ms, min_size=1, max_size=6))
    def schedule_many(self, which: int, delays: list[int]) -> Any:
        names = [next(self.names) for _ in delays]
        made = [side.timers[which].schedule_many(delays, side.note, each=names) for side in self.sides]
        return multiple(*([(batch, index) for batch in made] for index in range(len(delays))))

    # Changing one's mind

    @rule(task=tasks)
    def cancel(self, task: Handle) -> None:
        self.on_each(lambda side: side.task(task).cancel())

    @rule(task=tasks, delay_ms=delays_ms)
    def extend(self, task: Handle, delay_ms: int) -> None:
        self.on_each(lambda side: side.task(task).extend(delay_ms))

    @rule(task=tasks, which=which)
    def add(self, task: Handle, which: int) -> None:
        self.on_each(lambda side: side.add(which, side.task(task)))

    @rule(task=batches)
    def cancel_its_whole_batch(self, task: Handle) -> None:
        self.on_each(lambda side: task[side.place][0].cancel())

    @rule(task=consumes(tasks))
    def forget(self, task: Handle) -> None:
        """Nobody but the timer may hold the task any longer."""

    # Time

    @rule(quarters=st.one_of(st.integers(0, 8), st.integers(0, 100), st.integers(0, 10_000)))
    def advance(self, quarters: int) -> None:
        self.on_each(lambda side: side.clock.advance(quarters / 4))

    @rule(ms=st.one_of(st.integers(-3, 3), st.integers(-20, 20), st.integers(-2_000, 2_000)))
    def step_wall(self, ms: int) -> None:
        self.on_each(lambda side: side.clock.step_wall(ms))

    # Ends and inspection

    @rule(which=which, run_pending=st.booleans(), shape=shapes)
    def close_and_open_another(self, which: int, run_pending: bool, shape: dict[str, int]) -> None:
        self.on_each(lambda side: describe(side.close(which, run_pending)))
        self.check()
        self.on_each(lambda side: side.renew(which, shape))

    @rule(which=which)
    def pending(self, which: int) -> None:
        self.on_each(lambda side: describe(side.timers[which].pending()))

    @rule(task=tasks)
    def look(self, task: Handle) -> None:
        self.on_each(lambda side: describe([side.task(task)]))

    @invariant()
    def check(self) -> None:
        self.on_each(lambda side: (side.clock.now_ns(), side.clock.wall_ns()))
        self.on_each(lambda side: side.log)
        for which in (0, 1):
            self.on_each(lambda side, which=which: self.account(side, side.timers[which]))

    def account(self, side: Side, timer: Any) -> Any:
        """What every side must agree on."""
        if side.build is None:
            return [timer.size, *(timer.count[name] for name in COUNTS)]
        timer._check()
        return [timer.size, *(getattr(timer.stats(), name) for name in COUNTS)]

    def teardown(self) -> None:
        if hasattr(self, "sides"):
            self.advance(10_000)
            self.check()


COUNTS = ("scheduled", "extended", "cancelled", "expired", "undone")


def describe(tasks: Any) -> list[Any]:
    return [(task.delay_ms, task.deadline_ms, task.state) for task in tasks]
