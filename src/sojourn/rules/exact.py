"""Sums that do not depend on the order of their terms.

Every float is a whole multiple of 2**-1074. Counted in that unit, sums of ints and floats are sums of ints: exact.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, nextafter

from .event import Number

_BITS = 1074
_ONE = 1 << _BITS
_WHOLE = 2**53


def exact(value: Number) -> int:
    """A finite number in units of 2**-1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_BITS + 1 - denominator.bit_length())


def reaches(total: int, at_least: Number) -> bool:
    """Whether an exact total is at least that much, exactly or once rounded to a float.

    Rounded, so that 0.6 + 0.3 + 0.1 reaches 1, as people expect, although these floats add up to a little less.
    Only up to 2**53, where rounding cannot lift a whole number: sums of ints are never rounded.
    """
    return total >= exact(at_least) or (at_least <= _WHOLE and total / _ONE >= at_least)


@lru_cache
def enough(at_least: Number) -> int:
    """The least exact total that reaches so much: comparing with it is `reaches`, only faster."""
    if at_least > _WHOLE:
        return exact(at_least)
    half_way = (exact(nextafter(at_least, -inf)) + exact(at_least) + 1) // 2
    return half_way if reaches(half_way, at_least) else half_way + 1


def number_text(value: Number) -> str:
    return amount_text(exact(value))


def amount_text(total: int) -> str:
    """An exact total for people to read: whole numbers without a point."""
    whole, rest = divmod(total, _ONE)
    return repr(total / _ONE) if rest else str(whole)


def pack(total: int) -> tuple[int, int]:
    """An exact total as `(n, bits)` for n / 2**bits, the smallest such pair."""
    trailing_zeros = (total & -total).bit_length() - 1
    bits = max(0, _BITS - trailing_zeros) if total else 0
    return total >> (_BITS - bits), bits


def unpack(n: int, bits: int) -> int:
    return n << (_BITS - bits)
