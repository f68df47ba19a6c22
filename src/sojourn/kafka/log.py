"""The log of one replica: records with offsets, and which leader epoch each stretch of them comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Record(NamedTuple):
    """One record as it stands in the log."""

    offset: int
    value: bytes
    epoch: int
    """Of the leader that appended it."""


class EpochEnd(NamedTuple):
    """Where a leader epoch ends in some log: the offset after its last record."""

    epoch: int
    offset: int


class Log:
    """Records from `start_offset` up to, not including, `end_offset`. One segment: an offset is either held or gone.

    append: O(records). bytes_between: O(1). read: O(log n + records). truncate_to, delete_before: O(n).
    """

    def __init__(self) -> None:
        self.start_offset = self.end_offset = 0
        self.epochs: list[EpochEnd] = []
        """The first offset of each epoch, ascending in both."""
        self._records: list[Record] = []
        self._position = [0]
        """Bytes before each record and, at the end, before the next."""

    @property
    def last_epoch(self) -> int | None:
        """The epoch of the latest record or leader; None before the first."""
        return self.epochs[-1].epoch if self.epochs else None

    def append(self, values: Iterable[bytes], epoch: int) -> int:
        """Append as the leader of `epoch`; return the offset of the first."""
        base = self.end_offset
        self.append_records([Record(base + i, value, epoch) for i, value in enumerate(values)])
        return base

    def append_records(self, records: Sequence[Record]) -> None:
        """Append records that have their offsets, the first of them `end_offset`."""
        position = self._position[-1]
        for record in records:
            assert record.offset == self.end_offset, f"{record} does not follow on {self.end_offset}"
            self.begin_epoch(record.epoch)
            self._records.append(record)
            position += record_bytes(record.value)
            self._position.append(position)
            self.end_offset += 1

    def begin_epoch(self, epoch: int) -> None:
        """From here on records are of this epoch."""
        if self.last_epoch is None or epoch > self.last_epoch:
            self.epochs.append(EpochEnd(epoch, self.end_offset))

    def bytes_between(self, first: int, end: int) -> int:
        """Bytes of the records from offset `first` to before `end`, both held."""
        return self._position[end - self.start_offset] - self._position[first - self.start_offset]

    def read(self, offset: int, end: int, max_bytes: int, *, at_least_one: bool) -> list[Record]:
        """Records from `offset` to before `end`, at most `max_bytes` of them, but one however large if asked."""
        first, last = offset - self.start_offset, end - self.start_offset
        room = bisect_right(self._position, self._position[first] + max_bytes) - 1
        return self._records[first : min(last, max(room, first + at_least_one))]

    def truncate_to(self, offset: int) -> None:
        """Drop every record from `offset` on."""
        if offset < self.start_offset:
            self.restart_at(offset)
            return
        assert offset <= self.end_offset, f"nothing to drop from {offset} on: the log ends at {self.end_offset}"
        keep = offset - self.start_offset
        del self._records[keep:], self._position[keep + 1 :]
        self.epochs = [entry for entry in self.epochs if entry.offset < offset]
        self.end_offset = offset

    def delete_before(self, offset: int) -> None:
        """Drop every record before `offset`, which is not beyond the end."""
        gone = offset - self.start_offset
        del self._records[:gone], self._position[:gone]
        self.start_offset = offset

    def restart_at(self, offset: int) -> None:
        """Drop everything, and go on at `offset`."""
        self._records.clear()
        del self._position[1:]
        self.epochs.clear()
        self.start_offset = self.end_offset = offset

    def end_of(self, epoch: int) -> EpochEnd | None:
        """The end of the latest epoch that is not after `epoch`; None if this log knows no epoch as late as that."""
        if not self.epochs or epoch > self.epochs[-1].epoch:
            return None
        index = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        end = self.epochs[index].offset if index < len(self.epochs) else self.end_offset
        return EpochEnd(self.epochs[index - 1].epoch if index else epoch, end)

    def __getitem__(self, offset: int) -> Record:
        if not self.start_offset <= offset < self.end_offset:
            raise IndexError(f"offset {offset} is not in {self.start_offset} to before {self.end_offset}")
        return self._records[offset - self.start_offset]


def record_bytes(value: bytes) -> int:
    """What a record counts towards min bytes: an empty one is one byte, or nobody could wait for it."""
    return len(value) or 1
