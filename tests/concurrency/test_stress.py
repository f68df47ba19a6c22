"""Threads at full speed with the real reaper: nothing lost, twice or early, and no memory kept. `make stress`."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support import COMPILED, Build

pytestmark = pytest.mark.stress

SECONDS = 10
THREADS = 8
HOUR_MS = 3_600_000
GUARD_S = 120


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(interval / 100)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("STRESS_SEED", "0")) or random.randrange(2**32)
    print(f"STRESS_SEED={seed}")
    return seed


def in_threads(body: Callable[[random.Random], None], seed: int, threads: int = THREADS) -> None:
    """Run the body in each of several threads; what one of them raises fails the test."""
    with ThreadPoolExecutor(threads) as executor:
        for future in [executor.submit(body, random.Random(seed + i)) for i in range(threads)]:
            future.result()


def repeatedly(action: Callable[[random.Random], None], seconds: float = SECONDS) -> Callable[[random.Random], None]:
    def body(rng: random.Random) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            action(rng)

    return body


def check_books(timer: Any) -> None:
    stats = timer.stats()
    assert stats.scheduled == stats.cancelled + stats.expired + stats.undone
    assert stats.pending == timer.size == 0
    timer._check()


class Ledger:
    """One line a task or batch: how many it holds, how many ran, how many runs were prevented."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.shared: deque[tuple[Any, Line]] = deque(maxlen=50_000)
        self.errors: list[BaseException] = []

    def open(self, tasks: int) -> Line:
        line = Line(tasks)
        self.lines.append(line)
        return line

    def check(self, left: list[Any], errors: list[BaseException]) -> None:
        assert not errors, errors[:3]
        balance = [line.tasks - line.ran - sum(line.prevented) for line in self.lines]
        assert min(balance) >= 0, "some task ran or was cancelled twice"
        assert sum(balance) == len(left), "some task was lost"


class Line:
    __slots__ = ("prevented", "ran", "tasks")

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self.ran = 0
        self.prevented: list[int] = []  # appended to by several threads; `ran` has one writer, the reaper

    def run(self) -> None:
        self.ran += 1


def test_eight_threads_schedule_cancel_and_extend_while_the_reaper_runs(build: Build, seed: int) -> None:
    ledger, errors = Ledger(), []
    timer = build.SystemTimer("stressed", wheel_size=8, on_error=lambda task, error: errors.append(error)).start()
    books = {"cancelled": [], "extended": []}

    def schedule(rng: random.Random) -> None:
        line = ledger.open(1)
        ledger.shared.append((timer.schedule(rng.choice((0, 1, 2, 5, 30, 300, HOUR_MS)), line.run), line))

    def schedule_many(rng: random.Random) -> None:
        line = ledger.open(rng.randrange(1, 200))
        batch = timer.schedule_many([rng.randrange(50) for _ in range(line.tasks)], line.run)
        ledger.shared.append((batch, line))
        ledger.shared.append((rng.choice(batch), line))

    def cancel(rng: random.Random) -> None:
        thing, line = ledger.shared.pop()
        if prevented := int(thing.cancel()):
            line.prevented.append(prevented)
            books["cancelled"].append(prevented)

    def extend(rng: random.Random) -> None:
        thing, line = ledger.shared.popleft()
        if hasattr(thing, "extend") and thing.extend(rng.choice((0, 1, 40, HOUR_MS))):
            books["extended"].append(1)
        ledger.shared.append((thing, line))

    def act(rng: random.Random) -> None:
        action = rng.choices((schedule, schedule_many, cancel, extend), (6, 1, 6, 4))[0]
        try:
            action(rng)
        except IndexError:  # nothing to share right now
            schedule(rng)

    in_threads(repeatedly(act), seed)
    left = timer.close()
    ledger.check(left, errors)
    check_books(timer)
    stats = timer.stats()
    assert stats.scheduled == sum(line.tasks for line in ledger.lines)
    assert stats.expired == sum(line.ran for line in ledger.lines) > 0
    assert stats.cancelled == sum(books["cancelled"]) > 0
    assert stats.extended == sum(books["extended"]) > 0


def test_tasks_that_wander_between_two_running_timers_run_once_each_time_they_are_armed(
    build: Build, seed: int
) -> None:
    errors: list[BaseException] = []
    timers = [build.SystemTimer(name, on_error=lambda task, error: errors.append(error)).start() for name in "ab"]
    prevented: list[int] = []

    class Wanderer(build.TimerTask):
        ran = 0

        def run(self) -> None:
            runs.append(1)

    runs: list[int] = []
    tasks = [Wanderer(i % 5) for i in range(16)]

    def act(rng: random.Random) -> None:
        task = rng.choice(tasks)
        match rng.randrange(4):
            case 0:
                prevented.append(task.cancel())
            case 1:
                task.extend(rng.randrange(3))
            case _:
                rng.choice(timers).add(task)

    in_threads(repeatedly(act, SECONDS / 2), seed)
    left = [task for timer in timers for task in timer.close()]
    assert not errors, errors[:3]
    stats = [timer.stats() for timer in timers]
    for timer in timers:
        check_books(timer)
    assert sum(one.expired for one in stats) == len(runs) > 0
    assert sum(one.cancelled for one in stats) >= sum(prevented) > 0
    assert len(left) == len({id(task) for task in left}) == sum(one.undone for one in stats)


def test_no_task_runs_early_by_the_machine_s_own_clock(build: Build, seed: int) -> None:
    early: list[int] = []
    done = threading.Semaphore(0)

    def run(not_before_ns: int) -> None:
        early.append(not_before_ns - time.monotonic_ns())
        done.release()

    with build.SystemTimer("punctual", wheel_size=64) as timer:

        def schedule(rng: random.Random) -> None:
            for _ in range(2_000):
                delay_ms = rng.randrange(250)
                timer.schedule(delay_ms, run, time.monotonic_ns() + delay_ms * 1_000_000)

        in_threads(schedule, seed)
        assert all(done.acquire(timeout=GUARD_S) for _ in range(2_000 * THREADS))
    assert max(early) <= 0
    check_books(timer)


def test_a_million_tasks_due_at_once_each_run_once_and_others_get_their_turn_meanwhile(build: Build) -> None:
    count = 1_000_000
    ran = bytearray(count)
    is_done = threading.Event()

    def run(i: int) -> None:
        ran[i] += 1

    with build.SystemTimer("herd", wheel_size=512) as timer:
        timer.schedule_many([50] * (count - 100_000), run, each=range(count - 100_000))
        for i in range(count - 100_000, count):
            timer.schedule(50, run, i)
        timer.schedule(60_000, is_done.set).extend(51)
        turns = 0
        while not is_done.is_set():
            is_draining = 0 < timer.stats().expired < count
            assert timer.schedule(HOUR_MS, print).cancel()
            turns += is_draining and not is_done.is_set()
    assert ran == b"\1" * count
    assert turns > 0
    check_books(timer)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("bulk", [False, True], ids=["one at a time", "in bulk"])
def test_rounds_of_mass_scheduling_and_cancelling_keep_no_memory(build: Build, bulk: bool) -> None:
    count = 400_000 if build is COMPILED else 100_000
    timer = build.SystemTimer("mass", wheel_size=64)

    def one_round() -> None:
        if bulk:
            batch = timer.schedule_many([i % 5_000 for i in range(count)], print)
            assert batch.cancel() == count
        else:
            tasks = [timer.schedule(i % 5_000, print, i) for i in range(count)]
            random.Random(1).shuffle(tasks)
            assert sum(task.cancel() for task in tasks) == count

    sizes = []
    for _ in range(10):
        one_round()
        gc.collect()
        sizes.append(resident_bytes())
    assert sizes[-1] <= min(sizes[1:4]) * 1.05, f"it grows: {sizes}"
    timer.close()
    check_books(timer)


def test_finalisers_that_cancel_in_the_middle_of_anything_do_no_harm(build: Build, seed: int) -> None:
    ledger, errors = Ledger(), []
    timer = build.SystemTimer("littered", wheel_size=8, on_error=lambda task, error: errors.append(error)).start()

    class Litter:
        """A cycle, so that only the collector can find it, wherever it happens to run."""

        def __init__(self, delay_ms: int) -> None:
            self.line = ledger.open(1)
            self.task = timer.schedule(delay_ms, self.line.run)
            self.itself = self

        def __del__(self) -> None:
            self.line.prevented.append(int(self.task.cancel()))

    def act(rng: random.Random) -> None:
        Litter(rng.choice((0, 1, 3, 50, HOUR_MS)))
        line = ledger.open(4)
        batch = timer.schedule_many([0, 1, 9, 30], line.run)
        batch[rng.randrange(4)].extend(2)
        if rng.random() < 0.5:
            line.prevented.append(batch.cancel())

    thresholds = gc.get_threshold()
    gc.set_threshold(7, 3, 3)
    try:
        in_threads(repeatedly(act), seed, threads=4)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    left = timer.close()
    ledger.check(left, errors)
    check_books(timer)
    assert timer.stats().cancelled == sum(sum(line.prevented) for line in ledger.lines) > 0


def test_timers_that_start_and_close_all_the_time_hand_back_what_did_not_run(build: Build, seed: int) -> None:
    def live_and_die(rng: random.Random) -> None:
        ran: list[int] = []
        timer = build.SystemTimer("mayfly").start()
        tasks = [timer.schedule(rng.randrange(3), ran.append, i) for i in range(20)]
        if rng.random() < 0.5:
            timer.advance_clock(rng.randrange(2))
        left = timer.close(run_pending=rng.random() < 0.5)
        assert sorted([*ran, *(tasks.index(task) for task in left)]) == list(range(20))
        check_books(timer)

    in_threads(repeatedly(live_and_die, SECONDS / 2), seed)
    assert not [thread for thread in threading.enumerate() if "mayfly" in thread.name]


def test_a_pool_of_workers_runs_every_task_once(build: Build, seed: int) -> None:
    ran: list[int] = []
    prevented: list[int] = []
    with (
        ThreadPoolExecutor(4) as executor,
        build.SystemTimer("pooled", executor=executor) as timer,
    ):

        def act(rng: random.Random) -> None:
            task = timer.schedule(rng.randrange(3), ran.append, 1)
            timer.schedule_many([0, 1, 2], ran.append, 1)
            if rng.random() < 0.3:
                prevented.append(task.cancel())

        in_threads(repeatedly(act, SECONDS / 4), seed)
        left = timer.close()
    assert timer.stats().scheduled == len(ran) + sum(prevented) + len(left)
    check_books(timer)
