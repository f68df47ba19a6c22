"""Shards, spread evenly over Spark's partitions.

Spark hashes the number of a shard, and the hash says which partition it goes to, modulo how many there are. Numbers
from 0 on fall where chance has it: of 64 shards one of 16 partitions would get eight and another a single one, and all
would wait for the eight. But this hash can be undone. So the first shard gets the number whose hash is 0, the next one
that whose hash is 1, and so on: they are dealt out in turns, to however many partitions there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernel.search import Ints

_SEED = 42
_ROUND = 2**32


def _undone(factor: int) -> np.uint32:
    """Multiplying by this undoes multiplying by the other, in 32 bits."""
    return np.uint32(pow(factor, -1, _ROUND))


def spread(places: Ints) -> NDArray[np.int32]:
    """The number of each of these shards: Spark puts it into partition `place`, modulo how many there are.

    It is Spark's hash of an integer (Murmur3, 32 bits), step by step backwards.
    """
    h = places.astype(np.uint32)
    h ^= h >> np.uint32(16)
    h *= _undone(0xC2B2AE35)
    h ^= h >> np.uint32(13) ^ h >> np.uint32(26)
    h *= _undone(0x85EBCA6B)
    h ^= h >> np.uint32(16)
    h ^= np.uint32(4)
    h = (h - np.uint32(0xE6546B64)) * _undone(5)
    h = _turned(h, 13) ^ np.uint32(_SEED)
    h = _turned(h * _undone(0x1B873593), 15) * _undone(0xCC9E2D51)
    return h.view(np.int32)


def _turned(h: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    """To the right: the bits that fall out come in at the left."""
    return h >> np.uint32(bits) | h << np.uint32(32 - bits)


FIRST = int(spread(np.zeros(1, np.int64))[0])
"""The number of the first shard."""
