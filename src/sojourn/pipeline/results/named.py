"""Counts by name: of groups, or of things that were missing. Only the most frequent names are told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import survival
from .bins import Encoded, Ints
from .cells import Cells
from .counts import STATUSES, Counts
from .survival import Curve, Estimate

MOST_NAMES = 10_000
"""How many names are told apart: the most frequent."""

OTHERS = "..."
"""What the rest of them is called."""


class Named(Mapping[str, Counts]):
    """What became of the operations of each name; and, if it is known, how long they took, as `Tally.spells`."""

    def __init__(self, names: Sequence[str], counts: Ints, spells: Cells | None) -> None:
        self._names = tuple(names)
        self._counts = counts
        self._spells = spells
        self._places = {name: place for place, name in enumerate(self._names)}

    @staticmethod
    def of(names: pa.ChunkedArray, status: Ints, spells: Encoded | None = None) -> Named:
        """The operations, each under its name; without those that have none."""
        encoded = pc.dictionary_encode(names).combine_chunks()
        size = len(encoded.dictionary)
        code = pc.fill_null(encoded.indices, size).to_numpy()
        counts = np.bincount(code * len(STATUSES) + status, minlength=(size + 1) * len(STATUSES))
        counts = counts.reshape(-1, len(STATUSES))[:size]
        occurring = np.flatnonzero(counts.any(axis=1))  # a dictionary may have names that nobody has
        places = occurring[pc.sort_indices(encoded.dictionary.take(pa.array(occurring))).to_numpy()]
        texts = encoded.dictionary.take(pa.array(places)).to_pylist()
        return Named(texts, counts[places], _cells(code, size, places, spells))._limited()

    def __getitem__(self, name: str) -> Counts:
        return Counts(*self._counts[self._places[name]].tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def curve(self, name: str) -> Curve:
        """The share that completes, by deadline."""
        assert self._spells is not None
        return survival.curve(self._spells.bins(self._places[name]))

    def completed(self, name: str, deadline: int) -> Estimate | None:
        """The share that completes by the deadline as it is; None if nobody was seen for so long."""
        assert self._spells is not None
        return survival.curve(self._spells.bins(self._places[name]), only_completed=True).all_by(deadline)

    def plus(self, other: Named) -> Named:
        """Both, as if counted together."""
        names = sorted({*self._names, *other._names})
        return self._under(names)._added(other._under(names))._limited()

    def _added(self, other: Named) -> Named:
        """The same, of other operations under the same names."""
        spells = None if self._spells is None or other._spells is None else self._spells.plus(other._spells)
        return Named(self._names, self._counts + other._counts, spells)

    def _under(self, names: Sequence[str], meaning: Mapping[str, str] | None = None) -> Named:
        """The same under these names, which have all of ours in them, or what they are called now."""
        places = {name: place for place, name in enumerate(names)}
        label = np.array([places[(meaning or {}).get(name, name)] for name in self._names], np.int64)
        counts = np.zeros((len(names), len(STATUSES)), np.int64)
        np.add.at(counts, label, self._counts)
        return Named(names, counts, None if self._spells is None else self._spells.relabelled(label))

    def _limited(self) -> Named:
        """The most frequent, and the others together."""
        if len(self) <= MOST_NAMES:
            return self
        opened = dict(zip(self._names, self._counts.sum(axis=1).tolist(), strict=True))
        kept = sorted(opened, key=lambda name: (name != OTHERS, -opened[name], name))[:MOST_NAMES]
        others = dict.fromkeys(opened.keys() - set(kept), OTHERS)
        return self._under(sorted({*kept, OTHERS}), others)


def _cells(code: Ints, size: int, places: Ints, spells: Encoded | None) -> Cells | None:
    """Durations by name, where each has a code below `size`, or that for none; the names are in these places."""
    if spells is None:
        return None
    label = np.full(size + 1, len(places))
    label[places] = np.arange(len(places))
    return Cells.of(label[code], len(places), spells)
