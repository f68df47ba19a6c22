"""Counts of times or durations by interval: small however many values there are, and mergeable in any order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
WIDTHS = (1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 10 * DAY, 100 * DAY, 1_000 * DAY)
"""The widths an interval may have, in milliseconds. Each divides the next, so that counts can be made coarser."""

MOST = 4_096
"""How many intervals may hold something before they are made wider. Values on a coarse grid stay exact."""


@dataclass(frozen=True, slots=True)
class Bins:
    """How many values of each class lie in [i * width, (i + 1) * width), for each place i where there are any.

    `places` is sorted; `counts` has one row a place and one column a class. No interval is made wider than `widest`.
    """

    width: int
    places: Ints
    counts: Ints
    widest: int = WIDTHS[-1]

    @staticmethod
    def of(values: Ints, classes: Ints, number_of_classes: int, widest: int = WIDTHS[-1]) -> Bins:
        """The values, each counted in its class, in intervals as fine as `MOST` allows."""
        places, where = np.unique(values, return_inverse=True)
        counts = np.zeros((len(places), number_of_classes), np.int64)
        np.add.at(counts, (where, classes), 1)
        return Bins(1, places, counts, widest)._fitted()

    def plus(self, other: Bins) -> Bins:
        """All counts together, as wide as the wider of the two."""
        width = max(self.width, other.width)
        mine, theirs = self.coarser(width), other.coarser(width)
        places, counts = np.concatenate([mine.places, theirs.places]), np.concatenate([mine.counts, theirs.counts])
        return Bins(width, places, counts, self.widest)._summed(places)._fitted()

    def coarser(self, width: int) -> Bins:
        """The same counts in wider intervals; `width` is a multiple of the present one."""
        if width == self.width:
            return self
        return replace(self, width=width)._summed(self.places // (width // self.width))

    def _fitted(self) -> Bins:
        bins = self
        for width in WIDTHS:
            if len(bins.places) <= MOST or width > self.widest:
                break
            if width > bins.width:
                bins = bins.coarser(width)
        return bins

    def _summed(self, places: Ints) -> Bins:
        """The rows of equal `places` added up."""
        distinct, where = np.unique(places, return_inverse=True)
        counts = np.zeros((len(distinct), self.counts.shape[1]), np.int64)
        np.add.at(counts, where, self.counts)
        return replace(self, places=distinct, counts=counts)
