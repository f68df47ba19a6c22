"""What a shard keeps, as a log: segments that are never changed, of which a newer one replaces keys of older ones.

A step appends one segment, with the keys it touched; segments of like size are merged, so that there are few, and each
key is written again O(log keys) times. A segment also says which places of older ones no longer count, so nobody has to
look for them, and a key of which nothing is kept any more takes no row. It is known by a number that is made from its
bytes, from its rule and from the segments that were there when it was made. So whoever has seen one has it for good,
and needs only those of a shard's segments that are new: a cache of them can be lost, late or ahead of the truth, but
not wrong. And a step that is repeated gives the same bytes under the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...kernel import NEVER
from ...kernel.search import Flags, Ints
from ...schema import KEY
from .groups import Keys
from .shape import DUE, EVENTS, HASH, IS_DONE, PENDING, Shape, nothing
from .stored import Places, from_bytes, to_bytes

_NOWHERE = np.zeros(0, np.int32)


class Segment:
    """Keys in the order of their hash, and what is kept of each.

    `replaced` has by the number of an older segment the places there that no longer count.
    """

    def __init__(self, kept: pa.RecordBatch, replaced: Mapping[int, Places], number: int = 0) -> None:
        self.kept = kept
        self.replaced = replaced
        self.number = number
        self.hash: Ints = kept[HASH].to_numpy()
        self.due: Ints = kept[DUE].to_numpy()

    def __len__(self) -> int:
        return len(self.hash)

    @property
    def size(self) -> int:
        """How much it says: of so many keys what is kept, or that it no longer is what it was."""
        return max(len(self), sum(map(len, self.replaced.values())))

    @property
    def nbytes(self) -> int:
        return int(self.kept.nbytes) + sum(places.nbytes for places in self.replaced.values())

    @staticmethod
    def from_bytes(shape: Shape, data: bytes, number: int) -> Segment:
        return Segment(*from_bytes(data, shape.kept), number)

    def numbered(self, shape: Shape, others: Sequence[Segment]) -> tuple[Segment, bytes]:
        """The same under a number of its own, and its bytes."""
        data = to_bytes(self.kept, self.replaced)
        named = sha256(f"{shape.id} {shape.kept} {[segment.number for segment in others]}\n".encode())
        named.update(data)
        number = int.from_bytes(named.digest()[:8]) >> 1
        return Segment(self.kept, self.replaced, number), data

    def find(self, hashes: Ints, keys: pa.Array) -> Ints:
        """The place of each key, -1 if it is not here. O(keys * log(places)); keys of equal hash are told apart."""
        place = np.searchsorted(self.hash, hashes)
        index = np.full(len(hashes), -1)
        asked = self._of_equal_hash(np.arange(len(hashes)), place, hashes)
        while asked.size:
            is_equal = pc.equal(self.kept[KEY].take(pa.array(place[asked])), keys.take(pa.array(asked))).to_numpy(False)
            index[asked[is_equal]] = place[asked[is_equal]]
            place[asked] += 1
            asked = self._of_equal_hash(asked[~is_equal], place, hashes)
        return index

    def _of_equal_hash(self, asked: Ints, place: Ints, hashes: Ints) -> Ints:
        asked = asked[place[asked] < len(self)]
        is_equal: Flags = self.hash[place[asked]] == hashes[asked]
        return asked[is_equal]


class Found(NamedTuple):
    """What is kept of some keys. `place` is the index of each key that was asked for, -1 if nothing is kept of it.

    `taken` has for each segment the indices of these keys in it.
    """

    kept: pa.RecordBatch
    place: Ints
    taken: list[Ints]


class Kept:
    """What a shard keeps: its segments, the oldest first, and the bytes of those that are to be written."""

    def __init__(self, shape: Shape, segments: Sequence[Segment], added: Mapping[int, bytes] | None = None) -> None:
        self._shape = shape
        self.segments = list(segments)
        self.added = added or {}
        self._is_valid = [self._valid(place) for place in range(len(segments))]

    def _valid(self, place: int) -> Flags:
        """Where a segment has the last word on a key."""
        segment, newer = self.segments[place], self.segments[place + 1 :]
        is_valid = np.ones(len(segment), bool)
        for other in newer:
            is_valid[other.replaced.get(segment.number, _NOWHERE)] = False
        return is_valid

    @property
    def next_due(self) -> int:
        """The first time at which a key is due; NEVER if none is."""
        times = [
            segment.due[valid].min(initial=NEVER) for segment, valid in zip(self.segments, self._is_valid, strict=True)
        ]
        return int(min(times, default=NEVER))

    def valid_rows(self) -> list[pa.RecordBatch]:
        """All that is kept, segment by segment."""
        pairs = zip(self.segments, self._is_valid, strict=True)
        return [segment.kept.filter(pa.array(is_valid)) for segment, is_valid in pairs]

    def find(self, keys: Keys, watermark: int) -> Found:
        """What is kept of these keys, and of those that are due before the watermark."""
        place, taken, count = np.full(len(keys.hash), -1), [], 0
        for segment, is_valid in zip(self.segments, self._is_valid, strict=True):
            index = segment.find(keys.hash, keys.key)
            asked = np.flatnonzero(index >= 0)
            asked = asked[is_valid[index[asked]]]
            is_taken = is_valid & (segment.due < watermark)
            is_taken[index[asked]] = True
            taken.append(np.flatnonzero(is_taken))
            place[asked] = count + np.searchsorted(taken[-1], index[asked])
            count += len(taken[-1])
        return Found(self._rows(self.segments, taken), place, taken)

    def replace(self, taken: Sequence[Ints], kept: pa.RecordBatch) -> Kept:
        """The same, with new rows for the keys that were taken, and for keys that were not there."""
        holding = np.flatnonzero(_holds_something(kept))
        size, start = max(len(holding), sum(map(len, taken))), len(self.segments)
        while start and self.segments[start - 1].size < 2 * size:
            start -= 1
            size += self.segments[start].size
        older, newer = self.segments[:start], self.segments[start:]
        valid = [_without(flags, places) for flags, places in zip(self._is_valid[start:], taken[start:], strict=True)]
        rows = _merged([*(segment.kept for segment in newer), kept], [*valid, holding])
        if not older and not rows.num_rows:
            return Kept(self._shape, [])
        replaced = {
            segment.number: np.concatenate([places, *(other.replaced.get(segment.number, _NOWHERE) for other in newer)])
            for segment, places in zip(older, taken, strict=False)
        }
        newest, data = Segment(rows, {n: p for n, p in replaced.items() if len(p)}).numbered(self._shape, self.segments)
        return Kept(self._shape, [*older, newest], {newest.number: data})

    def _rows(self, segments: Sequence[Segment], places: Sequence[Ints]) -> pa.RecordBatch:
        parts = [segment.kept.take(pa.array(chosen)) for segment, chosen in zip(segments, places, strict=True)]
        return pa.concat_batches(parts) if parts else nothing(self._shape.kept)


def _merged(parts: Sequence[pa.RecordBatch], places: Sequence[Places]) -> pa.RecordBatch:
    """These places, in the order of their hash.

    Rows hold lists, which are slow to pick out: all are laid side by side, and picked once, in their new order.
    """
    rows = pa.concat_batches(parts)
    starts = np.cumsum([0, *(part.num_rows for part in parts[:-1])])
    chosen = np.concatenate([start + place for start, place in zip(starts, places, strict=True)])
    order = np.argsort(rows[HASH].to_numpy()[chosen], kind="stable")
    return rows.take(pa.array(chosen[order]))


def _holds_something(kept: pa.RecordBatch) -> Flags:
    has_rows = np.diff(kept[EVENTS].offsets.to_numpy()) > 0
    holds: Flags = has_rows | (kept[PENDING].to_numpy() > 0) | kept[IS_DONE].to_numpy(zero_copy_only=False)
    return holds


def _without(flags: Flags, places: Ints) -> Ints:
    remaining = flags.copy()
    remaining[places] = False
    return np.flatnonzero(remaining)
