"""The rule in Polars, by hand: `python -m benchmarks.replay.polars_by_hand LOG OUT SUMMARY`.

What somebody who knows the engine would write for this one question, and who knows that every key opens once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl

T, S, D, MET, PAID, PACKED, ENDED = (pl.col(name) for name in ("t", "s", "d", "met", "paid", "packed", "ended"))


def firsts(log: pl.LazyFrame) -> pl.LazyFrame:
    """An order, its deadline, and when it was first paid and packed since it was placed."""
    events = log.with_columns(t=pl.col("at").dt.epoch("ms"))
    orders = events.filter(pl.col("kind") == "placed").select("key", s="t")
    signals = events.filter(pl.col("kind").is_in(["paid", "packed"])).select("key", "kind", "t")
    since = [pl.when((T >= S) & (pl.col("kind") == kind)).then(T).alias(kind) for kind in ("paid", "packed")]
    joined = orders.join(signals, on="key", how="left").select("key", "s", *since)
    return joined.group_by("key", "s").agg(PAID.min(), PACKED.min()).with_columns(d=S + 1_800_000)


def outcomes(log: pl.LazyFrame, end: int) -> pl.LazyFrame:
    """The eleven columns."""
    met = pl.when(PAID.is_not_null() & PACKED.is_not_null()).then(pl.max_horizontal("paid", "packed"))
    is_completed, is_over = MET <= D, end >= D
    outcome = pl.when(is_completed).then(pl.lit("completed")).when(is_over).then(pl.lit("expired"))
    ended = pl.when(is_completed).then(MET).when(is_over).then(D)
    decided = (
        firsts(log)
        .with_columns(met=met)
        .with_columns(outcome=outcome.otherwise(pl.lit("pending")), ended=ended, rule=pl.lit("fulfilled"))
    )
    decisive = pl.when(PAID == MET).then(pl.lit("paid")).otherwise(pl.lit("packed"))
    lacks = pl.when(PAID <= D).then(pl.lit("packed")).when(PACKED <= D).then(pl.lit("paid"))
    return decided.select(
        operation_id=pl.format("{}/{}/{}", "rule", "key", "s"),
        rule="rule",
        key="key",
        opened_at=_time(S),
        deadline=_time(D),
        outcome="outcome",
        at=_time(ENDED),
        waited_ms=ENDED.fill_null(end) - S,
        met_at=_time(MET),
        decided_by=pl.when(is_completed).then(decisive).when(is_over).then(pl.lit("deadline")),
        missing=pl.when(MET.is_null() | (MET > D)).then(lacks.otherwise(pl.lit("paid and packed"))),
    )


def counts(written: pl.LazyFrame) -> dict[str, int]:
    of = {name: (pl.col("outcome") == name).sum() for name in ("completed", "expired", "pending")}
    late = ((pl.col("outcome") == "expired") & pl.col("met_at").is_not_null()).sum()
    row: dict[str, int] = written.select(opened=pl.len(), **of, met_late=late).collect().row(0, named=True)
    return row


def main(log: str, out: str, summary: str) -> None:
    Path(out).mkdir()
    file = Path(out) / "outcomes.parquet"
    events = pl.scan_parquet(log)
    end = events.select(pl.col("at").max().dt.epoch("ms")).collect().item()
    outcomes(events, end).sink_parquet(file, compression="snappy")
    Path(summary).write_text(json.dumps(counts(pl.scan_parquet(file))))


def _time(ms: pl.Expr) -> pl.Expr:
    return ms.cast(pl.Datetime("ms", "UTC"))


if __name__ == "__main__":
    main(*sys.argv[1:])
