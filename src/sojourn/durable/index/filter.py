"""A filter in memory: which texts are surely not in the index, so that nobody need ask the disk for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from zlib import crc32

BITS_PER_TEXT = 16
GOLDEN = 0x9E3779B97F4A7C15
WORD = 0xFFFFFFFFFFFFFFFF
PAIRS = [1 << (i & 63) | 1 << (i >> 6) for i in range(4096)]
"""Two bits of a word, by twelve bits of a hash."""


class Filter:
    """A Bloom filter of 64-bit words, four bits in one word for each text. About one text in a hundred passes wrongly.

    Never says no to a text that was added. Nothing can be taken out: it is made anew when it is full.
    """

    def __init__(self, capacity: int, words: bytes | None = None, added: int = 0) -> None:
        self.capacity, self.added = capacity, added
        bits = max(1, (capacity * BITS_PER_TEXT // 64 - 1).bit_length())
        self._shift = 64 - bits
        self._words = array("Q", bytes(8 << bits) if words is None else words)

    @property
    def is_full(self) -> bool:
        return self.added > self.capacity

    def add(self, texts: Iterable[str]) -> None:
        words, shift, count = self._words, self._shift, 0
        for count, text in enumerate(texts, 1):  # noqa: B007
            h = crc32(text.encode()) * GOLDEN & WORD
            words[h >> shift] |= PAIRS[h & 4095] | PAIRS[h >> 12 & 4095]
        self.added += count

    def may_have(self, text: str) -> bool:
        if not self.added:
            return False
        try:
            h = crc32(text.encode()) * GOLDEN & WORD
        except UnicodeEncodeError:  # half a surrogate pair: that was never stored
            return False
        mask = PAIRS[h & 4095] | PAIRS[h >> 12 & 4095]
        return self._words[h >> self._shift] & mask == mask

    def to_bytes(self) -> bytes:
        return self._words.tobytes()
