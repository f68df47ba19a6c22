"""What every peer of the durable workload can do: waits that are on the disk when a call returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

RULE, KIND = "shipped", "paid"
WITHIN_MS = 10 * 86_400_000


class Store(Protocol):
    """One peer, in a folder."""

    def wait(self, key: str) -> None:
        """Open one wait; from any thread."""

    def wait_many(self, keys: Sequence[str]) -> None: ...

    def signal_many(self, keys: Sequence[str]) -> int:
        """Complete the waits on these keys, and keep their outcomes; how many there were."""

    def cancel_all(self) -> int:
        """Cancel all waits of the rule; how many there were."""

    def pending(self) -> int: ...

    def close(self) -> None: ...


@runtime_checkable
class HasLog(Protocol):
    """Ours."""

    def records(self, *names: str) -> int:
        """How many records of these types its log has."""

    def settle(self) -> None:
        """Return once its upkeep has caught up."""


class Peer(Protocol):
    """How to open one."""

    def version(self) -> str:
        """Raises UnavailableError if it cannot run here."""

    def open(self, folder: Path, **options: int) -> Store:
        """Open a folder, new or not: with all that is pending there at hand. `options` are for ours."""

    def abandon(self, store: Store) -> None:
        """Let go as if the process had died: what is on the disk is all there is."""
