"""What every way of waiting offers to the workload."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

Told = Callable[[Any], object]
"""Called once for each wait that has ended, however it ended; what it is given differs."""


class Waits(ABC):
    """Waits by key, none to begin with. Its loops are what is timed: local names, one call a wait, nothing else."""

    in_ms: ClassVar[bool] = False
    """Deadlines are whole milliseconds; otherwise seconds."""

    def __init__(self, told: Told) -> None:
        self.told = told

    @staticmethod
    @abstractmethod
    def version() -> str:
        """Version of what is measured."""

    def withins(self, withins_ms: Sequence[int]) -> list[Any]:
        """The same deadlines in this way's unit, made beforehand."""
        return list(withins_ms) if self.in_ms else [within / 1000 for within in withins_ms]

    @abstractmethod
    def start(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """Wait on each key; returns when all are pending."""

    @abstractmethod
    def signal(self, keys: Sequence[str]) -> None:
        """Signal each key; returns when all have been told."""

    @abstractmethod
    def hold(self) -> None:
        """Before `start`: let nothing expire until `expire` is called."""

    @abstractmethod
    def expire(self) -> None:
        """With every deadline passed: returns when all have been told."""

    @abstractmethod
    def pending(self) -> int:
        """Waits that have not ended. O(1): it is asked inside the timed sections."""

    @abstractmethod
    def close(self) -> None:
        """Let everything go."""
