"""An Arrow table of events, read by a plan: flags for what cannot be used, columns for the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import ConfigError
from ...rules import Column, UntilColumn
from ..deal import ENOUGH_ROWS, in_parallel
from ..kernel import UNREADABLE, Numbers
from ..kernel.search import Flags, Ints
from ..plan import Plan
from ..schema import AT, KEY, KIND, SOURCE
from .kinds import kind_text, plain_type
from .numbers import Read, kernel_numbers, read_numbers
from .reasons import Amount, Limit, Validity
from .times import NEGATIVE, TOO_FAR, UNKNOWN, Times, durations, floats, has_whole_numbers, is_text, nulls, times

LONGEST = 2**31 - 1
"""How many bytes of text fit a column of Arrow's plain strings."""

_WHOLE = 2**53
_WHOLE_DECIMAL = r"^-?\d+(?:\.0*)?\z|^0E-\d+\z"
"""What Arrow writes for a decimal without a fraction; 0E-10 is a zero with ten places."""


class Texts(NamedTuple):
    """A column of keys, kinds or sources as text; null where there is none, or none that can be used."""

    values: pa.Array
    is_missing: Flags
    is_bad: Flags


class EventColumns:
    """The facts of a log (`reasons.Facts`), and its columns as the kernel wants them, row by row as in the table."""

    def __init__(self, table: pa.Table, plan: Plan) -> None:
        self._table = table
        self._plan = plan
        self._read: dict[str, Read] = {}
        self._numbers: dict[str, Numbers] = {}
        self._deadlines: dict[Column | UntilColumn, Ints] = {}

    def read_in_parallel(self) -> None:
        """Read the columns that rules ask for now, each by a thread of its own, if that is worth it."""
        if len(self._table) >= ENOUGH_ROWS:
            numbers = [partial(self.amount, name) for name in self._plan.numbers]
            sources = "source_code" if self._plan.has_sources else "source"
            columns = [partial(getattr, self, name) for name in ("key", "kind_code", "at", sources)]
            in_parallel(_called, [*columns, *numbers])

    @cached_property
    def key(self) -> Texts:
        return self._texts(KEY)

    @cached_property
    def kind(self) -> Texts:
        return self._dictionary_texts(KIND)

    @cached_property
    def source(self) -> Texts | None:
        return self._dictionary_texts(SOURCE) if SOURCE in self._plan.columns else None

    @cached_property
    def at(self) -> Times:
        name = self._plan.columns[AT]
        return times(name, self._column(name), self._plan.unit)

    @cached_property
    def kind_code(self) -> Ints:
        """The index of each row's kind among those that the rules name; -1 if it is none of them."""
        kinds = self.kind.values
        if not pa.types.is_dictionary(kinds.type):
            return _indices_among(kinds, self._plan.kinds)
        codes = _indices_among(kinds.dictionary, self._plan.kinds)
        return np.append(codes, codes.dtype.type(-1))[_indices(kinds)]

    @cached_property
    def source_code(self) -> Ints | None:
        """A number for each source, the same for the same one; None if no rule asks for sources."""
        if self.source is None:
            return None
        sources = self.source.values
        is_encoded = pa.types.is_dictionary(sources.type)
        return _indices(sources if is_encoded else sources.dictionary_encode("encode"))

    @property
    def validity(self) -> dict[str, Validity]:
        columns = {"key": self.key, "kind": self.kind, "time": self.at, "source": self.source}
        return {name: Validity(c.is_missing, c.is_bad) for name, c in columns.items() if c is not None}

    def is_kind(self, kind: str) -> Flags:
        return np.equal(self.kind_code, self._plan.kinds.index(kind))

    def number(self, name: str) -> Numbers:
        if name not in self._numbers:
            self._numbers[name] = kernel_numbers(self.number_column(name))
        return self._numbers[name]

    def number_column(self, name: str) -> pa.Array:
        """The same in Arrow, null where there is none."""
        return self._read_number(name).values

    def amount(self, number: str) -> Amount:
        read, numbers = self._read_number(number), self.number(number)
        return Amount(read.is_missing, read.is_bad, numbers.is_number & ~numbers.is_amount, read.is_long)

    def deadline(self, within: Column | UntilColumn) -> Ints:
        """The deadline that each row names; UNREADABLE if it does not."""
        if within not in self._deadlines:
            self._deadlines[within] = self._deadline(within)
        return self._deadlines[within]

    def _deadline(self, within: Column | UntilColumn) -> Ints:
        if isinstance(within, UntilColumn):
            until = self._until(within)
            return np.where(until.is_missing | until.is_bad, UNREADABLE, np.maximum(self.at.ms, until.ms))
        ms = durations(within.name, self._column(within.name))
        return np.where(ms < 0, UNREADABLE, self.at.ms + np.maximum(ms, 0))

    def group(self, name: str) -> pa.Array:
        """What a column says, as text."""
        return self._column(name).cast(pa.string())

    def limit(self, within: Column | UntilColumn) -> Limit:
        if isinstance(within, UntilColumn):
            until = self._until(within)
            nowhere = np.zeros(len(until.ms), bool)
            return Limit(until.is_missing, until.is_bad, nowhere, nowhere)
        column = self._column(within.name)
        ms = durations(within.name, column)
        is_missing = column.is_null().to_numpy(zero_copy_only=False)
        return Limit(is_missing, ms == UNKNOWN, ms == NEGATIVE, ms == TOO_FAR)

    def _until(self, within: UntilColumn) -> Times:
        return times(within.name, self._column(within.name), self._plan.unit, up=True)

    def _column(self, name: str) -> pa.Array:
        return in_one_piece(self._table[name])

    def _texts(self, ours: str) -> Texts:
        name = self._plan.columns[ours]
        return texts(name, self._column(name))

    def _dictionary_texts(self, ours: str) -> Texts:
        """Texts with few different values: a dictionary of them is left as it is."""
        column = self._table[self._plan.columns[ours]]
        if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
            return self._texts(ours)
        values = column.unify_dictionaries().combine_chunks()
        if values.dictionary.null_count:
            return self._texts(ours)
        return Texts(values, nulls(values), np.zeros(len(values), bool))

    def _read_number(self, name: str) -> Read:
        if name not in self._read:
            theirs = self._plan.column_of(name)
            self._read[name] = read_numbers(theirs, self._column(theirs))
        return self._read[name]


def _called(read: Callable[[], object]) -> None:
    read()


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array, of plain values."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type) or (pa.types.is_string(column.type) and column.nbytes > LONGEST):
        column = column.cast(pa.large_string())
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _indices_among(values: pa.Array, known: Sequence[str]) -> Ints:
    """The index of each text among the known ones; -1 if it is none of them."""
    indices = pc.index_in(values, pa.array(known, values.type)).fill_null(-1)
    return np.asarray(indices, np.int16 if len(known) < 2**15 else np.int32)


def _indices(encoded: pa.DictionaryArray) -> Ints:
    """The index of each text in its dictionary; -1 if it is missing."""
    indices: Ints = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy()
    return indices


def texts(name: str, column: pa.Array) -> Texts:
    """A column as text; whole numbers become text. `ConfigError` if it holds anything else."""
    if column.type != plain_type(column.type):
        column = column.cast(plain_type(column.type))
    is_missing = nulls(column)
    is_bad = np.zeros(len(column), bool)
    kind = column.type
    if is_text(kind):
        return Texts(column, is_missing, is_bad)
    if pa.types.is_floating(kind):
        values = floats(column)
        is_whole = np.isfinite(values) & (np.abs(values) < _WHOLE) & (values == np.floor(values))
        whole = pa.array(np.where(is_whole, values, 0).astype(np.int64), mask=~is_whole)
        return Texts(whole.cast(pa.string()), is_missing, ~is_whole & ~is_missing)
    if has_whole_numbers(kind) or pa.types.is_null(kind):
        return Texts(column.cast(pa.string()), is_missing, is_bad)
    if pa.types.is_decimal(kind):
        written = column.cast(pa.string())
        has_no_fraction = pc.match_substring_regex(written, _WHOLE_DECIMAL)
        whole = pc.if_else(
            has_no_fraction, pc.replace_substring_regex(written, r"[.E].*", ""), pa.scalar(None, pa.string())
        )
        return Texts(whole, is_missing, whole.is_null().to_numpy(zero_copy_only=False) & ~is_missing)
    raise ConfigError(f"column {name!r} is {kind_text(kind)}; a key, a kind and a source are texts or whole numbers")
