"""Columns of numbers: read from a log as whole numbers, floats or decimals, and handed to the kernel.

Whole numbers and decimals stay what they are, and so do floats. A number written as text, as in CSV, is a decimal: what
is written is what counts, so that cents add up. It has up to 38 digits before the point, and is rounded to 38 places
after it; longer ones are set aside. That depends on nothing but the text itself, wherever a log is cut.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...errors import ConfigError
from ..kernel import Numbers
from ..kernel.amounts import LIMB
from ..kernel.search import Flags, Ints
from .kinds import kind_text
from .times import floats, is_text, nulls

NUMERIC = r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?\z"
"""A number, written as text."""

TEXT_DIGITS = 38
"""How many digits a number in a text may have before the point, and how many places after it."""

TEXT = pa.decimal256(2 * TEXT_DIGITS, TEXT_DIGITS)
"""Holds every number that is read from text."""

_PLAIN = rf"^[+-]?(?:\d{{1,{TEXT_DIGITS}}}(?:\.\d{{0,{TEXT_DIGITS}}})?|\.\d{{1,{TEXT_DIGITS}}})\z"
_UINT64 = pa.decimal128(20, 0)
_MOST_DIGITS = 76
_EXACTLY = Context(prec=3_000, rounding=ROUND_HALF_EVEN)


class Read(NamedTuple):
    """Numbers, null where there is none; and why there is none."""

    values: pa.Array
    is_missing: Flags
    is_bad: Flags
    """There is something, but not a number."""
    is_long: Flags
    """It has too many digits."""


def number_type(kind: pa.DataType) -> pa.DataType | None:
    """The type in which a column's numbers are kept, whichever part of it is read; None if it has no numbers."""
    if pa.types.is_uint64(kind):
        return _UINT64
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_decimal(kind):
        return _decimal_type(kind)
    return TEXT if is_text(kind) else pa.float64() if pa.types.is_floating(kind) else None


def read_numbers(name: str, column: pa.Array) -> Read:
    """The numbers of a column; `ConfigError` if it holds anything else."""
    is_missing = nulls(column)
    nowhere = np.zeros(len(column), bool)
    kind = number_type(column.type)
    if kind is None:
        raise ConfigError(f"column {name!r} is {kind_text(column.type)}; a rule reads numbers from it")
    if is_text(column.type):
        values, is_long = _from_texts(column)
        return Read(
            values, is_missing, values.is_null().to_numpy(zero_copy_only=False) & ~is_missing & ~is_long, is_long
        )
    if kind != pa.float64():
        return Read(column.cast(kind), is_missing, nowhere, nowhere)
    values = floats(column)
    is_nan = np.isnan(values)
    return Read(pa.array(values, mask=is_nan), is_missing, is_nan & ~is_missing, nowhere)


def kernel_numbers(column: pa.Array) -> Numbers:
    """Numbers of one of the types of `number_type`, as the kernel has them."""
    is_number = ~nulls(column)
    kind = column.type
    if not pa.types.is_decimal(kind):
        return Numbers(column.fill_null(0).to_numpy(), is_number)
    words = _words(column)
    if kind.scale and not _is_narrow(words):
        column = _without_trailing_zeros(column)
        words = _words(column)
    values = words[:, 0] if _is_narrow(words) else _limbs(words)
    return Numbers(values, is_number, column.type.scale)


def _decimal_type(kind: pa.DataType) -> pa.DataType:
    """A decimal type of 128 or 256 bits, with all digits before the point; float64 if there is no such type."""
    precision, scale = kind.precision - min(0, kind.scale), max(0, kind.scale)
    if max(precision, scale) > _MOST_DIGITS:
        return pa.float64()
    return pa.decimal128(precision, scale) if precision <= TEXT_DIGITS else pa.decimal256(precision, scale)


def _from_texts(column: pa.Array) -> tuple[pa.Array, Flags]:
    """The numbers that texts say, in a type that is wide enough for those that are there; and where one is too long."""
    is_plain = pc.match_substring_regex(column, _PLAIN).fill_null(False)
    plain = pc.if_else(is_plain, column, pa.scalar(None, column.type))
    is_long = np.zeros(len(column), bool)
    if is_plain.true_count + column.null_count < len(column):
        is_other = pc.and_(pc.invert(is_plain), pc.match_substring_regex(column, NUMERIC).fill_null(False))
        codes = column.filter(is_other).dictionary_encode()
        others = pa.array(map(_plain_text, codes.dictionary.to_pylist()), column.type).take(codes.indices)
        plain = pc.replace_with_mask(plain, is_other, others)
        is_long = (pc.and_(is_other, plain.is_null())).to_numpy(zero_copy_only=False)
    length, point = pc.binary_length(plain), pc.find_substring(plain, ".")
    before = pc.if_else(pc.equal(point, -1), length, point)
    places = pc.subtract(pc.subtract(length, before), pc.if_else(pc.equal(point, -1), 0, 1))
    scale = pc.max(places).as_py() or 0
    precision = min(_MOST_DIGITS, (pc.max(before).as_py() or 0) + scale + 1)
    kind = pa.decimal128(precision, scale) if precision <= TEXT_DIGITS else pa.decimal256(precision, scale)
    return plain.cast(kind), is_long


def _plain_text(text: str) -> str | None:
    """A number without an exponent, rounded to as many places as we keep; None if it is too long."""
    value = Decimal(text)
    if value.adjusted() >= TEXT_DIGITS:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-TEXT_DIGITS), context=_EXACTLY)
    return format(rounded, "f").rstrip("0") if rounded.adjusted() < TEXT_DIGITS else None


def _words(column: pa.Array) -> NDArray[Any]:
    """The numbers of a column of decimals as rows of 64 bits, the lowest first; 0 where there is none."""
    if column.null_count:
        column = column.fill_null(pa.scalar(Decimal(0), column.type))
    count = column.type.byte_width // 8
    words = np.frombuffer(column.buffers()[1], np.int64)
    return words[column.offset * count : (column.offset + len(column)) * count].reshape(-1, count)


def _is_narrow(words: NDArray[Any]) -> bool:
    """Whether all numbers fit 64 bits: what is above repeats the sign."""
    sign = words[:, 0] >> 63
    return all((words[:, place] == sign).all() for place in range(1, words.shape[1]))


def _without_trailing_zeros(column: pa.Array) -> pa.Array:
    """The same numbers with no more decimal places than they need, which is often fewer than their type has."""
    wide = column.cast(pa.decimal256(_MOST_DIGITS, column.type.scale))
    low, high = 0, column.type.scale
    while low < high:
        middle = (low + high) // 2
        try:
            wide = wide.cast(pa.decimal256(_MOST_DIGITS, middle))
        except pa.ArrowInvalid:
            low = middle + 1
        else:
            high = middle
    return wide


def _limbs(words: NDArray[Any]) -> Ints:
    """The same numbers in base 2**31, as `kernel.Numbers` has them."""
    low = (1 << LIMB) - 1
    count = words.shape[1]
    unsigned = words.view(np.uint64)
    limbs = []
    for at in range(0, 64 * count - LIMB, LIMB):
        place, offset = divmod(at, 64)
        limb = unsigned[:, place] >> np.uint64(offset)
        if offset + LIMB > 64:
            limb = limb | (unsigned[:, place + 1] << np.uint64(64 - offset))
        limbs.append((limb & np.uint64(low)).astype(np.int64))
    rest = len(limbs) * LIMB - 64 * (count - 1)
    limbs.append(words[:, -1] >> rest)
    return np.stack(limbs, axis=1)
