"""How one figure is taken: a timed section, the process's memory, quantiles. The same for every peer and workload."""

from __future__ import annotations

import ctypes
import gc
import re
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elapsed:
    """What a section took: wall time, and CPU time of the whole process (all threads)."""

    wall_ns: int
    cpu_ns: int


def timed(section: Callable[[], object]) -> Elapsed:
    """Run `section` once, from a collected heap, with the garbage collector left on."""
    gc.collect()
    cpu = time.process_time_ns()
    wall = time.perf_counter_ns()
    section()
    return Elapsed(time.perf_counter_ns() - wall, time.process_time_ns() - cpu)


class Best:
    """The least value seen under each name: noise only ever adds."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def see(self, name: str, value: float) -> None:
        """Keep `value` if it is the least so far under `name`."""
        self.values[name] = min(value, self.values.get(name, value))


class Figures:
    """The least wall time and the least CPU time of each operation, as rows."""

    def __init__(self) -> None:
        self._best: dict[str, Best] = {}

    def see(self, op: str, n: int, *sections: Elapsed) -> None:
        """Take in n of the operation, which took these sections together."""
        best = self._best.setdefault(op, Best())
        best.see("ns", sum(section.wall_ns for section in sections) / n)
        best.see("cpu_ns", sum(section.cpu_ns for section in sections) / n)

    def rows(self) -> list[dict[str, Any]]:
        """One for each operation, in the order they were first seen."""
        return [{"op": op, **best.values} for op, best in self._best.items()]


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
_ANONYMOUS = re.compile(rb"^Anonymous:\s+(\d+) kB", re.MULTILINE)


def resident_bytes() -> int:
    """Anonymous memory of this process, after giving back what the allocators can give back.

    Anonymous pages only, so code that is paged in meanwhile does not count; and from `smaps_rollup`, which walks the
    page tables, because the counters in `statm` are allowed to be some hundred kilobytes off. Linux only.
    """
    gc.collect()
    _malloc_trim(0)
    with open("/proc/self/smaps_rollup", "rb") as rollup:
        found = _ANONYMOUS.search(rollup.read())
    if found is None:
        raise OSError("/proc/self/smaps_rollup has no 'Anonymous' line; memory is measured on Linux 4.14 or later only")
    return int(found[1]) * 1024


class MemoryReadings:
    """Readings of `resident_bytes`, kept without allocating: one small object that outlives the timers among which it
    was made would hold their whole arena (1 MiB), and that would look like memory the timer still holds."""

    def __init__(self, places: int = 8) -> None:
        self._readings = array("q", [0] * places)
        self._taken = 0
        resident_bytes()  # whatever the first reading leaves behind is there before the baseline

    def take(self) -> None:
        """Take the next reading; the first is the baseline."""
        self._readings[self._taken] = resident_bytes()
        self._taken += 1

    def since_first(self) -> list[int]:
        """Bytes above the baseline, for each later reading."""
        return [reading - self._readings[0] for reading in self._readings[1 : self._taken]]


def quantile(ordered: Sequence[float], q: float) -> float:
    """The value at rank `q` (0 to 1) of an ascending sequence, no interpolation."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]
