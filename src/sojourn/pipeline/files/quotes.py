"""Quotes, all at once: a bit for each byte, so that a look at a block of CSV costs less than reading it.

A byte is inside quotes if the number of quotes up to it is odd: the exclusive-or of all bits so far, which takes six
steps for the 64 bits of a word, and one more for each word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lines import CR, LF
from .options import CsvFormat

PIECE = 1 << 18
"""As many bytes as stay in a processor's caches."""

Bits = NDArray[np.uint64]
"""The first byte has the lowest bit of the first word."""

_ONE, _LAST = np.uint64(1), np.uint64(63)
_STEPS = tuple(np.uint64(1 << step) for step in range(6))


def are_plain(data: bytes, format: CsvFormat) -> bool:
    """Whether, for certain, every line is a record: quotes open and close in it, at boundaries.

    A doubled quote closes and opens, and is a boundary of its own.
    """
    return all(_is_plain(piece, format) for piece in _pieces(data))


def _pieces(data: bytes) -> Iterator[memoryview]:
    """The data, cut where lines end."""
    view, start = memoryview(data), 0
    while start < len(data):
        end = data.find(b"\n", start + PIECE) + 1 or len(data)
        yield view[start:end]
        start = end


def _is_plain(piece: memoryview, format: CsvFormat) -> bool:
    characters = np.frombuffer(piece, np.uint8)
    is_quote, is_break = characters == format.quote[0], (characters == LF) | (characters == CR)
    quotes = _bits(is_quote)
    inside = _inside(quotes)
    if (_bits(is_break) & inside).any() or inside[-1] >> _LAST:
        return False
    boundaries = _bits(is_quote | is_break | (characters == format.sep[0]), True)
    opening, closing = quotes & inside, quotes & ~inside
    return not (opening & ~_after(boundaries)).any() and not (closing & ~_before(boundaries)).any()


def _bits(flags: NDArray[Any], filled: bool = False) -> Bits:
    """A bit for each flag, and at least one more, which is not set unless it is to be `filled`."""
    packed = np.full((len(flags) // 64 + 1) * 8, 0, np.uint8)
    bits = np.packbits(flags, bitorder="little")
    packed[: len(bits)] = bits
    if filled:
        packed[len(flags) // 8] |= 1 << len(flags) % 8
    return packed.view("<u8")


def _inside(quotes: Bits) -> Bits:
    """Where quotes have been opened and not closed: from the opening one up to before the closing one."""
    inside = quotes.copy()
    for step in _STEPS:
        inside ^= inside << step
    carried = np.bitwise_xor.accumulate(inside >> _LAST)
    inside[1:] ^= np.uint64(0) - carried[:-1]  # all bits, or none
    return inside


def _after(bits: Bits) -> Bits:
    """The bits, each moved to the next place; before the first there is a boundary."""
    moved = bits << _ONE
    moved[1:] |= bits[:-1] >> _LAST
    moved[0] |= _ONE
    return moved


def _before(bits: Bits) -> Bits:
    """The bits, each moved to the place before."""
    moved = bits >> _ONE
    moved[:-1] |= bits[1:] << _LAST
    return moved
