"""What a caller waits at until it is answered, in plain Python. `_core.pyx` is the same, in C."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterable


class Gate:
    """Closed, until it is opened, once; for one who waits."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()

    def wait(self) -> None:
        """Sleep until it is open; Ctrl-C ends that."""
        self._lock.acquire()


def open_all(gates: Iterable[Gate]) -> None:
    """Wake everybody."""
    for gate in gates:
        gate._lock.release()
