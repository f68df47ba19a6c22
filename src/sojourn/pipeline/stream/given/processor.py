"""The two steps as Spark runs them: stateful operators whose keys are shards, with one timer each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ...columns.quarantine import as_json, without_lines
from ...schema import AT, OPENED_AT, ROW
from ...spark.parcels import prepare_worker
from ..shard.decide import NO_WATERMARK
from ..shard.pack import ASIDE, EVENTS, LATE, ROWS, SET_ASIDE, SHARD, from_bytes, in_one_piece, to_bytes
from ..shard.processor import answer
from ..shard.shape import nothing
from .home import tell
from .meet import meet
from .pack import OPENED as OPENINGS_COLUMN
from .pack import WATCHED, by_shard
from .store import Logs
from .terms import HOME, NAMES, OPENINGS, WATCHES, Terms

MET_SCHEMA = f"{SHARD} int, {EVENTS} binary, {OPENINGS_COLUMN} binary, {ASIDE} binary, {LATE} bigint"
MEETING, NAMED, TICKETS = "meeting", "names", "tickets"


class MeetProcessor(StatefulProcessor):
    """The first step. `log` has the columns of the rows that come with events; `late` is what late rows are called."""

    def __init__(self, terms: Terms, settings: str, log: pa.Schema, late: str) -> None:
        self._terms, self._settings, self._log, self._late = terms, settings, log, late

    def init(self, handle: StatefulProcessorHandle) -> None:
        prepare_worker()
        self._logs = Logs(handle, self._settings, {MEETING: self._terms.meeting})

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        watermark = watermark_of(timerValues)
        events, watches, openings = nothing(self._terms.fresh), nothing(WATCHES), nothing(OPENINGS)
        for row in rows:
            if row[ASIDE] is not None:
                yield _met(0, aside=bytes(row[ASIDE]))
            if row[EVENTS] is not None:
                fresh = from_bytes(bytes(row[EVENTS]), self._terms.fresh)
                yield from self._too_late(fresh, bytes(row[ROWS]), watermark)
                events = pa.concat_batches([events, _in_time(fresh, AT, watermark)])
            if row[WATCHED] is not None:
                fresh = from_bytes(bytes(row[WATCHED]), WATCHES)
                watches = pa.concat_batches([watches, _in_time(fresh, OPENED_AT, watermark)])
            if row[OPENINGS_COLUMN] is not None:
                fresh = from_bytes(bytes(row[OPENINGS_COLUMN]), OPENINGS)
                yield from self._opened_late(fresh, watermark)
                openings = pa.concat_batches([openings, _in_time(fresh, OPENED_AT, watermark)])
        yield from self._meet(events, watches, watermark)
        for payload in by_shard(openings[HOME].to_numpy(), {OPENINGS_COLUMN: openings}):
            yield _met(payload[SHARD], openings=payload[OPENINGS_COLUMN])

    def _too_late(self, events: pa.RecordBatch, rows: bytes, watermark: int) -> Iterator[Row]:
        late = pc.less(events[AT], watermark)
        if late.true_count:
            whole = pa.Table.from_batches([from_bytes(rows, self._log).filter(late)])
            yield self._set_aside(as_json(without_lines(whole)))

    def _opened_late(self, openings: pa.RecordBatch, watermark: int) -> Iterator[Row]:
        late = openings.filter(pc.less(openings[OPENED_AT], watermark))
        if late.num_rows:
            yield self._set_aside(late[ROW])

    def _set_aside(self, texts: pa.Array) -> Row:
        aside = pa.RecordBatch.from_arrays([pa.repeat(self._late, len(texts)), texts], schema=SET_ASIDE)
        return _met(0, aside=to_bytes(aside), late=len(texts))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Nothing is handed on: what is of no use any more is let go of."""
        self._logs.state.is_awake = True
        yield from self._meet(nothing(self._terms.fresh), nothing(WATCHES), watermark_of(timerValues))
        self._logs.state.is_awake = False

    def _meet(self, events: pa.RecordBatch, watches: pa.RecordBatch, watermark: int) -> Iterator[Row]:
        met = meet(self._terms, self._logs.read()[MEETING], events, watches, watermark)
        self._logs.save({MEETING: met.kept})
        for payload in by_shard(met.home, {EVENTS: met.handed}):
            yield _met(payload[SHARD], events=payload[EVENTS])

    def close(self) -> None:
        pass


class HomeProcessor(StatefulProcessor):
    """The second step."""

    def __init__(self, terms: Terms, settings: str) -> None:
        self._terms, self._settings = terms, settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        prepare_worker()
        self._logs = Logs(handle, self._settings, {NAMED: NAMES, TICKETS: self._terms.home})

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        handed, openings = nothing(self._terms.home.fresh), nothing(OPENINGS)
        for row in rows:
            if row[ASIDE] is not None:
                yield answer(aside=from_bytes(bytes(row[ASIDE]), SET_ASIDE), late=row[LATE])
            if row[EVENTS] is not None:
                handed = pa.concat_batches([handed, from_bytes(bytes(row[EVENTS]), self._terms.home.fresh)])
            if row[OPENINGS_COLUMN] is not None:
                openings = pa.concat_batches([openings, from_bytes(bytes(row[OPENINGS_COLUMN]), OPENINGS)])
        yield from self._tell(handed, openings, watermark_of(timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        self._logs.state.is_awake = True
        yield from self._tell(nothing(self._terms.home.fresh), nothing(OPENINGS), watermark_of(timerValues))
        self._logs.state.is_awake = False

    def _tell(self, handed: pa.RecordBatch, openings: pa.RecordBatch, watermark: int) -> Iterator[Row]:
        logs = self._logs.read()
        told = tell(self._terms, logs[NAMED], logs[TICKETS], handed, openings, watermark)
        self._logs.save({NAMED: told.names, TICKETS: told.kept})
        if told.outcomes.num_rows or told.opened or told.aside.num_rows:
            yield answer(in_one_piece(told.outcomes), told.aside, opened=told.opened)

    def close(self) -> None:
        pass


def _in_time(rows: pa.RecordBatch, time: str, watermark: int) -> pa.RecordBatch:
    return rows.filter(pc.greater_equal(rows[time], watermark))


def watermark_of(timer_values: Any) -> int:
    """The first instant that is not over: Spark's watermark is the last one that is."""
    ms = int(timer_values.getCurrentWatermarkInMs())
    return ms + 1 if ms > 0 else int(np.int64(NO_WATERMARK))


def _met(
    shard: int, events: bytes | None = None, openings: bytes | None = None, aside: bytes | None = None, late: int = 0
) -> Row:
    return Row(**{SHARD: shard, EVENTS: events, OPENINGS_COLUMN: openings, ASIDE: aside, LATE: late})
