"""A workload as the runner sees it: peers, parts, sizes and rounds, and each measurement in a child of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from .child import UnavailableError, python_child, run_child
from .peers.kafka import kafka_child
from .results import Results, Row

KAFKA = "kafka"


@dataclass(frozen=True)
class Spec:
    """A peer as the runner knows it, without importing it."""

    name: str
    target: str = ""
    """`module:class` below this package; empty for one that is not a Python class."""
    env: Mapping[str, str] = field(default_factory=dict)
    max_n: int | None = None
    """Beyond this many the peer is hopeless: it is measured here instead."""
    parts: tuple[str, ...] | None = None
    """The parts of the workload that it takes part in; None for all."""

    def size(self, n: int) -> int:
        """How many this peer is given when the others get `n`."""
        return n if self.max_n is None else min(n, self.max_n)

    def load(self) -> Any:
        """The class; importing it needs the peer's package and, for ours, the right environment."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), name)


def by_name(*specs: Spec) -> dict[str, Spec]:
    """The peers, in the order in which they take their turns."""
    return {spec.name: spec for spec in specs}


@dataclass(frozen=True)
class Part:
    """A share of the operations that runs in one child."""

    max_rounds: int
    only_n: tuple[int, ...] = ()
    """Measured at these sizes, whichever are asked for."""
    spares_slow: bool = True
    """A peer's `max_n` holds."""

    def sizes(self, asked: Sequence[int]) -> list[int]:
        """The sizes at which this part is measured."""
        return sorted(self.only_n or asked)

    def rounds(self, asked: int, n: int) -> int:
        """Fewer where a round is long or its figure steady."""
        return min(self.max_rounds, asked if n < 1_000_000 else max(1, asked // 2))

    def size(self, spec: Spec, n: int) -> int:
        """How many `spec` is given when the others get `n`."""
        return spec.size(n) if self.spares_slow else n


@dataclass(frozen=True)
class Workload:
    """What `python -m benchmarks NAME` measures."""

    name: str
    specs: Mapping[str, Spec]
    parts: Mapping[str, Part]
    work: Callable[[Spec, str, int], dict[str, Any]]
    """In a child: the `version` of the peer and the `rows` of one part, or why it is `skipped`."""
    check: Callable[[Sequence[str]], None] | None = None
    """Called with the names of the peers before anything is measured: raises SystemExit where they disagree."""


@dataclass(frozen=True)
class Step:
    """One child: this part of the workload for one peer at one size."""

    workload: str
    part: str
    round: int
    spec: Spec
    n: int

    def run(self) -> tuple[str, list[Row]]:
        """The peer's version and its rows."""
        name, what = self.spec.name, (self.workload, self.part, str(self.n))
        command = kafka_child(*what) if name == KAFKA else python_child("_child", name, *what)
        answer = run_child(command, self.spec.env)
        label = {"workload": self.workload, "peer": name, "n": self.n}
        return answer["version"], [{**label, "op": None, "ns": None, "bytes": None, **row} for row in answer["rows"]]


def steps(
    workload: Workload, sizes: Sequence[int], peers: Sequence[str], rounds: int, parts: Sequence[str]
) -> Iterator[Step]:
    """Everything to do: by part, size and round, and in each round every peer, so that a slow minute of the machine
    strikes them all. A peer that is hopeless beyond some size is measured there, once."""
    for name in parts:
        part = workload.parts[name]
        specs = [spec for spec in map(workload.specs.__getitem__, peers) if spec.parts is None or name in spec.parts]
        given: dict[str, set[int]] = {spec.name: set() for spec in specs}
        for n in part.sizes(sizes):
            fresh = [spec for spec in specs if part.size(spec, n) not in given[spec.name]]
            for round_ in range(part.rounds(rounds, n)):
                yield from (Step(workload.name, name, round_, spec, part.size(spec, n)) for spec in fresh)
            for spec in fresh:
                given[spec.name].add(part.size(spec, n))


def run(
    workload: Workload,
    sizes: Sequence[int],
    peers: Sequence[str],
    rounds: int,
    parts: Sequence[str],
    file: Path | None = None,
) -> Results:
    """Measure. A peer that cannot run here, or fails, is left out from then on with one line on stderr, and noted.

    A file has the results so far at any time: a run that is cut short has not been in vain.
    """
    if workload.check is not None:
        workload.check(peers)
    results = Results()
    absent = results.facts["absent"]
    for step in steps(workload, sizes, peers, rounds, parts):
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
        if file is not None:
            results.save(file)
        took = f"{time.monotonic() - start:.1f} s"
        print(f"n={step.n:,} {step.part} round {step.round + 1}: {name}, {took}", file=sys.stderr, flush=True)
    return results
