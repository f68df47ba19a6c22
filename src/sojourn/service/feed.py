"""Outcomes as they come, for many who follow: each is read and written as text once, however many follow."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from .api.shapes import json_bytes, outcome_shape

if TYPE_CHECKING:
    from ..durable.async_hub import AsyncDurableHub
    from ..durable.state.wait import Told

PIECE_MOST = 1_000
"""Outcomes in one piece of a stream: then others have their turn."""
PIECE_BYTES = 2**18
PIECES_KEPT = 64
"""For those who follow at the same pace, which are most."""


KEPT_MOST = 50_000
"""Outcomes kept of what was read from the log, for those who are far behind; so many reads, for so long."""
KEPT_READS, KEPT_S = 2, 60


class Piece(NamedTuple):
    """The next events of a stream, as text, and where it goes on."""

    text: bytes
    last: int


class Feed:
    """Wakes those who wait for outcomes, on one loop, all at once."""

    def __init__(self, hub: AsyncDurableHub, draining: asyncio.Event) -> None:
        self._hub = hub
        self._draining = draining
        self._told = hub._engine.outcomes
        self._news: asyncio.Future[None] | None = None
        self._pieces: dict[tuple[int, str | None], Piece] = {}
        self._kept: list[list[Told]] = []
        self._forgetting: asyncio.TimerHandle | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        if self._forgetting is not None:
            self._forgetting.cancel()
        self.wake()

    @property
    def last(self) -> int:
        """The number of the last outcome that was told."""
        return self._told.last

    async def _follow(self) -> None:
        """One waits for the hub, and wakes all others."""
        loop, known = asyncio.get_running_loop(), self._told.last
        while self._told._is_open:
            if await self._told.arrival(loop, known, None):
                known = self._told.last
            self.wake()

    def wake(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def arrival(self, after: int, timeout_s: float | None) -> bool:
        """Whether there is an outcome after that number, or comes within that time, or before the service stops."""
        if self.last > after or self._draining.is_set():
            return self.last > after
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._news], timeout=timeout_s)
        return self.last > after

    async def after(self, number: int) -> list[Told]:
        """The next outcomes, some at a time; from memory, or in a thread from the log."""
        told = self._told
        if number >= told.last:
            return []
        recent = told._recent
        if recent and recent[0][0] <= number + 1:
            return told.after(number)[:PIECE_MOST]
        for kept in self._kept:
            if kept[0].number <= number + 1 <= kept[-1].number:
                place = number + 1 - kept[0].number
                return kept[place : place + PIECE_MOST]
        return (await self._read(number))[:PIECE_MOST]

    async def _read(self, number: int) -> list[Told]:
        """From the log: much at once, since a whole segment has to be read for it; what follows is kept for a while."""
        loop = asyncio.get_running_loop()
        read = (await loop.run_in_executor(None, self._told.after, number))[:KEPT_MOST]
        if len(read) > PIECE_MOST:
            self._kept = [read, *self._kept][:KEPT_READS]
            if self._forgetting is not None:
                self._forgetting.cancel()
            self._forgetting = loop.call_later(KEPT_S, self._kept.clear)
        return read

    async def piece(self, after: int, rule: str | None) -> Piece:
        """The next events of a stream that has heard everything up to that number."""
        key = (after, rule)
        if (piece := self._pieces.get(key)) is None:
            piece = piece_of(await self.after(after), after, rule)
            if piece.last > after:
                self._keep(key, piece)
        return piece

    def _keep(self, key: Any, piece: Piece) -> None:
        if len(self._pieces) >= PIECES_KEPT:
            del self._pieces[next(iter(self._pieces))]
        self._pieces[key] = piece


def piece_of(outcomes: list[Told], after: int, rule: str | None) -> Piece:
    """Those of a rule, as events, up to about so many bytes."""
    events, size, last = [], 0, after
    for told in outcomes:
        last = told.number
        if rule is None or told.rule == rule:
            events.append(event := _event(told))
            size += len(event)
            if size > PIECE_BYTES:
                break
    return Piece(b"".join(events), last)


def _event(told: Told) -> bytes:
    return b"id: %d\nevent: outcome\ndata: %b\n\n" % (told.number, json_bytes(outcome_shape(told)))
