"""What stands in for the real thing while actors take turns: the lock, the clock, the alarm and the reaper's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.clock import NS_PER_MS
from sojourn.timer.drivers import ReaperThread

if TYPE_CHECKING:
    from concurrency.scheduler import Stage
    from concurrency.world import World

HOUR_MS = 3_600_000


class Points:
    """A world in which some of what happens is a decision point."""

    def __init__(self, stage: Stage, at: frozenset[str]) -> None:
        self.stage, self.at = stage, at
        self._begun: set[object] = set()

    def point(self, what: str) -> None:
        if what in self.at and (what != "call" or self._has_begun()):
            self.stage.point(what)

    def _has_begun(self) -> bool:
        """Whether the actor has done something already; its first call begins at a decision anyway."""
        actor = self.stage.current
        return actor in self._begun or bool(self._begun.add(actor))


class CooperativeLock:
    """Reentrant, as the real one; another actor that wants it waits until it is free."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._depth = 0
        self.holder: object = None

    def __enter__(self) -> None:
        stage = self._world.stage
        if stage.current is not None and self.holder is not stage.current:
            stage.wait_until(lambda: self.holder is None, "acquire")
        self.holder = stage.current
        self._depth += 1

    def __exit__(self, *exc_info: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.holder = None
            self._world.point("release")


class CooperativeAlarm:
    """What `clock.wait` sleeps on: setting it is a decision point, and waking up unsets it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_on = False

    def set(self) -> None:
        self._world.point("alarm")
        self.is_on = True


class ReaperActor(ReaperThread):
    """The reaper's loop, run by an actor."""

    def __init__(self, world: World) -> None:
        self._stage, self._timer = world.stage, world.timer
        self.actor: object = None
        self._is_done = False

    def run(self) -> None:
        self.actor = self._stage.current
        self._reap()
        self._is_done = True

    def stop(self) -> None:
        if not self.is_current():
            self._stage.wait_until(lambda: self._is_done, "for the reaper to end")

    def is_current(self) -> bool:
        return self._stage.current is self.actor


class TurnClock:
    """Time that actors move. When all of them sleep it moves by itself to where the first wakes, up to a horizon."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sleepers: list[int] = []
        self._last: object = None
        self._in_a_row = 0
        self.now_ms = 0
        self.horizon_ms = 0
        self.wall_offset_ms = HOUR_MS
        world.stage.idle = self._pass

    def now_ns(self) -> int:
        self._world.point("clock")
        return self.now_ms * NS_PER_MS

    def wall_ns(self) -> int:
        self._world.point("wall")
        return (self.now_ms + self.wall_offset_ms) * NS_PER_MS

    def wait(self, alarm: CooperativeAlarm, ns: int) -> None:
        until_ms = self.now_ms + -(-ns // NS_PER_MS)
        self._sleepers.append(until_ms)
        self._world.stage.wait_until(lambda: alarm.is_on or self.now_ms >= until_ms, "sleep")
        self._sleepers.remove(until_ms)
        if alarm.is_on:
            alarm.is_on = False
            self._take_time()

    def _take_time(self) -> None:
        """Who takes the alarm again and again with nobody else in between needs time for it, as on a real machine."""
        actor = self._world.stage.current
        self._last, self._in_a_row = actor, self._in_a_row + 1 if actor is self._last else 0
        self.now_ms += self._in_a_row > 3

    def _pass(self) -> bool:
        ahead = [until_ms for until_ms in self._sleepers if self.now_ms < until_ms <= self.horizon_ms]
        self.now_ms = min(ahead, default=self.now_ms)
        return bool(ahead)
