"""Counts of durations by interval and by label: those of each period or group, in one small table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from .bins import GRID, Bins, Encoded, Ints

MOST = 32_768
"""How many cells may hold something before intervals are made wider."""

_DENSE = 1 << 22


@dataclass(frozen=True, slots=True)
class Cells:
    """`Bins` side by side, all of one level: a row for each label and place, in this order, with a count per class."""

    level: int
    labels: Ints
    places: Ints
    counts: Ints

    @staticmethod
    def of(labels: Ints, number_of_labels: int, values: Encoded) -> Cells:
        """The values, each counted under its label."""
        number_of_places = max(1, len(values.places))
        rows = labels * number_of_places + values.codes
        counted, counts = _counted(rows, values, number_of_labels * number_of_places)
        cells = Cells(values.level, counted // number_of_places, values.places[counted % number_of_places], counts)
        return cells._fitted()

    def plus(self, other: Cells) -> Cells:
        """All counts together, as coarse as the coarser of the two; the labels mean the same in both."""
        level = max(self.level, other.level)
        mine, theirs = self.coarser(level), other.coarser(level)
        columns = zip(
            (mine.labels, mine.places, mine.counts), (theirs.labels, theirs.places, theirs.counts), strict=True
        )
        return Cells(level, *(np.concatenate(both) for both in columns))._summed()._fitted()

    def coarser(self, level: int) -> Cells:
        """The same counts at a level that is not finer."""
        if level == self.level:
            return self
        return replace(self, level=level, places=GRID.coarser(self.places, self.level, level))._summed()

    def relabelled(self, labels: Ints) -> Cells:
        """The same counts under other labels, `labels[i]` for i; some may be the same."""
        return replace(self, labels=labels[self.labels])._summed() if len(self.labels) else self

    def bins(self, label: int) -> Bins:
        """The counts under one label."""
        start, end = np.searchsorted(self.labels, [label, label + 1])
        return Bins(self.level, self.places[start:end], self.counts[start:end])

    def _fitted(self) -> Cells:
        cells = self
        while len(cells.places) > MOST and cells.level < GRID.levels - 1:
            cells = cells.coarser(cells.level + 1)
        return cells

    def _summed(self) -> Cells:
        """In order, with the rows of equal label and place added up."""
        order = np.lexsort((self.places, self.labels))
        labels, places = self.labels[order], self.places[order]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (labels[1:] != labels[:-1]) | (places[1:] != places[:-1])
        starts = np.flatnonzero(is_new)
        counts = np.add.reduceat(self.counts[order], starts) if len(starts) else self.counts[:0]
        return Cells(self.level, labels[starts], places[starts], counts)


def _counted(rows: Ints, values: Encoded, number_of_rows: int) -> tuple[Ints, Ints]:
    """How often each row occurs, by class: the rows that do, in order."""
    number = values.number_of_classes
    keys = rows * number + values.classes
    if number_of_rows * number <= _DENSE:
        counts = np.bincount(keys, minlength=number_of_rows * number).reshape(-1, number)
        occurring = np.flatnonzero(counts.any(axis=1))
        return occurring, counts[occurring]
    found = pa.array(keys).value_counts()
    key, times = found.field("values").to_numpy(), found.field("counts").to_numpy()
    occurring, place = np.unique(key // number, return_inverse=True)
    counts = np.zeros((len(occurring), number), np.int64)
    counts[place, key % number] = times
    return occurring, counts
