"""Events that wait to be decided: in memory or, when there are too many, in files, a drawer for some of the keys each.

A drawer is small enough for the engine to take out whole. All events of a key are in one drawer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from .deal import by_shard, shards_of
from .schema import KEY

NUMBER = 64
"""How many drawers there are."""

IN_MEMORY = 0.2
"""The share of the memory that events may take up before they go into files: putting them together takes as much again,
and deciding them too."""


class Dealt(NamedTuple):
    """Events in the order of their drawers, and where those of each begin; or in any order, if they stay in memory."""

    events: pa.RecordBatch
    starts: list[int] | None


class Drawer(NamedTuple):
    """The events of some keys. `number` is its own among `of` drawers: those of a hash class."""

    events: pa.RecordBatch
    number: int = 0
    of: int = 1


class Drawers:
    """Takes events in the normal form, of this schema, and gives them back drawer by drawer.

    `memory` is how many bytes the process may use, `scratch` a folder for files. `add` is for one thread, `dealt` for
    any.
    """

    def __init__(self, schema: pa.Schema, memory: int, scratch: str | None = None) -> None:
        self.schema = schema
        self._most = int(memory * IN_MEMORY)
        self._scratch = scratch
        self._held: list[pa.RecordBatch] = []
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
        """Whatever is left is thrown away."""
        self._open.close()

    def dealt(self, events: pa.RecordBatch) -> Dealt:
        """Events, made ready to be added."""
        if not self.are_files:
            return Dealt(events, None)
        order = by_shard(shards_of(events[KEY], NUMBER), NUMBER)
        counts = [len(rows) for rows in order]
        return Dealt(events.take(pa.array(np.concatenate(order))), [0, *np.cumsum(counts).tolist()])

    def add(self, dealt: Dealt) -> None:
        if self.are_files:
            self._write(dealt if dealt.starts is not None else self.dealt(dealt.events))
            return
        self._held.append(dealt.events)
        self._size += dealt.events.nbytes
        if self._size > self._most:
            self._open_files()
            while self._held:
                self._write(self.dealt(self._held.pop()))

    def __iter__(self) -> Iterator[Drawer]:
        """Each drawer once, and nothing of it stays behind."""
        if not self.are_files:
            held, self._held = self._held, []
            yield Drawer(_together(held, self.schema))
            return
        for writer in self._writers:
            writer.close()
        for number, file in enumerate(self._files):
            with closing(pa.memory_map(str(file))) as data, pa.ipc.open_stream(data) as rows:
                yield Drawer(_together(list(rows), self.schema), number, NUMBER)
            file.unlink()

    def _open_files(self) -> None:
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix=".sojourn-", dir=self._scratch)))
        self._files = [folder / f"{number}.arrows" for number in range(NUMBER)]
        for file in self._files:
            stream = self._open.enter_context(pa.OSFile(str(file), "wb"))
            self._writers.append(self._open.enter_context(pa.ipc.new_stream(stream, self.schema)))

    def _write(self, dealt: Dealt) -> None:
        assert dealt.starts is not None
        for writer, start, end in zip(self._writers, dealt.starts, dealt.starts[1:], strict=False):
            if end > start:
                writer.write_batch(dealt.events.slice(start, end - start))


def _together(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """In one piece; texts that are too long for one get wider offsets."""
    table = pa.Table.from_batches(batches, schema)
    batches.clear()
    if table[KEY].nbytes > 2**31 - 1:
        table = table.set_column(table.schema.get_field_index(KEY), KEY, table[KEY].cast(pa.large_string()))
    whole = table.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], table.schema)
