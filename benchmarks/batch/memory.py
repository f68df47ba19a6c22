"""The most memory that a process and all that it started held while something ran."""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType

EVERY_S = 0.05
_SHARE = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


class PeakMemory:
    """Looks every twentieth of a second. Memory that processes share counts once: Spark's workers are forks."""

    def __init__(self) -> None:
        self.peak = 0
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
            self.peak = max(self.peak, sum(map(_held, _family(os.getpid()))))
            if self._over.wait(EVERY_S):
                return


def _family(root: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry)].append(int(entry.name))
    family = [root]
    for process in family:
        family += children[process]
    return family


def _parent(process: Path) -> int:
    """0 if it has gone meanwhile."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _held(process: int) -> int:
    try:
        found = _SHARE.search(Path(f"/proc/{process}/smaps_rollup").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
