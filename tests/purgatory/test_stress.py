"""Eight threads and a reaper at full speed: every operation ends once, whoever gets there, and nothing stays behind."""

from __future__ import annotations

import gc
import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, ROOMS, check
from sojourn.testing import ManualClock
from support import BUILDS, Build

pytestmark = pytest.mark.stress

THREADS = 8
OPERATIONS = 1_000_000
SEED = 20_240_101
LONGEST_MS = 20


@dataclass(frozen=True)
class Partition:
    """A key that is hashed and compared in Python."""

    number: int


KEYS = [*(f"topic-{i}" for i in range(60)), *range(60), *(("t", i) for i in range(60)), *map(Partition, range(12))]


class Racing:
    """Completes once a key of its own has been signalled since it was made."""

    def __init__(self, arena: Arena, delay_ms: int, keys: list[Any]) -> None:
        super().__init__(delay_ms)
        self.arena = arena
        self.seen = [(key, arena.levels[key]) for key in keys]
        self.is_told = False
        self.inside = 0

    def try_complete(self) -> bool:
        self.enter()
        held = any(self.arena.levels[key] != level for key, level in self.seen)
        self.inside -= 1
        return held

    def on_complete(self) -> None:
        self.tell()
        if self.outcome == "completed":
            next(self.arena.completed)

    def on_expiration(self) -> None:
        if not self.is_told or self.outcome != "expired":
            self.arena.broken.append("expiration before completion")
        next(self.arena.expired)

    def on_cancellation(self) -> None:
        self.tell()
        next(self.arena.cancelled)

    def tell(self) -> None:
        self.enter()
        if self.is_told:
            self.arena.broken.append("told twice")
        self.is_told = True
        self.inside -= 1

    def enter(self) -> None:
        self.inside += 1
        if self.inside != 1:
            self.arena.broken.append("two threads in an operation's code")


RACING = {build: type("Operation", (Racing, ROOMS[build].DelayedOperation), {}) for build in BUILDS}


class Arena:
    def __init__(self, build: Build, purgatory: Any) -> None:
        self.purgatory = purgatory
        self.levels = dict.fromkeys(KEYS, 0)
        self.completed, self.expired, self.cancelled = itertools.count(), itertools.count(), itertools.count()
        self.answers: Counter[str] = Counter()
        self.broken: list[object] = []
        self._operation_type = RACING[build]

    def fight(self, nth: int, operations: int) -> None:
        """What one thread does; everybody's operations are on everybody's keys."""
        random, recent, answers = Random(SEED + nth), deque[Any](maxlen=50), Counter[str]()
        for _ in range(operations):
            keys = random.choices(KEYS, k=random.choice((1, 1, 2, 3)))
            operation = self._operation_type(self, random.randrange(LONGEST_MS), keys)
            answers["completed"] += self.purgatory.try_complete_else_watch(operation, keys)
            recent.append(operation)
            self.act(random, random.choice(recent), random.choice(KEYS), answers)
        self.answers.update(answers)

    def act(self, random: Random, operation: Any, key: Any, answers: Counter[str]) -> None:
        chance = random.random()
        if chance < 0.5:
            self.levels[key] += 1
            answers["completed"] += self.purgatory.check_and_complete(key)
        elif chance < 0.7:
            answers["cancelled"] += operation.cancel()
        elif chance < 0.8:
            operation.extend(random.randrange(LONGEST_MS))
        elif chance < 0.85:
            answers["completed"] += operation.force_complete()
        elif chance < 0.86:
            answers["cancelled"] += len(self.purgatory.cancel_for_key(key))
        elif chance < 0.861:
            self.purgatory.stats()


def run(act: Callable[[int], object]) -> None:
    failures: list[BaseException] = []

    def guarded(nth: int) -> None:
        try:
            act(nth)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=[nth]) for nth in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def fought(build: Build, operations: int) -> None:
    errors: list[BaseException] = []
    purgatory = ROOMS[build].Purgatory("stress", on_error=lambda operation, error: errors.append(error))
    arena = Arena(build, purgatory)
    run(lambda nth: arena.fight(nth, operations // THREADS))
    settled = threading.Event()
    purgatory.timer.schedule(2 * LONGEST_MS, settled.set)
    assert settled.wait(PATIENCE_S)
    stats = purgatory.stats()
    assert (errors, arena.broken) == ([], [])
    assert stats[:2] == (0, 0)
    assert purgatory.timer.size == 0
    told = tuple(next(counter) for counter in (arena.completed, arena.expired, arena.cancelled))
    assert told == stats[2:5], "what was told is what was counted"
    assert sum(told) == operations, "every operation has one outcome"
    assert (arena.answers["completed"], arena.answers["cancelled"]) == (told[0], told[2]), "and one winner, who knows"
    assert min(told) > operations / 1_000, "every end had its share"
    check(purgatory)
    assert purgatory.close() == []


def test_a_million_operations_raced_by_eight_threads_end_once_each_and_leave_nothing_behind(build: Build) -> None:
    fought(build, OPERATIONS // 10)
    before = resident_bytes()
    fought(build, OPERATIONS)
    assert resident_bytes() <= before * 1.05


def test_eight_threads_that_signal_one_key_lose_no_signal(build: Build) -> None:
    """Each operation needs all of them: whoever comes last must complete it, or leave word with whoever is at it."""
    rounds = 20_000
    purgatory = ROOMS[build].Purgatory("one key", timer=build.SystemTimer("still", clock=ManualClock()))
    gate = threading.Barrier(THREADS, timeout=PATIENCE_S)
    arrived: list[int] = []
    lost: list[int] = []

    class Last(ROOMS[build].DelayedOperation):
        def try_complete(self) -> bool:
            return len(arrived) == THREADS

    def signal(nth: int) -> None:
        for round_ in range(rounds):
            if gate.wait() == 0:
                lost.extend([round_] * purgatory.delayed)
                arrived.clear()
                purgatory.cancel_for_key("k")
                purgatory.try_complete_else_watch(Last(10), ["k"])
            gate.wait()
            arrived.append(nth)
            purgatory.check_and_complete("k")

    run(signal)
    assert lost == []
    assert (purgatory.delayed, purgatory.stats().completed) == (0, rounds)


def test_a_million_operations_due_in_the_same_millisecond(build: Build) -> None:
    clock = ManualClock()
    purgatory = ROOMS[build].Purgatory("herd", timer=build.SystemTimer("herd", clock=clock).start())
    operation_type = ROOMS[build].DelayedOperation
    for number in range(OPERATIONS):
        purgatory.try_complete_else_watch(operation_type(5), [number])
    clock.advance(4)
    assert (purgatory.watched, purgatory.delayed) == (OPERATIONS, OPERATIONS)
    assert clock.advance(1) == OPERATIONS
    assert purgatory.stats() == (0, 0, 0, OPERATIONS, 0)
    assert purgatory.timer.size == 0
