"""A world for actors: a purgatory whose lock, clock and operations are decision points, and a book of what they told.

An operation waits until all the keys it `needs` have been signalled; a signal says so first and checks afterwards. So
when all actors are done, an operation that is still pending although its condition holds is a lost signal. The pure
build's lock can be a decision point; in the compiled build the GIL is the lock, and only Python code is: calls, tries,
callbacks, the clock, and a key that is hashed or compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pytest

from concurrency.scheduler import Body, Program, Stage, explore
from concurrency.stand_ins import CooperativeLock, Points, TurnClock
from purgatory.scene import ROOMS, check, owed_tries
from sojourn.errors import PurgatoryClosedError
from sojourn.purgatory import _operation, _watchers
from sojourn.timer import _task, _timer
from support import BUILDS, Build

USER_CODE = frozenset({"call", "tried", "callback"})
"""Where other actors come in between when every step of ours is atomic, as in the compiled build."""
LOCKS = frozenset({"acquire", "tried", "callback"})
"""Where they do in the pure build: what happens between two locks concerns nobody else, or should not."""
EVERYWHERE = LOCKS | {"release", "call", "clock"}

TOLD = {None: [], "completed": ["complete"], "expired": ["complete", "expiration"], "cancelled": ["cancellation"]}
LATE_MS = 1_000


Actor = Callable[["World"], object]


class Key:
    """A key that is hashed and compared in Python, both of which are decision points."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name

    def __hash__(self) -> int:
        self.world.point("hash")
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        self.world.point("compare")
        return isinstance(other, Key) and self.name == other.name


class Actress:
    """An operation that notes what it is told, and whether two threads are in its code at a time."""

    def __init__(self, world: World, name: str, needs: str, delay_ms: int, forces: bool) -> None:
        super().__init__(delay_ms)
        self.world, self.name, self.needs, self.forces = world, name, frozenset(needs), forces
        self.told: list[str] = []
        self.tries = self.stumbles = 0
        self.then: Callable[[], object] = lambda: None
        self.inside: object = None

    def holds(self) -> bool:
        return self.needs <= self.world.signalled

    def try_complete(self) -> bool:
        self.tries += 1
        self.world.calls[self.world.stage.current].tries(self)
        assert not self.told, f"{self.name} is tried though it has been told its outcome"
        with Inside(self):
            held = self.holds()
            self.world.point("tried")
            if self.stumbles:
                self.stumbles -= 1
                raise StumbleError(self.name)
            return self.force_complete() if held and self.forces else held

    def on_complete(self) -> None:
        self.tell("complete")
        self.then()

    def on_expiration(self) -> None:
        assert self.world.clock.now_ms >= self.deadline_ms, f"{self.name} expires early"
        self.tell("expiration")

    def on_cancellation(self) -> None:
        self.tell("cancellation")

    def tell(self, what: str) -> None:
        self.told.append(what)
        with Inside(self):
            self.world.point("callback")


class StumbleError(Exception):
    """An operation fails, as it was told to."""


class Inside:
    """In the operation's own code: only one thread at a time, and without a lock of ours."""

    def __init__(self, operation: Any) -> None:
        self.operation = operation
        self.before: object = None

    def __enter__(self) -> None:
        world = self.operation.world
        me, self.before = world.stage.current, self.operation.inside
        assert self.before in (None, me), f"two threads are in the code of {self.operation.name}"
        assert me is None or world.lock.holder is not me, "a lock is held while an operation's code runs"
        self.operation.inside = me

    def __exit__(self, *exc_info: object) -> None:
        self.operation.inside = self.before


class Call:
    """A call in which an operation may be tried so often at most: no signal holds a caller for longer."""

    def __init__(self, world: World, most: int) -> None:
        self.world, self.most = world, most
        self.counts: Counter[object] = Counter()
        self.before: Call | None = None

    def __enter__(self) -> None:
        actor = self.world.stage.current
        self.before, self.world.calls[actor] = self.world.calls.get(actor), self

    def __exit__(self, *exc_info: object) -> None:
        self.world.calls[self.world.stage.current] = self.before

    def tries(self, operation: Any) -> None:
        self.counts[operation] += 1
        assert self.counts[operation] <= self.most, "signals that keep coming hold a caller"


class Told:
    """A purgatory that tells the world what its timer completed, as no caller hears of that."""

    world: World

    def _try_owed(self, operation: Any) -> None:
        self.world.owed += 1
        with Call(self.world, most=2):
            completed = super()._try_owed(operation)
        self.world.answer("completed", completed)


PURGATORIES = {build: type("Purgatory", (Told, ROOMS[build].Purgatory), {}) for build in BUILDS}
ACTRESSES = {build: type("Operation", (Actress, ROOMS[build].DelayedOperation), {}) for build in BUILDS}


class World(Points):
    """Two keys, "k" and "l"; operations have names. After a run, `check` proves that it all adds up."""

    def __init__(self, stage: Stage, build: Build, at: frozenset[str], *, hashed: bool = False) -> None:
        super().__init__(stage, at)
        self.build = build
        self.lock = CooperativeLock(self)
        self.clock = TurnClock(self)
        self.errors: list[BaseException] = []
        self.stumbled: list[BaseException] = []
        self.timer = build.SystemTimer("world", wheel_size=2, clock=self.clock, on_error=self._note)
        self.is_hashed = hashed
        self.signalled: set[str] = set()
        self.operations: dict[str, Any] = {}
        self.watching: dict[str, str] = {}
        self.answers: Counter[str] = Counter()
        self.left: list[Any] = []
        self.refused: list[Any] = []
        self.is_closed = False
        self.calls: dict[object, Any] = {}
        """The call that each actor is in."""
        self.owed = 0
        """Tries that were left to the timer."""
        self.purgatory: Any = None
        self.last: Actor = lambda world: None
        """What to do when all actors are done, before the check."""

    def open(self) -> None:
        self.purgatory = PURGATORIES[self.build]("world", timer=self.timer, shards=2, on_error=self._note)
        self.purgatory.world = self

    def _note(self, operation: object, error: BaseException) -> None:
        (self.stumbled if isinstance(error, StumbleError) else self.errors).append(error)

    def key(self, name: str) -> Hashable:
        """Where keys are hashed in Python, a new one every time, that has to be compared."""
        return Key(self, name) if self.is_hashed else name

    # What actors do

    def operation(self, name: str, needs: str = "k", delay_ms: int = 1, *, forces: bool = False) -> Any:
        self.operations[name] = ACTRESSES[self.build](self, name, needs, delay_ms, forces)
        return self.operations[name]

    def watch(self, name: str, keys: str = "kl", *, needs: str = "k", forces: bool = False) -> None:
        self.point("call")
        operation = self.operations.get(name) or self.operation(name, needs, forces=forces)
        self.watching[name] = keys
        try:
            with Call(self, most=3):
                won = self.purgatory.try_complete_else_watch(operation, [self.key(key) for key in keys])
        except PurgatoryClosedError:
            assert self.is_closed
            self.refused.append(operation)
            return
        assert operation.tries or operation.is_completed, "what is not tried has ended"
        self.answer("completed", won)

    def signal(self, key: str) -> None:
        self.point("call")
        self.signalled.add(key)
        with Call(self, most=2):
            completed = self.purgatory.check_and_complete(self.key(key))
        self.answer("completed", completed)

    def expire(self, ms: int = 1) -> None:
        """Let time pass, and be the driver who notices."""
        self.point("call")
        self.clock.now_ms += ms
        self.timer._run_due()

    def force(self, name: str) -> None:
        self.point("call")
        self.answer("completed", self.operations[name].force_complete())

    def cancel(self, name: str) -> None:
        self.point("call")
        self.answer("cancelled", self.operations[name].cancel())

    def cancel_key(self, key: str) -> None:
        self.point("call")
        self.answer("cancelled", len(self.purgatory.cancel_for_key(self.key(key))))

    def extend(self, name: str, ms: int = 2) -> None:
        self.point("call")
        operation = self.operations[name]
        had_ended = operation.is_completed
        assert not (operation.extend(ms) and had_ended), "what has ended cannot be extended"

    def close(self, *, cancel_pending: bool = False) -> None:
        self.point("call")
        self.is_closed = True
        left = self.purgatory.close(cancel_pending=cancel_pending)
        assert all(operation.is_completed == cancel_pending for operation in left), "left pending, or ended as asked"
        self.left += left

    def answer(self, outcome: str, count: int) -> None:
        """What a call said. Not written `+=` where it is called: others may come in between."""
        self.answers[outcome] += count

    # What must hold afterwards

    def check(self) -> None:
        self._have_owed_tries_made()
        self.last(self)
        self._check_books()
        self.clock.now_ms += LATE_MS
        self.timer._run_due()
        self._check_books()
        assert not self._pending(), "nobody waits for ever"
        assert self.timer.size == 0, "nothing is forgotten"

    def _have_owed_tries_made(self) -> None:
        """Let the timer make the tries that are left to it, while time stands still."""
        owed = owed_tries(self.timer)
        held = [operation for operation in self._pending() if operation.holds()]
        assert len(held) <= len(owed) <= len(self.operations), "a signal was lost, or a try is owed twice"
        if owed:
            self.timer._run_due()

    def _pending(self) -> list[Any]:
        elsewhere = {id(operation) for operation in (*self.left, *self.refused)}
        watched = [self.operations[name] for name in self.watching]
        return [one for one in watched if one.outcome is None and id(one) not in elsewhere]

    def _check_books(self) -> None:
        if self.errors:
            raise self.errors[0]
        assert self.lock.holder is None, "the lock is free"
        for operation in self.operations.values():
            assert operation.told == TOLD[operation.outcome], f"{operation.name} is told {operation.told}"
        pending = self._pending()
        assert not any(operation.holds() for operation in pending), "a signal was lost"
        assert not (self.is_closed and pending), "a closed purgatory keeps nobody"
        watched = sum(len(self.watching[operation.name]) for operation in pending)
        assert (self.purgatory.watched, self.purgatory.delayed) == (watched, len(pending)), "counts are exact"
        if not self.is_closed:
            self._check_outcomes()
        check(self.purgatory)

    def _ended_elsewhere(self, operation: Any) -> bool:
        """Whether it ended before it came, and so is not watched however often it comes."""
        if operation.name not in self.watching or operation.tries or not operation.is_completed:
            return False
        try:
            return not self.purgatory.try_complete_else_watch(operation, ["k"])
        except ValueError:
            return False  # it was on its way in

    def _check_outcomes(self) -> None:
        """After a close, whoever has an operation in hand may still end it, and the purgatory hears nothing of it."""
        outcomes = Counter(operation.outcome for operation in self.operations.values())
        assert self.answers["completed"] == outcomes["completed"], "who completed one was told so, and nobody else"
        assert self.answers["cancelled"] == outcomes["cancelled"], "who cancelled one was told so, and nobody else"
        outcomes.subtract(
            operation.outcome for operation in self.operations.values() if self._ended_elsewhere(operation)
        )
        ended = tuple(outcomes[name] for name in ("completed", "expired", "cancelled"))
        assert self.purgatory.stats()[2:5] == ended, "every end is counted once"


def interleavings(
    build: Build,
    actors: Sequence[Actor],
    *,
    at: frozenset[str] | None = None,
    before: Actor = lambda world: None,
    hashed: bool = False,
    **options: Any,
) -> int:
    """Run the actors in every way they can be interleaved, each in a world of its own; return in how many."""
    points = at if at is not None else LOCKS if build.name == "pure" else USER_CODE
    with pytest.MonkeyPatch.context() as patch:

        def program(stage: Stage) -> Program:
            world = World(stage, build, points, hashed=hashed)
            if "acquire" in points:
                for module in (_timer, _task, _operation, _watchers):
                    patch.setattr(module, "lock", world.lock)
            world.open()
            before(world)
            bodies: list[Body] = [lambda actor=actor: actor(world) for actor in actors]
            return Program(bodies, world.check)

        return explore(program, len(actors), **options)
