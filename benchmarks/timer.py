"""The timer workload: which peers, sizes and rounds, and each part of it in a child process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .child import UnavailableError, python_child, run_child
from .peers import SPECS, Spec
from .peers.kafka import kafka_child
from .results import Results, Row
from .timer_ops import NewPeer, expire, memory, speed, warm_up
from .timer_real_clock import real_clock

MEMORY_N = 1_000_000
"""Memory is taken once, with so many timers, whatever sizes are asked for: Python's arenas are coarse, 1 MiB each."""


@dataclass(frozen=True)
class Part:
    """A share of the operations that runs in one child."""

    work: Callable[[NewPeer, int], list[Row]]
    max_rounds: int
    only_n: int | None = None

    def sizes(self, asked: Sequence[int]) -> list[int]:
        """The sizes at which this part is measured."""
        return sorted(asked) if self.only_n is None else [self.only_n]

    def rounds(self, asked: int, n: int) -> int:
        """Fewer where a round is long or its figure steady."""
        return min(self.max_rounds, asked if n < 1_000_000 else max(1, asked // 2))


PARTS = {
    "speed": Part(speed, 100),
    "expire": Part(expire, 100),
    "memory": Part(memory, 2, MEMORY_N),
    "real_clock": Part(real_clock, 3),
}


@dataclass(frozen=True)
class Step:
    """One child: this part of the workload for one peer at one size."""

    part: str
    round: int
    spec: Spec
    n: int

    def run(self) -> tuple[str, list[Row]]:
        """The peer's version and its rows."""
        if self.spec.name == "kafka":
            command = kafka_child(self.part, self.n)
        else:
            command = python_child("_child", "--peer", self.spec.name, "--part", self.part, "--n", str(self.n))
        answer = run_child(command, self.spec.env)
        label = {"workload": "timer", "peer": self.spec.name, "n": self.n}
        return answer["version"], [{**label, "op": None, "ns": None, "bytes": None, **row} for row in answer["rows"]]


def steps(sizes: Sequence[int], peers: Sequence[str], rounds: int, parts: Sequence[str]) -> Iterator[Step]:
    """Everything to do: by part, size and round, and in each round every peer, so that a slow minute of the machine
    strikes them all. A peer that is hopeless beyond some size is measured there, once."""
    specs = [SPECS[name] for name in peers]
    for part in parts:
        given: dict[str, set[int]] = {name: set() for name in peers}
        for n in PARTS[part].sizes(sizes):
            fresh = [spec for spec in specs if spec.size(n) not in given[spec.name]]
            for round_ in range(PARTS[part].rounds(rounds, n)):
                yield from (Step(part, round_, spec, spec.size(n)) for spec in fresh)
            for spec in fresh:
                given[spec.name].add(spec.size(n))


def run(sizes: Sequence[int], peers: Sequence[str], rounds: int, parts: Sequence[str]) -> Results:
    """Measure. A peer that cannot run here, or fails, is left out from then on with one line on stderr, and noted."""
    results = Results()
    absent = results.facts["absent"]
    for step in steps(sizes, peers, rounds, parts):
        name = step.spec.name
        if name in absent:
            continue
        start = time.monotonic()
        try:
            version, rows = step.run()
        except (UnavailableError, RuntimeError) as reason:
            absent[name] = f"{'skipped' if isinstance(reason, UnavailableError) else 'FAILED'}: {reason}"
            print(f"{name} {absent[name]}", file=sys.stderr)
            continue
        results.facts["versions"][name] = version
        for row in rows:
            results.merge(row)
        took = f"{time.monotonic() - start:.1f} s"
        print(f"n={step.n:,} {step.part} round {step.round + 1}: {name}, {took}", file=sys.stderr, flush=True)
    return results


def child(peer: str, part: str, n: int) -> dict[str, object]:
    """What a child prints: the rows of one part, or why the peer cannot run."""
    try:
        new = SPECS[peer].load()
        warm_up(new)
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    return {"version": new.version(), "rows": PARTS[part].work(new, n)}
