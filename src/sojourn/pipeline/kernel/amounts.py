"""Exact sums over ranges of a column: `rules.exact`, for columns.

Numbers become whole multiples of the coarsest power of two that fits them all; their running sum is kept in words of 62
bits, as many as it needs. Nothing is ever rounded, so nothing depends on the order of events or on how they are cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rules.exact import enough
from .search import Flags, Ints, bisect, distinct

_UNIT = 1074
_LIMB = 31
_WORD = 2 * _LIMB
_LOW = (1 << _LIMB) - 1


class RunningSum:
    """The sum of the first i numbers, for each i; of numbers >= 0, each of which counts up to what is needed only."""

    def __init__(self, values: NDArray[Any], at_least: float) -> None:
        digits, shift, self._bits = _whole(values)
        self.needed = -(-enough(at_least) >> (_UNIT - self._bits))
        """The least sum that is enough, in units of 2**-bits."""
        width = self.needed.bit_length() + 1
        if _widest(digits, shift) > width:
            is_more = shift + _bit_length(digits) > width
            digits, shift = np.where(is_more, 1, digits), np.where(is_more, width - 1, shift)
        self._words = _running_sum(digits, shift, width + len(values).bit_length())

    def first_enough(self, low: Ints, high: Ints) -> Ints:
        """For each range, the first place that makes its sum enough; high[i] if none does."""
        goal = _plus([word[low] for word in self._words], self.needed)
        return bisect(low, high, lambda middle, active: _less([w[middle + 1] for w in self._words], goal, active))

    def between(self, low: Ints, high: Ints) -> tuple[Ints, list[int]]:
        """The sums of values[low[i]:high[i]], as places in a list of different ones, in units of 2**-1074."""
        sums = _minus([word[high] for word in self._words], [word[low] for word in self._words])
        places, different = distinct(sums)
        return places, [_joined(words) << (_UNIT - self._bits) for words in different]


def _whole(values: NDArray[Any]) -> tuple[Ints, Ints, int]:
    """`digits`, `shift` and `bits` such that each value is digits * 2**(shift - bits), exactly."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64, copy=False), np.zeros(len(values), np.int64), 0
    fraction, exponent = np.frexp(values)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    trailing = _bit_length(digits & -digits) - 1
    trailing[digits == 0] = 0
    digits >>= trailing
    shift = exponent.astype(np.int64) - 53 + trailing
    shift[digits == 0] = 0
    bits = max(0, -int(shift.min(initial=0)))
    return digits, shift + bits, bits


def _bit_length(digits: Ints) -> Ints:
    """As int.bit_length, of numbers >= 0."""
    high = np.frexp((digits >> 32).astype(np.float64))[1].astype(np.int64)
    low = np.frexp((digits & 0xFFFFFFFF).astype(np.float64))[1].astype(np.int64)
    return np.where(high > 0, high + 32, low)


def _widest(digits: Ints, shift: Ints) -> int:
    """No value has more bits."""
    return int(digits.max(initial=0)).bit_length() + int(shift.max(initial=0))


def _running_sum(digits: Ints, shift: Ints, width: int) -> list[Ints]:
    """The sums of the first 0, 1, 2 ... of digits << shift, in words of 62 bits, the lowest first."""
    if width <= _WORD:
        return [_cumulated(digits << shift)]
    limbs: list[Ints] = []
    carry = np.zeros(1, np.int64)
    for at in range(0, -(-width // _WORD) * _WORD, _LIMB):
        limb = _cumulated(_limb(digits, shift - at)) + carry
        limbs.append(limb & _LOW)
        carry = limb >> _LIMB
    return [low | (high << _LIMB) for low, high in zip(limbs[::2], limbs[1::2], strict=True)]


def _limb(digits: Ints, offset: Ints) -> Ints:
    """The lowest 31 bits of digits << offset, where an offset < 0 shifts the other way."""
    left = ((digits & _LOW) << np.clip(offset, 0, _LIMB)) & _LOW
    right = (digits >> np.clip(-offset, 0, 63)) & _LOW
    return np.where(offset >= 0, left, right)


def _cumulated(values: Ints) -> Ints:
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _plus(words: list[Ints], amount: int) -> list[Ints]:
    mask = (1 << _WORD) - 1
    carry = np.zeros(1, np.int64)
    sums = []
    for i, word in enumerate(words):
        total = word + ((amount >> (i * _WORD)) & mask) + carry
        is_last = i == len(words) - 1
        carry = total >> _WORD
        sums.append(total if is_last else total & mask)
    return sums


def _minus(words: list[Ints], others: list[Ints]) -> list[Ints]:
    mask = (1 << _WORD) - 1
    borrow = np.zeros(1, np.int64)
    differences = []
    for word, other in zip(words, others, strict=True):
        difference = word - other + borrow
        borrow = difference >> _WORD
        differences.append(difference & mask)
    return differences


def _less(words: list[Ints], goal: list[Ints], active: Ints) -> Flags:
    is_less = words[0] < goal[0][active]
    for word, goals in zip(words[1:], goal[1:], strict=True):
        wanted = goals[active]
        is_less = (word < wanted) | ((word == wanted) & is_less)
    return is_less


def _joined(words: tuple[int, ...]) -> int:
    return sum(word << (i * _WORD) for i, word in enumerate(words))
