"""Rows by key, then time: how a log becomes the groups of the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..kernel.search import Ints, RowNumbers, placed_in_time
from .texts import coded


class KeyGroups(NamedTuple):
    """One group per key: `order` is that of the rows, `starts` as in `kernel.Events`, `names` the key of each group."""

    order: RowNumbers
    starts: Ints
    names: pa.Array


def by_key(keys: pa.Array, at: Ints) -> KeyGroups:
    """The groups of all rows, in any order."""
    code, names = coded(keys)
    return KeyGroups(*placed_in_time(code, len(names), at), names)


def by_key_and_asked(keys: pa.Array, at: Ints, asked: pa.Array) -> tuple[KeyGroups, Ints]:
    """The same, with the group of each key that is asked for; some of these groups may have no rows."""
    both = [part.cast(pa.large_string()) for part in (keys, asked)] if keys.type != asked.type else [keys, asked]
    code, names = coded(pa.concat_arrays(both))
    groups = KeyGroups(*placed_in_time(code[: len(keys)], len(names), at), names)
    return groups, code[len(keys) :].astype(np.int64)


def first_said(texts: pa.Array, instant: Ints, asked: Ints) -> pa.Array:
    """For each instant that is asked for, the first text, in their order, that a row of that instant says.

    The rows are in the order of instants. Null where they say nothing.
    """
    encoded = texts.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    rank = np.full(len(order) + 1, len(order))
    rank[order] = np.arange(len(order))
    said = rank[encoded.indices.fill_null(len(order)).to_numpy()]
    starts = np.flatnonzero(np.diff(instant, prepend=-1))
    first = np.minimum.reduceat(said, starts)[np.searchsorted(instant[starts], asked)]
    return encoded.dictionary.take(pa.array(order)).take(pa.array(first, mask=first == len(order)))
