"""Exact sums over ranges of a column: `rules.exact`, for columns.

Floats become whole multiples of the coarsest power of two that fits them all; ints and decimals are whole multiples of
a power of ten. Their running sum is kept in words of 62 bits, as many as it needs. Nothing is ever rounded, so nothing
depends on the order of events or on how they are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rules.account import Progress
from ...rules.event import Number
from ...rules.exact import ONE, enough, float_from, meant
from .columns import Numbers
from .search import Flags, Ints, bisect, distinct

LIMB = 31
_WORD = 2 * LIMB
_LOW = (1 << LIMB) - 1


class RunningSum:
    """The sum of the first i numbers, for each i; of numbers >= 0, each of which counts up to what is needed only."""

    def __init__(self, numbers: Numbers, at_least: Number) -> None:
        self._is_rough = numbers.is_float
        goal = enough(at_least, self._is_rough)
        if numbers.values.ndim > 1:
            self._unit = ONE // 10**numbers.scale
            self.needed = -(-goal // self._unit)
            self._words = _running_sum_of_limbs(numbers.values, self.needed)
            return
        digits, shift, bits = _whole(numbers.values)
        self._unit = ONE // 10**numbers.scale >> bits
        """How much a sum of 1 is, in units of `rules.exact`."""
        self.needed = -(-goal // self._unit)
        """The least sum that is enough."""
        width = self.needed.bit_length() + 1
        if _widest(digits, shift) > width:
            is_more = shift + _bit_length(digits) > width
            digits, shift = np.where(is_more, 1, digits), np.where(is_more, width - 1, shift)
        self._words = _running_sum(digits, shift, width + len(digits).bit_length())

    def first_enough(self, low: Ints, high: Ints) -> Ints:
        """For each range, the first place that makes its sum enough; high[i] if none does."""
        goal = _plus([word[low] for word in self._words], self.needed)
        return bisect(low, high, lambda middle, active: _less([w[middle + 1] for w in self._words], goal, active))

    def between(self, low: Ints, high: Ints) -> tuple[Ints, list[Progress]]:
        """The sums of the numbers low[i]:high[i], as places in a list of different ones."""
        sums = _minus([word[high] for word in self._words], [word[low] for word in self._words])
        places, different = distinct(sums)
        return places, [Progress(_joined(words) * self._unit, is_rough=self._is_rough) for words in different]


def is_at_least(numbers: Numbers, level: Number) -> Flags:
    """Where a number is >= level: `exact.is_level`, exactly, where NumPy would round one to the type of the other."""
    values = numbers.values
    if numbers.is_float:
        return np.asarray(values >= float_from(level))
    bound = ceil(Fraction(meant(level)) * 10**numbers.scale)
    if values.ndim > 1:
        return ~_less(list(values.T), _limbs_of(bound, values.shape[1]), np.zeros(len(values), np.int64))
    if not -(2**63) <= bound < 2**63:
        return np.full(len(values), bound < 0)
    return np.asarray(values >= bound)


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
    return _carried(lambda limb: _limb(digits, shift - limb * LIMB), width)


def _running_sum_of_limbs(limbs: Ints, needed: int) -> list[Ints]:
    """The same of rows of limbs, and wide enough for what is needed on top."""
    width = max(limbs.shape[1] * LIMB, needed.bit_length()) + len(limbs).bit_length() + 1
    nothing = np.zeros(len(limbs), np.int64)
    return _carried(lambda limb: limbs[:, limb] if limb < limbs.shape[1] else nothing, width)


def _carried(limb_of: Callable[[int], Ints], width: int) -> list[Ints]:
    """Running sums of numbers of which `limb_of` tells the lowest 31 bits, the next 31 ..."""
    limbs: list[Ints] = []
    carry = np.zeros(1, np.int64)
    for number in range(-(-width // _WORD) * 2):
        limb = _cumulated(limb_of(number)) + carry
        limbs.append(limb & _LOW)
        carry = limb >> LIMB
    return [low | (high << LIMB) for low, high in zip(limbs[::2], limbs[1::2], strict=True)]


def _limb(digits: Ints, offset: Ints) -> Ints:
    """The lowest 31 bits of digits << offset, where an offset < 0 shifts the other way."""
    left = ((digits & _LOW) << np.clip(offset, 0, LIMB)) & _LOW
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


def _limbs_of(number: int, count: int) -> list[Ints]:
    """The limbs of a number, as columns of one row; the last holds all the rest, with the sign."""
    last = (count - 1) * LIMB
    rest = max(-(2**63), min(number >> last, 2**63 - 1))
    return [np.array([(number >> at) & _LOW]) for at in range(0, last, LIMB)] + [np.array([rest])]


def _joined(words: tuple[int, ...]) -> int:
    return sum(word << (i * _WORD) for i, word in enumerate(words))
