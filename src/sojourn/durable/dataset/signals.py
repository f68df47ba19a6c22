"""The signals of a past as columns, and one by one as events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.kernel.search import Flags, Ints
from ...rules import Event
from . import schema as D  # noqa: N812
from .changes import Change, heard_from
from .hearing import Heard
from .past import Past, positions

_NUMBERS = {"int": int, "float": float, "decimal": Decimal}


@dataclass
class Signals:
    """In the order of the log. `counted_in` is where in the log each came to count."""

    rows: pa.Table
    at: Ints
    stamp: Ints
    position: Ints
    counted_in: Ints

    @staticmethod
    def of(past: Past, changes: list[Change]) -> Signals:
        rows = past.events.filter(pc.is_null(past.events[D.WAIT]))
        at, stamp = (rows[name].cast(pa.int64()).to_numpy() for name in ("at", D.STAMP))
        position = positions(rows)
        return Signals(rows, at, stamp, position, heard_from(changes, position))

    @property
    def has_own_time(self) -> Flags:
        return np.asarray(self.at != self.stamp)

    def order(self, chosen: Ints) -> Ints:
        """The same rows in the order in which they came to count: those held in a grace, by their times."""
        return chosen[np.lexsort((chosen, self.at[chosen], self.counted_in[chosen]))]

    def by_key(self, keys: set[str]) -> dict[str, list[tuple[int, Heard]]]:
        """The signals on these keys, in the order in which they came to count, each with its row."""
        is_asked = pc.is_in(self.rows["key"], pa.array(list(keys), pa.string())).to_numpy(zero_copy_only=False)
        chosen = self.order(np.flatnonzero(is_asked))
        found: dict[str, list[tuple[int, Heard]]] = {key: [] for key in keys}
        counted_in = self.counted_in[chosen].tolist()
        for row, place, event in zip(chosen.tolist(), counted_in, self.events(chosen), strict=True):
            found[event.key].append((row, Heard(place, event)))
        return found

    def events(self, chosen: Ints) -> Iterable[Event]:
        rows = self.rows.take(pa.array(chosen))
        columns = [rows[name].to_pylist() for name in ("key", "kind", "source", D.SOURCE_TYPE, "value", D.VALUE_TYPE)]
        for at, (key, kind, source, source_type, value, value_type) in zip(
            self.at[chosen].tolist(), zip(*columns, strict=True), strict=True
        ):
            yield Event(key, kind, at, int(source) if source_type == "int" else source, number_of(value, value_type))


def number_of(text: str | None, value_type: str | None) -> Any:
    return None if text is None or value_type is None else _NUMBERS[value_type](text)
