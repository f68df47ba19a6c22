"""The most memory that a process and all that it started held while something ran."""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

EVERY_S = 0.05
_SHARE = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)
_PAGE = os.sysconf("SC_PAGE_SIZE")


def shared_once(process: int) -> int:
    """Bytes of a process, of shared memory its share only: Spark's workers are forks. Walks all of its pages."""
    try:
        share = _SHARE.search(Path(f"/proc/{process}/smaps_rollup").read_bytes())
    except OSError:
        return 0
    return int(share[1]) * 1024 if share else 0


def resident(process: int) -> int:
    """Bytes of a process, shared memory included: costs it nothing, so that it may be timed meanwhile."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


class PeakMemory:
    """Looks every twentieth of a second at this process, or at another, and at all that it started."""

    def __init__(self, root: int | None = None, held: Callable[[int], int] = shared_once) -> None:
        self.peak = 0
        self._held = held
        self._family = _Family(root or os.getpid())
        self._over = threading.Event()
        self._looks = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._looks.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._looks.join()

    def _look(self) -> None:
        while True:
            self.peak = max(self.peak, sum(map(self._held, self._family.members())))
            if self._over.wait(EVERY_S):
                return


class _Family:
    """A process and its descendants. Parents are asked for once: an orphan stays in the family."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._parents: dict[int, int] = {}

    def members(self) -> list[int]:
        running = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        self._parents = {process: self._parents.get(process) or _parent(process) for process in running}
        children: dict[int, list[int]] = defaultdict(list)
        for process, parent in self._parents.items():
            children[parent].append(process)
        family = [self._root]
        for process in family:
            family += children[process]
        return family


def _parent(process: int) -> int:
    """0 if it has gone meanwhile."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
