"""Outcomes into a sink of one's own: a function that is handed each micro-batch, with a key that says which it is."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from ..checkpoint.files import Files
from .sink import Folder, MicroBatch, Sink, start

Take = Callable[[DataFrame, MicroBatch], None]
"""Takes the outcomes of a micro-batch, and which one it is."""


def deliver(
    outcomes: DataFrame,
    take: Take,
    *,
    checkpoint: str,
    aside: str | None = None,
    available_now: bool = False,
    every: str | None = None,
    name: str | None = None,
) -> StreamingQuery:
    """Start a query that hands the outcomes of each micro-batch to `take(rows, batch)`, on the driver.

    A micro-batch whose `take` did not return, or that was not committed after it, is handed over again when the query
    is started again: the same rows, under the same `batch.key`. So a sink that keeps the key together with the rows, in
    one transaction, and leaves out a key that it has, gets every outcome exactly once. One that overwrites by
    `operation_id` needs no key.

    What is set aside goes to `aside/quarantine`, as Parquet; without `aside`, to that folder in the checkpoint.
    """
    folder = Folder(Files(outcomes.sparkSession), aside or f"{checkpoint.rstrip('/')}/aside")
    sink = Sink(lambda rows, table, batch: take(rows, batch), folder)
    return start(outcomes, sink, checkpoint=checkpoint, available_now=available_now, every=every, name=name)
