"""Each case by hand, in Polars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa

from .conditions import ALIVE_MS, Case
from .data import KEYS_EACH, WITHIN_MS

T, S = pl.col("t"), pl.col("s")
SINCE = T.filter(T >= S)


class Polars:
    def run(self, name: str, case: Case, log: Path, operations: Path | None) -> pl.DataFrame:
        given = pl.scan_parquet(operations) if operations else None
        events = pl.scan_parquet(log).with_columns(t=pl.col("stamp").dt.epoch("ms"))
        if given is not None:
            return _many_keys(events, given).collect()
        return _CASES[name](_opened(events), events).collect()

    def outcomes(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        return self.run(name, case, log, operations).to_arrow()

    def version(self) -> str:
        return str(pl.__version__)


def _opened(events: pl.LazyFrame) -> pl.LazyFrame:
    return events.filter(pl.col("kind") == "open").select("key", s="t")


def _signals(events: pl.LazyFrame) -> pl.LazyFrame:
    return events.filter(pl.col("kind") == "signal")


def _ended(met: pl.LazyFrame) -> pl.LazyFrame:
    deadline, in_time = S + WITHIN_MS, pl.col("met") <= S + WITHIN_MS
    return met.select(
        id="key",
        opened_at=S,
        deadline=deadline,
        outcome=pl.when(in_time).then(pl.lit("completed")).otherwise(pl.lit("expired")),
        ended_at=pl.when(in_time).then("met").otherwise(deadline),
        met_at="met",
    )


def _nth_least(n: int) -> pl.Expr:
    return pl.col("t").sort().get(n - 1, null_on_oob=True).alias("met")


def _seen(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    joined = ops.join(_signals(events).select("key", "t"), on="key", how="left")
    return _ended(joined.group_by("key", "s").agg(SINCE.min().alias("met")))


def _count(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    since = ops.join(_signals(events).select("key", "t"), on="key").filter(T >= S)
    found = since.group_by("key").agg(_nth_least(2))
    return _ended(ops.join(found, on="key", how="left"))


def _distinct(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    since = ops.join(_signals(events).select("key", "source", "t"), on="key").filter(T >= S)
    firsts = since.group_by("key", "source").agg(T.min())
    return _ended(ops.join(firsts.group_by("key").agg(_nth_least(2)), on="key", how="left"))


def _sum(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    since = ops.join(_signals(events).select("key", "value", "t"), on="key").filter(T >= S).sort("key", "t")
    totals = since.with_columns(total=pl.col("value").cum_sum().over("key"))
    found = totals.filter(pl.col("total") >= 100).group_by("key").agg(T.min().alias("met"))
    return _ended(ops.join(found, on="key", how="left"))


def _reached(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    firsts = _signals(events).filter(pl.col("value") >= 60).group_by("key", "source").agg(T.min())
    levels = firsts.group_by("key").agg(_nth_least(2))
    met = pl.when(pl.col("met").is_not_null()).then(pl.max_horizontal("met", "s"))
    return _ended(ops.join(levels, on="key", how="left").with_columns(met=met))


def _parts(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    kinds = ("paid", "packed", "waived", "stopped")
    signals = events.filter(pl.col("kind") != "open").select("key", "kind", "t")
    firsts = [T.filter((T >= S) & (pl.col("kind") == kind)).min().alias(kind) for kind in kinds]
    found = ops.join(signals, on="key", how="left").group_by("key", "s").agg(firsts)
    packed = pl.min_horizontal("packed", "waived")
    met = pl.when(pl.col("paid").is_not_null() & packed.is_not_null()).then(pl.max_horizontal("paid", packed))
    deadline, stopped = S + WITHIN_MS, pl.col("stopped")
    in_time = (pl.col("met") <= deadline) & (stopped.is_null() | (pl.col("met") <= stopped))
    is_stopped = stopped <= deadline
    outcome = pl.when(in_time).then(pl.lit("completed")).when(is_stopped).then(pl.lit("cancelled"))
    return found.with_columns(met=met).select(
        id="key",
        opened_at=S,
        deadline=deadline,
        outcome=outcome.otherwise(pl.lit("expired")),
        ended_at=pl.when(in_time).then("met").when(is_stopped).then(stopped).otherwise(deadline),
        met_at="met",
    )


def _heartbeat(ops: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    since = ops.join(_signals(events).select("key", "t"), on="key").filter(T >= S)
    beats = pl.concat([ops.select("key", "s", t="s"), since.select("key", "s", "t")]).sort("key", "t")
    is_last = (pl.col("key") != pl.col("key").shift(-1)).fill_null(True) | (T.shift(-1) - T > ALIVE_MS)
    ended = beats.filter(is_last).group_by("key", "s").agg((T.min() + ALIVE_MS).alias("d"))
    never = pl.lit(None, pl.Int64)
    return ended.select(id="key", opened_at=S, deadline="d", outcome=pl.lit("expired"), ended_at="d", met_at=never)


def _many_keys(events: pl.LazyFrame, operations: pl.LazyFrame) -> pl.LazyFrame:
    ops = operations.select("operation_id", "keys", s=pl.col("opened_at").dt.epoch("ms"))
    pairs = ops.with_columns(key=pl.col("keys").list.unique()).drop("keys").explode("key")
    since = pairs.join(events.select("key", "t"), on="key").filter(T >= S)
    firsts = since.group_by("operation_id", "key").agg(T.min())
    found = firsts.group_by("operation_id").agg(_nth_least(KEYS_EACH))
    return _ended(ops.drop("keys").join(found, on="operation_id", how="left").rename({"operation_id": "key"}))


_CASES: dict[str, Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame]] = {
    "seen": _seen,
    "count": _count,
    "distinct": _distinct,
    "sum": _sum,
    "reached": _reached,
    "parts": _parts,
    "heartbeat": _heartbeat,
}
