"""The shards as Spark runs them: a stateful operator whose keys are shards, with one timer each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ... import schema as S  # noqa: N812
from ...columns.quarantine import as_json, without_lines
from ...kernel import NEVER
from ...spark.parcels import prepare_worker
from ..checkpoint.changes import ruleset_of
from ..runtime import told_rules
from .decide import NO_WATERMARK
from .pack import (
    ASIDE,
    COUNTS,
    EVENTS,
    LATE,
    OPENED,
    OUTCOMES,
    QUARANTINED,
    ROWS,
    SET_ASIDE,
    from_bytes,
    in_one_piece,
    to_bytes,
)
from .ruleset import Ruleset
from .shape import Shape
from .shard import Cache, Heads, advance, heads_of, is_late, numbers_of
from .state import SparkState

OUT_SCHEMA = ", ".join([f"{OUTCOMES} binary, {ASIDE} binary", *(f"{name} bigint" for name in COUNTS)])

_cache = Cache()
"""Spark reuses its Python processes: what one has read for a micro-batch serves the next."""

_known_rules: dict[tuple[str, tuple[str, ...]], Ruleset] = {}


def _ruleset(whole: Shape, told: str) -> Ruleset:
    """What is worked out of the rules serves the next micro-batch, too."""
    name = (told, tuple(whole.of_rule(rule).id for rule in whole.plan.rules))
    if name not in _known_rules:
        _known_rules.clear()
        _known_rules[name] = ruleset_of(whole, told)
    return _known_rules[name]


class SparkStore:
    """The state of the shard that Spark is looking at, as a step wants it."""

    def __init__(self, handle: StatefulProcessorHandle, settings: str) -> None:
        self.state = SparkState(handle, settings)

    def heads(self) -> Heads:
        return heads_of(self.state.head())

    def segment(self, number: int) -> bytes:
        return self.state.segment(number)

    def save(self, old: Heads, new: Heads, added: dict[int, bytes]) -> None:
        self.state.save(new, numbers_of(old) - numbers_of(new), added)
        self.state.wake(_wake_at(old), _wake_at(new))


def _wake_at(heads: Heads) -> int:
    return min((head.wake_at for head in heads.values()), default=NEVER)


class ShardProcessor(StatefulProcessor):
    """`settings` says what the state was written under; a query with other settings is refused.

    `log` has the columns of the rows that come with events; one that is late is set aside, as `late` says.
    """

    def __init__(self, shape: Shape, settings: str, log: pa.Schema, late: str) -> None:
        self._shape = shape
        self._settings = settings
        self._log = log
        self._late = late

    def init(self, handle: StatefulProcessorHandle) -> None:
        prepare_worker()
        self._store = SparkStore(handle, self._settings)
        self._rules = _ruleset(self._shape, told_rules())

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A row without events only wakes the shard."""
        watermark = _watermark(timerValues)
        fresh, is_woken = [], False
        for row in rows:
            if row[ASIDE] is not None:
                yield answer(aside=from_bytes(bytes(row[ASIDE]), SET_ASIDE))
            elif row[EVENTS] is None:
                is_woken = True
            else:
                fresh.append(from_bytes(bytes(row[EVENTS]), self._shape.fresh))
                yield from self._too_late(is_late(fresh[-1], watermark), bytes(row[ROWS]))
        if fresh or is_woken:
            yield from self._advance(fresh, watermark)

    def _too_late(self, late: pa.Array, rows: bytes) -> Iterator[Row]:
        count = late.true_count
        if count:
            whole = pa.Table.from_batches([from_bytes(rows, self._log).filter(late)])
            texts = as_json(without_lines(whole))
            aside = pa.RecordBatch.from_arrays([pa.repeat(self._late, count), texts], schema=SET_ASIDE)
            yield answer(aside=aside, late=count)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        self._store.state.is_awake = True
        yield from self._advance([], _watermark(timerValues))
        self._store.state.is_awake = False

    def close(self) -> None:
        pass

    def _advance(self, fresh: list[pa.RecordBatch], watermark: int) -> Iterator[Row]:
        result = advance(self._rules, self._store, _cache, fresh, watermark)
        if result.outcomes.num_rows or result.opened:
            yield answer(in_one_piece(result.outcomes), opened=result.opened)


def _watermark(timer_values: Any) -> int:
    """The first instant that is not over: Spark's watermark is the last one that is."""
    ms = int(timer_values.getCurrentWatermarkInMs())
    return ms + 1 if ms > 0 else NO_WATERMARK


def answer(
    outcomes: pa.RecordBatch | None = None, aside: pa.RecordBatch | None = None, late: int = 0, opened: int = 0
) -> Row:
    """A payload from a shard. Of rows that are set aside so many are late, and the others cannot be used."""
    counts = dict.fromkeys(COUNTS, 0) | {OPENED: opened, LATE: late}
    if outcomes is not None:
        counts |= {ending["values"]: ending["counts"] for ending in pc.value_counts(outcomes[S.OUTCOME]).to_pylist()}
    if aside is not None:
        counts[QUARANTINED] = aside.num_rows - late
    return Row(**{OUTCOMES: _bytes_of(outcomes), ASIDE: _bytes_of(aside), **counts})


def _bytes_of(rows: pa.RecordBatch | None) -> bytes | None:
    return to_bytes(rows) if rows is not None and rows.num_rows else None
