"""Events that wait to be decided: in memory or, when there are too many, in files, a drawer for some of the keys each.

A drawer is small enough for the engine to take out whole. All events of a key are in one drawer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from ..errors import StorageError
from .deal import Dealt, all_dealt, dealt, together

NUMBER = 64
"""How many drawers there are."""

IN_MEMORY = 0.2
"""The share of the memory that events may take up before they go into files: bringing them into the order of their
shards takes as much again, and deciding them too."""


class Drawer(NamedTuple):
    """The events of some keys, in parts, each in the order of shards. `number` is its own."""

    parts: list[Dealt]
    number: int = 0


class Drawers:
    """Takes events in the normal form, of this schema, and gives them back drawer by drawer.

    `memory` is how many bytes the process may use, `scratch` a folder for files. `add` is for one thread, `dealt` for
    any.
    """

    def __init__(self, schema: pa.Schema, memory: int, scratch: str | None = None) -> None:
        self.schema = schema
        self._most = int(memory * IN_MEMORY)
        self._scratch = scratch
        self._held: list[Dealt] = []
        self._size = 0
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []
        self._files: list[Path] = []
        self._open = ExitStack()

    @property
    def are_files(self) -> bool:
        """Whether there were too many events for memory."""
        return bool(self._files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Whatever is left is thrown away: so it need not be there, either."""
        with suppress(OSError):
            self._open.close()

    def dealt(self, events: pa.RecordBatch) -> Dealt:
        """Events, made ready to be added."""
        return dealt(events)

    def add(self, events: Dealt) -> None:
        self._held.append(events)
        self._size += events.events.nbytes
        if self.are_files or self._size > self._most:
            try:
                self._write_held()
            except OSError as error:
                where = self._scratch or tempfile.gettempdir()
                raise StorageError(
                    f"the events take more than {self._most:,} bytes, and cannot be kept in {where!r}: {error}; "
                    "make room there, or allow more memory"
                ) from None

    def __iter__(self) -> Iterator[Drawer]:
        """Each drawer once, and nothing of it stays behind; in memory, there is only one."""
        if not self.are_files:
            held, self._held = self._held, []
            yield Drawer(held)
            return
        for writer in self._writers:
            writer.close()
        for number, file in enumerate(self._files):
            with closing(pa.memory_map(str(file))) as data, pa.ipc.open_stream(data) as rows:
                parts = all_dealt(together(rows, self.schema), (number, NUMBER))
            yield Drawer(parts, number)
            file.unlink()

    def whole(self) -> pa.RecordBatch:
        """All events, if they are in memory; nothing of them stays behind."""
        assert not self.are_files
        held, self._held = self._held, []
        return together((part.events for part in held), self.schema)

    def _write_held(self) -> None:
        if not self.are_files:
            self._open_files()
        while self._held:
            self._write(self._held.pop())

    def _open_files(self) -> None:
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix=".sojourn-", dir=self._scratch)))
        self._files = [folder / f"{number}.arrows" for number in range(NUMBER)]
        for file in self._files:
            stream = self._open.enter_context(pa.OSFile(str(file), "wb"))
            self._writers.append(self._open.enter_context(pa.ipc.new_stream(stream, self.schema)))

    def _write(self, events: Dealt) -> None:
        for drawer, writer in enumerate(self._writers):
            its_events = events.of_shard(drawer, NUMBER)
            if its_events.num_rows:
                writer.write_batch(its_events)
