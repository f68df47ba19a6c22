"""Threads at full speed, and a million waits at once: one outcome and one callback each, and nothing is left."""

from __future__ import annotations

import gc
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hub.scene import ROOMS, check
from sojourn import all_of, any_of, seen
from sojourn.hub.hub import PLANS_KEPT
from sojourn.testing import ManualClock
from support import COMPILED, Build

pytestmark = pytest.mark.stress

THREADS = 8
WAITS = {"pure": 60_000, "compiled": 480_000}
KEYS = 512


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Worker:
    """Waits, signals, cancels, extends and asks at random, on keys that all workers share."""

    def __init__(self, hub: Any, seed: int, waits: int) -> None:
        self.hub, self.random, self.count = hub, random.Random(seed), waits
        self.made: list[Any] = []
        self.calls = [0] * waits
        self.claimed: Counter[str] = Counter()
        self.recent: list[Any] = []

    def run(self) -> None:
        for i in range(self.count):
            self.recent.append(self.wait(i))
            for _ in range(self.random.randrange(4)):
                self.act()
            del self.recent[:-16]

    def wait(self, i: int) -> Any:
        key: Any = self.random.randrange(KEYS)
        until = [
            lambda: "a",
            lambda: all_of("a", "b"),  # a condition of its own each time, and so a plan
            lambda: seen("a", 2, "source"),
            lambda: any_of("b", all_of("a", "c")),
        ][self.random.randrange(4)]()
        keys = key if self.random.randrange(3) else [key, (key, "second")]

        def called(wait: Any) -> None:
            self.calls[i] += 1

        wait = self.hub.wait(keys, until, self.random.randrange(0, 30), callback=called)
        self.made.append(wait)
        return wait

    def act(self) -> None:
        wait = self.random.choice(self.recent)
        match self.random.randrange(8):
            case 0:
                self.claimed["cancelled"] += self.hub.cancel(wait)
            case 1:
                self.hub.extend(wait, self.random.randrange(30))
            case 2:
                assert self.hub.explain(wait)
            case 3:
                self.hub.list(self.random.randrange(KEYS))
            case _:
                key: Any = self.random.randrange(KEYS)
                kind, source = self.random.choice("abc"), self.random.randrange(3)
                self.claimed["completed"] += self.hub.signal(key, kind, source)


def in_threads(jobs: list[Any]) -> None:
    with ThreadPoolExecutor(len(jobs)) as pool:
        for job in [pool.submit(job) for job in jobs]:
            job.result()


def work(build: Build, waits: int, errors: list[BaseException]) -> None:
    hub = ROOMS[build].Hub("stress", on_error=lambda wait, error: errors.append(error))
    workers = [Worker(hub, seed, waits // THREADS) for seed in range(THREADS)]
    in_threads([worker.run for worker in workers])
    made = [wait for worker in workers for wait in worker.made]
    outcomes = Counter(wait.result(60).outcome for wait in made)
    check(hub)
    assert hub.stats()[:4] == (0, outcomes["completed"], outcomes["expired"], outcomes["cancelled"])
    assert sum(outcomes.values()) == len(made) == waits
    hub.close()  # the reaper has called back by then
    assert Counter(n for worker in workers for n in worker.calls) == {1: waits}, "one callback each"
    claimed = sum((worker.claimed for worker in workers), Counter[str]())
    assert (claimed["completed"], claimed["cancelled"]) == (outcomes["completed"], outcomes["cancelled"])
    assert all(wait.opened_at <= wait.at <= wait.deadline for wait in made)
    assert (hub._waits.watched, hub.timer.size, len(hub._plans) <= PLANS_KEPT) == (0, 0, True)


def test_eight_threads_end_every_wait_once_and_leave_nothing(build: Build) -> None:
    errors: list[BaseException] = []
    work(build, THREADS * 100, errors)  # what is made once and kept, is made
    gc.collect()
    before = sys.getallocatedblocks()
    work(build, WAITS[build.name], errors)
    gc.collect()
    assert errors == []
    assert sys.getallocatedblocks() <= before * 1.05, "memory is back"


def test_eight_threads_that_wait_with_the_same_ids_share_the_waits(build: Build) -> None:
    hub = ROOMS[build].Hub("ids", remember="1 h")
    found: list[dict[int, Any]] = [{} for _ in range(THREADS)]
    rounds = WAITS[build.name] // 40

    def run(nth: int) -> None:
        for i in range(rounds):
            found[nth][i] = hub.wait(i, "a", "1 h", id=i)
            if i % THREADS == nth:
                hub.signal(i, "a")

    in_threads([lambda nth=nth: run(nth) for nth in range(THREADS)])
    assert all(found[nth][i] is found[0][i] for nth in range(THREADS) for i in range(rounds))
    assert hub.stats()[:4] == (0, rounds, 0, 0)
    hub.close()


def test_a_million_waits_due_in_the_same_millisecond_end_once_each() -> None:
    clock = ManualClock()
    hub = ROOMS[COMPILED].Hub(clock=clock)
    told: list[Any] = []
    waits = [hub.wait(i, "a", 1_000, callback=told.append) for i in range(1_000_000)]
    assert clock.advance(1_000) == 0
    assert [hub.signal(i, "a") for i in (0, 999_999)] == [1, 1]
    assert clock.advance(1) == 999_998
    assert len(told) == len(set(map(id, told))) == 1_000_000
    assert Counter(wait.outcome for wait in waits) == {"expired": 999_998, "completed": 2}
    assert {wait.at for wait in waits} == {1_000}
    check(hub)
    assert hub._waits.watched == hub.pending == 0
