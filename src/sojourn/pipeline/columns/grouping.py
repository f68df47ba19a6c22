"""Rows by key, then time: how a log becomes the groups of the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..kernel.search import Ints, order_by


class Groups(NamedTuple):
    """One group per key: `order` is that of the rows, `starts` as in `kernel.Events`, `names` the key of each group."""

    order: Ints
    starts: Ints
    names: pa.Array

    @property
    def of_rows(self) -> Ints:
        """The group of each row, in their order."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.starts))


def by_key(keys: pa.Array, at: Ints) -> Groups:
    """The groups of rows in any order."""
    encoded = keys.dictionary_encode()
    return _groups(encoded.indices.to_numpy(), at, encoded.dictionary)


def by_key_and_asked(keys: pa.Array, at: Ints, asked: pa.Array) -> tuple[Groups, Ints]:
    """The same, with the group of each key that is asked for; some of these groups may have no rows."""
    both = [part.cast(pa.large_string()) for part in (keys, asked)] if keys.type != asked.type else [keys, asked]
    encoded = pa.concat_arrays(both).dictionary_encode()
    code = encoded.indices.to_numpy()
    return _groups(code[: len(keys)], at, encoded.dictionary), code[len(keys) :]


def _groups(code: NDArray[np.int32], at: Ints, names: pa.Array) -> Groups:
    counts = np.bincount(code, minlength=len(names))
    return Groups(order_by(code, at), np.append(0, np.cumsum(counts)), names)
