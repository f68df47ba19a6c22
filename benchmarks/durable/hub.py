"""Ours: a hub with a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sojourn as sj
from sojourn.durable import DurableHub
from sojourn.durable.folder.inspection import inspect

from .store import KIND, RULE, WITHIN_MS, Store


class HubStore:
    def __init__(self, folder: Path, **options: Any) -> None:
        hub = sj.Hub("benchmark", data=folder, **options)
        assert isinstance(hub, DurableHub)
        self.hub, self._folder = hub, folder
        hub.register(sj.Rule(RULE, opens="order", until=KIND, within=WITHIN_MS))

    def wait(self, key: str) -> None:
        self.hub.wait(key, rule=RULE)

    def wait_many(self, keys: Sequence[str]) -> None:
        self.hub.wait_many(keys, rule=RULE)

    def signal_many(self, keys: Sequence[str]) -> int:
        return self.hub.signal_many([(key, KIND) for key in keys])

    def cancel_all(self) -> int:
        return self.hub.cancel_where(rule=RULE)

    def settle(self) -> None:
        engine = self.hub._engine
        while engine._upkeep.is_working or engine._cold.is_full or engine._cold._leaving:
            engine._upkeep.join()
            self.hub.signal("nobody", KIND)

    def records(self, *names: str) -> int:
        counts = inspect(self._folder).records
        return sum(counts.get(name, 0) for name in names)

    def pending(self) -> int:
        return self.hub.pending

    def close(self) -> None:
        self.hub.close()


class Hub:
    def version(self) -> str:
        return sj.__version__

    def open(self, folder: Path, **options: Any) -> Store:
        return HubStore(folder, **options)

    def abandon(self, store: Store) -> None:
        """The end of this process does it: the lock goes with it, and nothing else is said."""
