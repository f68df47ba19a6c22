"""Random programs for one thread, run by a purgatory and by a model made of a dict: both must tell the same story.

A program is a list of steps on a few operations; an operation may itself take a step when it is tried or told
something, and may fail. Everything follows from the seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from purgatory.scene import ROOMS, check
from sojourn.testing import ManualClock
from support import BUILDS, Build


@dataclass(frozen=True)
class Partition:
    """A key that is hashed and compared in Python."""

    topic: str
    number: int


KEYS = ("k", 7, ("t", 0), Partition("t", 0))
OPERATIONS = 4
STEPS = 12
MOMENTS = ("try", "complete", "expiration", "cancellation")
LATE_MS = 100

Step = tuple[Any, ...]


class Part(NamedTuple):
    """What an operation is about: it waits until each key it needs has been signalled so often."""

    keys: tuple[Any, ...]
    needs: tuple[tuple[Any, int], ...]
    delay_ms: int
    reactions: dict[str, Step]
    fails: dict[str, int]
    """At which of its tries, or in which callback, it raises."""


class FailedError(Exception):
    """An operation fails, as its part says."""


class MismatchError(AssertionError):
    """The purgatory and the model tell different stories."""


def program(random: Random) -> tuple[list[Part], list[Step]]:
    parts = [part(random) for _ in range(OPERATIONS)]
    steps: list[Step] = [("watch", 0), *(step(random) for _ in range(STEPS))]
    if random.random() < 0.2:
        steps.append(("close", random.random() < 0.5))
    return parts, steps


def part(random: Random) -> Part:
    keys = random.choices(KEYS, k=random.choice((1, 1, 2, 3)))
    needs = tuple((key, random.randint(1, 2)) for key in set(keys[:2]))
    reactions = {random.choice(MOMENTS): step(random)} if random.random() < 0.3 else {}
    fails = {random.choice(MOMENTS): random.randint(1, 4)} if random.random() < 0.15 else {}
    return Part(tuple(keys), needs, random.randint(0, 8), reactions, fails)


def step(random: Random) -> Step:
    which, key = random.randrange(OPERATIONS), random.choice(KEYS)
    return random.choice(
        (
            ("watch", which),
            ("watch", which),
            ("signal", key),
            ("signal", key),
            ("check", key),
            ("force", which),
            ("cancel", which),
            ("cancel_key", key),
            ("extend", which, random.randint(0, 8)),
            ("advance", random.randint(0, 4)),
        )
    )


class Side:
    """Takes the steps of a program, and writes down what came of them."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.operations: list[Any] = [None] * len(parts)
        self.levels = dict.fromkeys(KEYS, 0)
        self.story: list[Any] = []
        self.errors: list[str] = []
        self.depth = 0

    def run(self, steps: list[Step]) -> None:
        for act in (*steps, ("advance", LATE_MS)):
            self.take(act)
            self.story.append((*self.counts(), *sorted(self.errors)))

    def take(self, act: Step) -> None:
        """One step, unless one leads to another without end."""
        if self.depth > 2 or (self.depth and act[0] == "advance"):
            return
        self.depth += 1
        try:
            self.story.append((*act, getattr(self, act[0])(*act[1:])))
        except FailedError as failure:
            self.story.append((*act, str(failure)))
            if self.depth > 1:
                raise
        finally:
            self.depth -= 1

    def happens(self, operation: Any, moment: str) -> None:
        """An operation is tried or told: it may do something, and fail."""
        nth = operation.happened[moment] = operation.happened.get(moment, 0) + 1
        self.story.append((operation.name, moment))
        if nth <= 4 and moment in operation.part.reactions:
            self.take(operation.part.reactions[moment])
        if operation.part.fails.get(moment) == (nth if moment == "try" else 1):
            raise FailedError(f"{operation.name} at {moment}")

    def holds(self, operation: Any) -> bool:
        return all(self.levels[key] >= level for key, level in operation.part.needs)

    def failed(self, operation: Any, failure: BaseException) -> None:
        """Reported to the handler, sooner or later within the step."""
        self.errors.append(str(failure))

    # Steps that are the same on both sides

    def close(self, and_cancel: bool) -> list[int]:
        """Close, and end what is handed back by hand or not at all."""
        left = sorted(operation.name for operation in self.closed())
        for name in left if and_cancel else ():
            self.take(("cancel", name))
        return left

    def signal(self, key: Any) -> int:
        self.levels[key] += 1
        return self.check(key)

    def force(self, which: int) -> bool | None:
        operation = self.operations[which]
        return operation and operation.force_complete()

    def cancel(self, which: int) -> bool | None:
        operation = self.operations[which]
        return operation and operation.cancel()

    def extend(self, which: int, ms: int) -> bool | None:
        operation = self.operations[which]
        return operation and operation.extend(ms)


class Acting:
    def __init__(self, side: RealSide, name: int, part: Part) -> None:
        super().__init__(part.delay_ms)
        self.side, self.name, self.part = side, name, part
        self.happened: dict[str, int] = {}

    def try_complete(self) -> bool:
        self.side.happens(self, "try")
        return self.side.holds(self)

    def on_complete(self) -> None:
        self.side.happens(self, "complete")

    def on_expiration(self) -> None:
        self.side.happens(self, "expiration")

    def on_cancellation(self) -> None:
        self.side.happens(self, "cancellation")


ACTING = {build: type("Operation", (Acting, ROOMS[build].DelayedOperation), {}) for build in BUILDS}


class RealSide(Side):
    def __init__(self, build: Build, parts: list[Part]) -> None:
        super().__init__(parts)
        self.clock = ManualClock()
        timer = build.SystemTimer("simulation", wheel_size=3, clock=self.clock).start()
        self.purgatory = ROOMS[build].Purgatory("simulation", timer=timer, shards=2, on_error=self.failed)
        self._operation_type = ACTING[build]

    def watch(self, which: int) -> Any:
        if self.operations[which] is not None:
            return None
        part = self.parts[which]
        operation = self.operations[which] = self._operation_type(self, which, part)
        try:
            return self.purgatory.try_complete_else_watch(operation, part.keys)
        except FailedError:
            if operation.outcome is None:
                self.operations[which] = None
            raise

    def check(self, key: Any) -> int:
        return self.purgatory.check_and_complete(key)

    def cancel_key(self, key: Any) -> list[int]:
        return [operation.name for operation in self.purgatory.cancel_for_key(key)]

    def advance(self, ms: int) -> int:
        return self.clock.advance(ms)

    def closed(self) -> list[Any]:
        self.watch = lambda which: None  # type: ignore[method-assign, assignment]
        return self.purgatory.close()

    def counts(self) -> tuple[int, ...]:
        return self.purgatory.stats()[:5]


class ModelOperation:
    def __init__(self, side: ModelSide, name: int, part: Part) -> None:
        self.side, self.name, self.part = side, name, part
        self.happened: dict[str, int] = {}
        self.outcome: str | None = None
        self.is_tried = self.again = self.has_won = False
        self.due_ms, self.armed = 0, -1
        """When it is due, and the how manieth it was to be armed; -1 while it is not."""

    def force_complete(self) -> bool:
        return self.settle("completed")

    def cancel(self) -> bool:
        return self.settle("cancelled")

    def extend(self, ms: int) -> bool:
        if self.outcome is not None or self.armed < 0:
            return False
        self.arm(ms)
        return True

    def arm(self, ms: int) -> None:
        self.due_ms, self.armed = self.side.now_ms + ms, next(self.side.order)

    def settle(self, outcome: str) -> bool:
        if self.outcome is not None:
            return False
        self.outcome, self.has_won = outcome, self.is_tried
        self.side.leave(self)
        if outcome == "cancelled":
            self.side.happens(self, "cancellation")
            return True
        try:
            self.side.happens(self, "complete")
        finally:
            if outcome == "expired":
                self.side.happens(self, "expiration")
        return True

    def attempt(self, tries: int) -> bool:
        """Tried so often at most: what leaves word during the last of them leaves it for later."""
        if self.outcome is not None or self.is_tried:
            self.again = True
            return False
        self.is_tried = self.again = True
        failure = None
        for _ in range(tries):
            if not self.again or self.outcome is not None:
                break
            if failure is not None:
                self.side.failed(self, failure)
            self.again, failure = False, None
            try:
                self.side.happens(self, "try")
                if self.side.holds(self):
                    self.settle("completed")
            except FailedError as raised:
                failure = raised
        self.is_tried = False
        if failure is not None:
            raise failure
        return self.has_completed_itself()

    def has_completed_itself(self) -> bool:
        return self.has_won and self.outcome == "completed"


class ModelSide(Side):
    """What a purgatory should do, as plainly as can be: `pending` maps the operations that wait to what they watch."""

    def __init__(self, parts: list[Part]) -> None:
        super().__init__(parts)
        self.now_ms = 0
        self.order: Iterator[int] = itertools.count()
        self.pending: dict[ModelOperation, frozenset[Any]] = {}
        self.owed: dict[ModelOperation, tuple[int, int]] = {}
        self.ended = {"completed": 0, "expired": 0, "cancelled": 0}
        self.is_open = True

    def watch(self, which: int) -> Any:
        if self.operations[which] is not None or not self.is_open:
            return None
        operation = self.operations[which] = ModelOperation(self, which, self.parts[which])
        self.pending[operation] = frozenset()
        try:
            if operation.attempt(1) or operation.outcome is not None:
                return operation.has_completed_itself()
            del self.pending[operation]  # it comes last on the lists
            self.pending[operation] = frozenset(operation.part.keys)
            if operation.attempt(1) or operation.outcome is not None:
                return operation.has_completed_itself()
            operation.arm(operation.part.delay_ms)
            if operation.again and operation.attempt(1):
                return True
        except FailedError:
            if operation.outcome is None:
                del self.pending[operation]
                self.operations[which] = None
            raise
        self.leave_to_timer(operation)
        return False

    def check(self, key: Any) -> int:
        count = 0
        for operation in self.watching(key):
            try:
                count += operation.attempt(2)
            except FailedError as failure:
                self.failed(operation, failure)
                count += operation.has_completed_itself()
            self.leave_to_timer(operation)
        return count

    def leave_to_timer(self, operation: ModelOperation) -> None:
        """A try that is owed: the timer makes it, unless a signal comes before."""
        is_free = operation in self.pending and not operation.is_tried
        if operation.again and is_free and operation not in self.owed:
            self.owed[operation] = self.now_ms, next(self.order)

    def try_owed(self, operation: ModelOperation, nth: int) -> bool:
        del self.owed[operation]
        if operation.again and operation in self.pending:
            try:
                operation.attempt(2)
            except FailedError as failure:
                self.failed(operation, failure)
            self.leave_to_timer(operation)
        return True

    def cancel_key(self, key: Any) -> list[int]:
        ended = []
        for operation in self.watching(key):
            try:
                has_won = operation.cancel()
            except FailedError as failure:
                self.failed(operation, failure)
                has_won = True
            ended += [operation.name] * has_won
        return ended

    def watching(self, key: Any) -> list[ModelOperation]:
        return [operation for operation, keys in self.pending.items() if key in keys]

    def advance(self, ms: int) -> int:
        target_ms, ran = self.now_ms + ms, 0
        while armed := [one for one in self.tasks() if one[0] <= target_ms]:
            self.now_ms = max(self.now_ms, min(armed)[0])
            ran += sum(run(one, nth) for due_ms, nth, one, run in sorted(armed) if due_ms <= self.now_ms)
        self.now_ms = target_ms
        return ran

    def tasks(self) -> list[tuple[int, int, ModelOperation, Callable[[ModelOperation, int], bool]]]:
        """What the timer has to do: when, in what order among equals, to whom, and what."""
        deadlines = [(one.due_ms, one.armed, one, self.expire) for one in self.pending if one.armed >= 0]
        return deadlines + [(due_ms, nth, one, self.try_owed) for one, (due_ms, nth) in self.owed.items()]

    def expire(self, operation: ModelOperation, armed: int) -> bool:
        if operation.outcome is not None or operation.armed != armed:
            return False
        try:
            operation.settle("expired")
        except FailedError as failure:
            self.failed(operation, failure)
        return True

    def closed(self) -> list[Any]:
        self.is_open = False
        left = list(self.pending)
        self.pending.clear()
        for operation in left:
            operation.armed = -1
        return left

    def leave(self, operation: ModelOperation) -> None:
        if self.pending.pop(operation, None) is not None:
            self.ended[operation.outcome or ""] += 1

    def counts(self) -> tuple[int, ...]:
        return sum(map(len, self.pending.values())), len(self.pending), *self.ended.values()


def simulate(seed: int) -> None:
    """One program on one build: the pure one for even seeds, the compiled one for odd ones."""
    parts, steps = program(Random(seed))
    build = BUILDS[seed % 2]
    real, model = RealSide(build, parts), ModelSide(parts)
    real.run(steps)
    model.run(steps)
    if real.story != model.story:
        raise MismatchError(explain(seed, build, parts, steps, real.story, model.story))
    check(real.purgatory)


def explain(seed: int, build: Build, parts: list[Part], steps: list[Step], real: list[Any], model: list[Any]) -> str:
    nth = next(i for i, pair in enumerate(itertools.zip_longest(real, model)) if pair[0] != pair[1])
    lines = [f"seed {seed}, {build.name}", *map(repr, enumerate(parts)), *map(repr, steps), "so far:"]
    lines += map(repr, model[max(0, nth - 12) : nth])
    lines += [f"the purgatory: {real[nth : nth + 1]}", f"the model:     {model[nth : nth + 1]}"]
    return "\n".join(lines)
