"""The open-loop load, after Kafka's TestPurgatoryPerformance: requests arrive at a fixed rate, come what may.

Arrivals are a Poisson process; a request completes after a log-normal time, or expires after TIMEOUT_MS if that is
sooner. All of it is drawn beforehand, in whole milliseconds, and played by one thread: in every millisecond those that
arrive are watched, then those whose time has come are completed with `force_complete`. The purgatory's reaper expires
the rest. How late something is counts from the plan, so that a player who lags behind does not hide it.
"""

from __future__ import annotations

import gc
import math
import random
import time
from array import array
from dataclasses import dataclass

from sojourn.purgatory import DelayedOperation, Purgatory

from .measure import MemoryReadings, quantile
from .results import Row
from .timer_ops import SEED

SECONDS = 3.0
WARM_UP_SECONDS = 0.5
TIMEOUT_MS = 200
P50_MS, P75_MS = 20.0, 60.0
"""Of the time to complete: about one in twelve expires."""
KEYS, KEY_SPACE = 3, 100
NS_PER_MS = 1_000_000
UPPER_QUARTILE = 0.674490
"""Of the standard normal distribution."""


@dataclass(frozen=True)
class Plan:
    """What happens when, by the request's number."""

    n: int
    arrives_ms: list[int]
    completes_ms: list[int]
    """Before its timeout or, for one that is to expire, any time after."""
    keys: list[tuple[str, ...]]
    arriving: list[list[int]]
    """For each millisecond."""
    completing: list[list[int]]

    def expires(self, i: int) -> bool:
        """Whether request i runs into its timeout."""
        return self.completes_ms[i] - self.arrives_ms[i] >= TIMEOUT_MS


def make_plan(rate: int, seconds: float) -> Plan:
    """Always the same for a rate and a length."""
    draw, n = random.Random(SEED), int(rate * seconds)
    mu, sigma = math.log(P50_MS), math.log(P75_MS / P50_MS) / UPPER_QUARTILE
    space = [f"key-{i}" for i in range(KEY_SPACE)]
    at, arrives, completes = 0.0, [], []
    for _ in range(n):
        at += draw.expovariate(rate / 1000)
        arrives.append(int(at))
        completes.append(int(at) + int(draw.lognormvariate(mu, sigma)))
    arriving: list[list[int]] = [[] for _ in range(arrives[-1] + TIMEOUT_MS + 1)]
    completing: list[list[int]] = [[] for _ in arriving]
    plan = Plan(n, arrives, completes, [tuple(draw.sample(space, KEYS)) for _ in range(n)], arriving, completing)
    for i in range(n):
        arriving[arrives[i]].append(i)
        if not plan.expires(i):
            completing[completes[i]].append(i)
    return plan


class Play:
    """A plan, and what became of its requests."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ended_at = array("q", bytes(8 * plan.n))
        self.has_expired = bytearray(plan.n)
        self.pending: dict[int, Request] = {}
        """Those that are to be completed; the others only the purgatory holds."""
        self.start_ns = 0

    def run(self, purgatory: Purgatory, until_ms: int | None = None) -> None:
        """Do everything in its millisecond, to the end or until then."""
        clock, plan = time.monotonic_ns, self.plan
        self.start_ns = clock() + NS_PER_MS
        for at_ms in range(len(plan.arriving) if until_ms is None else until_ms):
            left_ns = self.start_ns + at_ms * NS_PER_MS - clock()
            if left_ns > 0:
                time.sleep(left_ns / 1e9)
            for i in plan.arriving[at_ms]:
                request = Request(self, i)
                if not plan.expires(i):
                    self.pending[i] = request
                purgatory.try_complete_else_watch(request, plan.keys[i])
            for i in plan.completing[at_ms]:
                self.pending.pop(i).force_complete()

    def late_ms(self, expired: bool) -> list[float]:
        """How long after the planned instant they were told, ascending: the expired, or the completed."""
        plan, late = self.plan, []
        for i, ended_at in enumerate(self.ended_at):
            if bool(self.has_expired[i]) == expired:
                due_ms = plan.arrives_ms[i] + TIMEOUT_MS if expired else plan.completes_ms[i]
                late.append((ended_at - self.start_ns) / NS_PER_MS - due_ms)
        return sorted(late)


class Request(DelayedOperation):
    """Completes when its time has come, and writes down when it was told."""

    __slots__ = ("completes_at", "number", "play")

    def __init__(self, play: Play, number: int) -> None:
        super().__init__(TIMEOUT_MS)
        self.play = play
        self.number = number
        self.completes_at = play.start_ns + play.plan.completes_ms[number] * NS_PER_MS

    def try_complete(self) -> bool:
        """Look at the clock."""
        return time.monotonic_ns() >= self.completes_at

    def on_complete(self) -> None:
        """Completed or expired."""
        self.play.ended_at[self.number] = time.monotonic_ns()

    def on_expiration(self) -> None:
        """Expired."""
        self.play.has_expired[self.number] = True


def load(rate: int) -> list[Row]:
    """CPU a request and lateness in a first pass; memory, at the last arrival, in a second."""
    _play(make_plan(rate, WARM_UP_SECONDS))
    plan = make_plan(rate, SECONDS)
    play, cpu_ns = _play(plan)
    completed, expired = play.late_ms(False), play.late_ms(True)
    if len(completed) + len(expired) != plan.n or 0 in play.ended_at:
        raise AssertionError(f"of {plan.n} requests {len(completed)} completed and {len(expired)} expired")
    row: Row = {"op": "load", "cpu_ns": cpu_ns / plan.n, "bytes": _memory(plan), "expired": len(expired) / plan.n}
    for name, late in (("complete", completed), ("expire", expired)):
        quantiles = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        row |= {f"{name}_{label}_ms": quantile(late, q) for label, q in quantiles.items()}
        row[f"{name}_min_ms"] = late[0]
    return [row]


def _play(plan: Plan) -> tuple[Play, int]:
    """The play, and the CPU of all threads until the last has ended."""
    play = Play(plan)
    with Purgatory("benchmark") as purgatory:
        gc.collect()
        start = time.process_time_ns()
        play.run(purgatory)
        while purgatory.delayed:
            time.sleep(0.005)
        return play, time.process_time_ns() - start


def _memory(plan: Plan) -> int:
    """Growth of the process until the last arrival, while requests come and go."""
    play = Play(plan)
    with Purgatory("benchmark") as purgatory:
        readings = MemoryReadings()
        readings.take()
        play.run(purgatory, plan.arrives_ms[-1] + 1)
        readings.take()
        return readings.since_first()[0]
