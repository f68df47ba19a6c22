"""A timer on virtual time that writes down what ran, and proves its invariants after every step."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.testing import ManualClock
from support import BUILDS, Build

on_builds = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
"""For laws: Hypothesis wants no function-scoped fixture."""


class Scene:
    """A `SystemTimer` on a `ManualClock` of its own; `ran` lists the name and the time of every run."""

    def __init__(
        self, build: Build, *, start_ms: int = 0, wall_ms: int = 0, started: bool = True, **options: Any
    ) -> None:
        self.build = build
        self.clock = ManualClock(start_ms, wall_ms=wall_ms)
        self.start_ms = start_ms
        self.errors: list[BaseException] = []
        options.setdefault("on_error", lambda task, exception: self.errors.append(exception))
        self.timer = build.SystemTimer("scene", clock=self.clock, **options)
        if started:
            self.timer.start()
        self.ran: list[tuple[Any, int]] = []

    @property
    def names(self) -> list[Any]:
        return [name for name, _ in self.ran]

    def note(self, name: Any) -> None:
        """The callback of most tasks here."""
        self.ran.append((name, self.clock.now_ms))

    def schedule(self, delay_ms: int, name: Any = "task") -> Any:
        task = self.timer.schedule(delay_ms, self.note, name)
        self.check()
        return task

    def schedule_at(self, when: Any, name: Any = "task") -> Any:
        task = self.timer.schedule_at(when, self.note, name)
        self.check()
        return task

    def schedule_many(self, delays_ms: Any) -> Any:
        """One task a delay, each named by its place."""
        batch = self.timer.schedule_many(delays_ms, self.note, each=range(len(delays_ms)))
        self.check()
        return batch

    def advance(self, ms: float) -> int:
        ran = self.clock.advance(ms)
        self.check()
        return ran

    def step_wall(self, ms: float) -> int:
        ran = self.clock.step_wall(ms)
        self.check()
        return ran

    def advance_by_hand(self, timeout_ms: int = 0) -> int:
        ran = self.timer.advance_clock(timeout_ms)
        self.check()
        return ran

    def check(self) -> None:
        self.timer._check()
        if self.errors:
            raise self.errors[0]

    def tick_after(self, ms: int) -> int:
        """When a task due at `ms` runs: at the first tick that is not before it."""
        tick_ms = self.timer.tick_ms
        return self.start_ms + -(-(ms - self.start_ms) // tick_ms) * tick_ms
