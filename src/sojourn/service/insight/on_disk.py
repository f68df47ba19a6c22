"""How many of the waits that are only in the index on the disk are due when: counted in a thread, now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from ...durable.state.horizon import NOTHING
from ...errors import StorageError

if TYPE_CHECKING:
    from ...durable.index.index import Index, Mark
    from ...durable.state.state import State

AGAIN_S = 10.0


class OnDisk:
    """The index changes only when it is brought forward: then it is counted again, if somebody asks."""

    def __init__(self) -> None:
        self._minutes: Mapping[int, int] = NOTHING
        self._mark: Mark | None = None
        self._counted_at = -AGAIN_S
        self._counting: asyncio.Task[None] | None = None

    def minutes(self, state: State) -> Mapping[int, int]:
        """As far as it has been counted. O(1): whoever asks does not wait."""
        index = None if state.cold is None else state.cold.index
        if index is None or index.mark is None or state.pending == len(state.waits):
            return NOTHING
        is_counting = self._counting is not None and not self._counting.done()
        if index.mark != self._mark and not is_counting and monotonic() - self._counted_at > AGAIN_S:
            self._counting = asyncio.create_task(self._count(index, index.mark))
        return self._minutes

    async def _count(self, index: Index, mark: Mark) -> None:
        try:
            self._minutes = await asyncio.get_running_loop().run_in_executor(None, lambda: dict(index.minutes()))
            self._mark = mark
        except StorageError:  # it is made anew from the log: the next who asks has it counted
            self._mark = None
        self._counted_at = monotonic()

    async def stop(self) -> None:
        if self._counting is not None:
            await asyncio.wait([self._counting])
