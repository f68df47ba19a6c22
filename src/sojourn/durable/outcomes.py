"""Outcomes by number: the last ones from memory, those before from the log."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from .._arguments import check_whole
from ..errors import OutcomesGoneError
from .log.files import Files
from .log.records import TOLD, read_body
from .log.segments import Header, Position, headers, layout, walk
from .state.wait import Row, Told, Wait, told_of

if TYPE_CHECKING:
    import asyncio

RECENT = 10_000
"""How many stay in memory, for those who follow closely."""


class Outcomes:
    """What has been told. Whoever reads gets every number after the one it knows, in order."""

    def __init__(self, files: Files, next_number: int) -> None:
        self._files = files
        self._recent: deque[tuple[int, Row]] = deque(maxlen=RECENT)
        self._news = threading.Condition()
        self._awaiting: list[asyncio.Future[None]] = []
        self._is_open = True
        self.on_told: Callable[[list[Wait]], object] | None = None
        """Called with what has been told, by whoever wrote it; must not raise."""
        self.last = next_number - 1
        """The number of the last one told."""

    def add(self, told: list[Wait]) -> None:
        """These have been told, in the order of their numbers, and are on the disk."""
        with self._news:
            while self._recent and self._recent[-1][0] >= told[0]._number:
                self._recent.pop()  # whoever added these was interrupted
            self._recent.extend([(wait._number, wait._row) for wait in told[-RECENT:] if wait._row is not None])
            self.last = told[-1]._number
            self._wake_all()
        if self.on_told is not None:
            self.on_told(told)

    def close(self) -> None:
        """Wake all who wait for further outcomes: there will be none."""
        with self._news:
            self._is_open = False
            self._wake_all()

    def wait(self, after: int, timeout: float | None) -> bool:
        """Whether there is one after that number, or comes within `timeout` seconds."""
        with self._news:
            self._news.wait_for(lambda: self.last > after or not self._is_open, timeout)
            return self.last > after

    async def arrival(self, loop: asyncio.AbstractEventLoop, after: int, timeout: float | None) -> bool:
        """The same, for a loop that must not stand still."""
        import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

        woken = loop.create_future()
        with self._news:
            if self.last > after or not self._is_open:
                return self.last > after
            self._awaiting.append(woken)
        try:
            await asyncio.wait_for(woken, timeout)
        except TimeoutError:
            pass
        finally:
            with self._news, suppress(ValueError):
                self._awaiting.remove(woken)
        return self.last > after

    def _wake_all(self) -> None:
        self._news.notify_all()
        awaiting, self._awaiting = self._awaiting, []
        for woken in awaiting:
            with suppress(RuntimeError):  # its loop is closed
                woken.get_loop().call_soon_threadsafe(_wake, woken)

    def after(self, number: int) -> list[Told]:
        """The next ones, some at a time; none only if there is none."""
        with self._news:
            last = self.last
            first = self._recent[0][0] if self._recent else last + 1
            wanted = last - number if first <= number + 1 else 0  # from behind: most who ask follow closely
            recent = list(islice(reversed(self._recent), max(0, wanted)))[::-1]
        if recent or number >= last:
            return [told_of(*told) for told in recent]
        return read_outcomes(self._files, number, last)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def check_cursor(after: int) -> None:
    check_whole("after", after, 0, 2**62)


def read_outcomes(files: Files, after: int, last: int) -> list[Told]:
    """Of the outcomes after a number, up to `last`, those in the segment that has the first of them."""
    found = headers(files, layout(files).segments)
    if not found or found[0].next_number > after + 1:
        oldest = f"; the oldest kept is {found[0].next_number}" if found else ""
        raise OutcomesGoneError(
            f"outcomes after {after} are gone: the log keeps them only so long{oldest}; read more often, or keep more",
            found[0].next_number - 1 if found else last,
        )
    for i, header in enumerate(found):
        following = found[i + 1] if i + 1 < len(found) else None
        if following is None or following.next_number > after + 1:
            told = [told for told in _told_in(files, header, following) if after < told.number <= last]
            if told and told[0].number > after + 1:
                raise _lost(after, told[0].number - 1)
            if told:
                return told
    if after < last:
        raise _lost(after, last)
    return []


def _lost(after: int, last: int) -> OutcomesGoneError:
    return OutcomesGoneError(
        f"outcomes {after + 1} to {last} are lost: the folder was repaired, and its lost.json has those that could be "
        f"read; go on with after={last}",
        last,
    )


def _told_in(files: Files, header: Header, following: Header | None) -> Iterator[Told]:
    end = None if following is None else Position(header.segment, following.previous_end)
    for record in walk(files, [header], Position(header.segment, 0), end):
        if record.type == TOLD:
            _, first, rows = read_body(record.body)
            yield from (told_of(first + i, row) for i, row in enumerate(rows))
