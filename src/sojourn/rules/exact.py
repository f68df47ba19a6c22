"""Sums that do not depend on the order of their terms.

Every float is a whole multiple of 2**-1074, and every decimal of up to 76 places one of 10**-76. Counted in a unit that
measures both, sums of ints, floats and decimals are sums of ints: exact.

What is enough depends on the terms. A float such as 0.1 is a little more or less than what was written, so a sum with
such a term in it (`is_rough`) is also enough once rounded to a float. Ints and decimals are what was written: their
sums are never rounded, and a float that they are compared with means the decimal that it is written as.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from math import inf, nextafter

from .event import Number

PLACES = 76
"""How many decimal places a decimal may have."""

_DIGITS = 308
"""How many digits before the point, about: as many as floats have."""

_BITS = 1074
_FIVES: int = 5**PLACES
ONE = _FIVES << _BITS
"""How many units are 1."""

_WHOLE = 2**53
_SHOWN_PLACES = 38


def exact(value: Number) -> int:
    """A finite number in units of 1 / ONE; a decimal must fit (`fits`)."""
    numerator, denominator = value.as_integer_ratio()
    if isinstance(value, Decimal):
        return numerator * (ONE // denominator)
    return numerator * _FIVES << (_BITS + 1 - denominator.bit_length())


def fits(value: Decimal) -> bool:
    """Whether a decimal is finite, and has no more digits than we count in."""
    return value.is_finite() and value.adjusted() <= _DIGITS and -int(value.as_tuple().exponent) <= PLACES


def is_rough(value: Number) -> bool:
    """Whether a value may be a little more or less than what was written: a float that is not whole."""
    return isinstance(value, float) and not value.is_integer()


def meant(at_least: Number) -> Number:
    """What a threshold means to ints and decimals: a float means the decimal that it is written as.

    From 2**53 on, where floats are whole numbers, it means the number that it is.
    """
    if isinstance(at_least, float) and abs(at_least) <= _WHOLE:
        return Decimal(float.__repr__(at_least))
    return at_least


def settled(at_least: Number) -> Number:
    """The same threshold as an int or a float, if there is one that means the same."""
    if not isinstance(at_least, Decimal):
        return at_least
    if at_least == int(at_least):
        return int(at_least)
    return float(at_least) if meant(float(at_least)) == at_least else at_least


def is_level(value: Number, at_least: Number) -> bool:
    """Whether a value is >= `at_least`: a float as a float, others exactly."""
    return value >= (at_least if isinstance(value, float) else meant(at_least))


def reaches(total: int, at_least: Number, is_rough: bool = False) -> bool:
    """Whether an exact total is >= `at_least`: exactly, or, if it is rough, once rounded to a float.

    Rounded, so that 0.6 + 0.3 + 0.1 reaches 1, as people expect, although these floats add up to a little less.
    Only up to 2**53, where rounding cannot lift a whole number.
    """
    return total >= threshold(at_least) or (is_rough and at_least <= _WHOLE and total / ONE >= at_least)


@lru_cache
def threshold(at_least: Number) -> int:
    """The least total that is >= `at_least` exactly."""
    numerator, denominator = meant(at_least).as_integer_ratio()
    return -(-numerator * ONE // denominator)


@lru_cache
def enough(at_least: Number, is_rough: bool = False) -> int:
    """The least exact total that reaches `at_least`: comparing with it is `reaches`, only faster."""
    if not is_rough or at_least > _WHOLE:
        return threshold(at_least)
    least = float_from(at_least)
    half_way = (exact(nextafter(least, -inf)) + exact(least) + 1) // 2
    rounded = half_way if reaches(half_way, at_least, is_rough) else half_way + 1
    return min(rounded, threshold(at_least))


def float_from(level: Number) -> float:
    """The least float that is >= level."""
    try:
        nearest = float(level)
    except OverflowError:
        nearest = inf if level > 0 else -inf
    return nearest if nearest >= level else nextafter(nearest, inf)


def number_text(value: Number) -> str:
    """A number for people to read: whole numbers without a point."""
    if value == int(value):
        return str(int(value))
    return format(value, "f").rstrip("0") if isinstance(value, Decimal) else float.__repr__(value)


def amount_text(total: int) -> str:
    """An exact total for people to read; one with very many decimal places, as the nearest float."""
    whole, rest = divmod(total, ONE)
    if not rest:
        return str(whole)
    digits, further = divmod(rest, ONE // 10**_SHOWN_PLACES)
    return repr(total / ONE) if further or total < 0 else f"{whole}.{digits:0{_SHOWN_PLACES}}".rstrip("0")


def pack(total: int) -> tuple[int, int, int]:
    """An exact total as `(n, twos, fives)` for n / (2**twos * 5**fives), the smallest such."""
    if not total:
        return 0, 0, 0
    twos, fives = _BITS, PLACES
    while fives and not total % 5:
        total, fives = total // 5, fives - 1
    trailing_zeros = min(twos, (total & -total).bit_length() - 1)
    return total >> trailing_zeros, twos - trailing_zeros, fives


def unpack(n: int, twos: int, fives: int) -> int:
    rest: int = 5 ** (PLACES - fives)
    return n * rest << (_BITS - twos)
