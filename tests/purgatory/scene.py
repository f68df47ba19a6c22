"""A purgatory on a shared timer on virtual time, over either build, with a diary of what its operations told."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from sojourn.purgatory import _core, _operation, _watchers
from sojourn.purgatory.purgatory import PurgatoryFace
from sojourn.testing import ManualClock
from support import BUILDS, Build

PATIENCE_S = 30
"""How long to wait for another thread: far more than it needs. Only a failing test, or a deadlock, waits so long."""


class Room(NamedTuple):
    """The purgatory that goes with a build of the timer."""

    DelayedOperation: type[Any]
    Purgatory: type[Any]
    Noted: type[Any]


class Notes:
    """An operation that is `ready` when told so, counts its `tries` and writes down what it is told.

    `says` gives it something else to do: a function of the operation by the name of the method.
    """

    def __init__(self, name: str, delay_ms: int, told: list[str], says: dict[str, Callable[[Any], Any]]) -> None:
        super().__init__(delay_ms)
        self.name, self.told, self.says = name, told, says
        self.ready = False
        self.tries = 0

    def try_complete(self) -> bool:
        self.tries += 1
        return self._say("try_complete") if "try_complete" in self.says else self.ready

    def on_complete(self) -> None:
        self.told.append(f"{self.name} complete")
        self._say("on_complete")

    def on_expiration(self) -> None:
        self.told.append(f"{self.name} expiration")
        self._say("on_expiration")

    def on_cancellation(self) -> None:
        self.told.append(f"{self.name} cancellation")
        self._say("on_cancellation")

    def _say(self, what: str) -> Any:
        return self.says.get(what, lambda operation: None)(self)


def room(build: Build) -> Room:
    is_pure = build.name == "pure"
    operation, watchers = (_operation, _watchers) if is_pure else (_core, _core)
    return Room(
        operation.DelayedOperation,
        type("Purgatory", (PurgatoryFace, watchers.Watchers), {"_timer_type": build.SystemTimer}),
        type("Noted", (Notes, operation.DelayedOperation), {}),
    )


ROOMS = {build: room(build) for build in BUILDS}


def check(purgatory: Any) -> None:
    """Prove the invariants; whatever is pending is in the timer, which nobody else uses."""
    purgatory._check_all()
    purgatory.timer._check()
    if purgatory.timer.size != purgatory.delayed:
        assert purgatory.timer.size == purgatory.delayed + len(owed_tries(purgatory.timer))


def owed_tries(timer: Any) -> list[Any]:
    """The tries that are left to the timer: what is in there besides operations."""
    return [task for task in timer.pending() if not hasattr(task, "try_complete")]


class Scene:
    """`told` lists every callback in order, `errors` what reached the purgatory's handler."""

    def __init__(self, build: Build, **options: Any) -> None:
        self.build, self.room = build, ROOMS[build]
        self.clock = ManualClock()
        self.timer = build.SystemTimer("scene", clock=self.clock, on_error=self._note_timer_error).start()
        self.told: list[str] = []
        self.errors: list[tuple[Any, BaseException]] = []
        self.timer_errors: list[BaseException] = []
        options.setdefault("on_error", lambda operation, exception: self.errors.append((operation, exception)))
        self.purgatory = self.room.Purgatory("scene", timer=self.timer, **options)

    def operation(self, name: str = "x", delay_ms: int = 100, **says: Callable[[Any], Any]) -> Any:
        return self.room.Noted(name, delay_ms, self.told, says)

    def watch(self, operation: Any, *keys: Hashable) -> bool:
        is_completed = self.purgatory.try_complete_else_watch(operation, keys)
        self.check()
        return is_completed

    def watched(self, name: str = "x", *keys: Hashable, delay_ms: int = 100, **says: Callable[[Any], Any]) -> Any:
        """A new operation that waits, for the key "k" unless others are given."""
        operation = self.operation(name, delay_ms, **says)
        assert not self.watch(operation, *(keys or ("k",)))
        return operation

    def signal(self, key: Hashable = "k") -> int:
        completed = self.purgatory.check_and_complete(key)
        self.check()
        return completed

    def complete(self, operation: Any, key: Hashable = "k") -> int:
        """Meet the condition, and say so."""
        operation.ready = True
        return self.signal(key)

    def advance(self, ms: int) -> int:
        ran = self.clock.advance(ms)
        self.check()
        return ran

    def counts(self) -> tuple[int, int]:
        return self.purgatory.watched, self.purgatory.delayed

    def check(self) -> None:
        check(self.purgatory)
        if self.timer_errors:
            raise self.timer_errors[0]

    def _note_timer_error(self, task: object, exception: BaseException) -> None:
        self.timer_errors.append(exception)
