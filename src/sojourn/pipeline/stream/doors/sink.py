"""Outcomes into Parquet, exactly once for every reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.streaming.query import StreamingQuery

from ....errors import ConfigError
from ... import schema as S  # noqa: N812
from ...spark.parquet import writing
from ..checkpoint.changes import History, OnRemoval, identified
from ..checkpoint.files import Files
from ..checkpoint.settings import Settings
from ..frame import METRICS, decided, set_aside
from ..runtime import telling
from ..shard.pack import ASIDE
from .owner import claim, folders_read, refuse_sources

OUTCOMES, QUARANTINE = "outcomes", "quarantine"

_ROCKSDB = "spark.sql.streaming.stateStore"
DEFAULTS = {
    f"{_ROCKSDB}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_ROCKSDB}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_ROCKSDB}.rocksdb.trackTotalNumberOfRows": "false",
}
"""The settings that a stream needs: state in RocksDB, of which a checkpoint saves what has changed.

To count the rows of the state, RocksDB would have to read what is replaced: our rows are large, and few.
"""

LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""How Spark writes a checkpoint on a local disk. Its own choice asks of each file whether it is a symbolic link, and
starts a process (`readlink`) to find out: some forty in every micro-batch. On HDFS its own choice is the right one."""

_PARTITIONS = "spark.sql.shuffle.partitions"

_BATCHES_THAT_WAKE = 20
"""After a change of rules. One without events wakes nobody; whoever is not woken hears of it with its next event."""


class MicroBatch(NamedTuple):
    """A micro-batch: the id of the stream that it is of, and its number there."""

    stream: str
    number: int

    @property
    def key(self) -> str:
        """The same whenever the micro-batch is repeated, and no other one's."""
        return f"{self.stream}/{self.number}"


Deliver = Callable[[DataFrame, str, MicroBatch], None]
"""Takes the outcomes of a micro-batch, under the name of their table."""


def write(
    outcomes: DataFrame,
    path: str,
    *,
    checkpoint: str,
    available_now: bool = False,
    every: str | None = None,
    name: str | None = None,
    removed: OnRemoval | None = None,
) -> StreamingQuery:
    """Start a query that writes what `outcomes` gives as Parquet: `path/outcomes` and, set aside, `path/quarantine`.

    A micro-batch that has rows becomes one directory, `batch=17`, that appears all at once; the first one always does,
    so that both tables can be read from then on. A batch that is repeated after a failure gives the same rows,
    and leaves the directory as it is. So no reader sees an outcome twice, or half a batch. The folder belongs to the
    stream of one checkpoint; another one is refused.

    Rules may be added to those that a checkpoint has: they look at events that are newer than all that were read
    before. Of rules that are missing, `removed` says whether what is pending is told as cancelled ("cancel") or not
    ("leave").
    """
    folder = Folder(Files(outcomes.sparkSession), path)
    sink = Sink(folder.publish, folder)
    options: dict[str, Any] = {"available_now": available_now, "every": every, "name": name, "removed": removed}
    return start(outcomes, sink, checkpoint=checkpoint, **options)


def start(
    outcomes: DataFrame,
    sink: Sink,
    *,
    checkpoint: str,
    available_now: bool = False,
    every: str | None = None,
    name: str | None = None,
    removed: OnRemoval | None = None,
) -> StreamingQuery:
    """Start a query into a sink, after checking its checkpoint, with the settings that Spark needs for it."""
    settings = _settings(outcomes)
    spark = outcomes.sparkSession
    files = Files(spark)
    refuse_sources(files, folders_read(outcomes), [checkpoint, *sink.folders])
    stream, history = identified(files, checkpoint, settings, removed)
    sink.claim(stream, checkpoint)
    sink.history = history
    writer = outcomes.writeStream.foreachBatch(sink).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if available_now:
        writer = writer.trigger(availableNow=True)
    elif every is not None:
        writer = writer.trigger(processingTime=every)
    with configured(spark, int(settings["shards"]), is_local=files.is_local(checkpoint)):
        return writer.start()


class Folder:
    """A folder of tables, to which each micro-batch adds at most one directory per table."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path.rstrip("/")

    @property
    def tables(self) -> list[str]:
        return [f"{self._path}/{table}" for table in (OUTCOMES, QUARANTINE)]

    def claim(self, stream: str, checkpoint: str) -> None:
        """Refuse to share the folder with another stream: their micro-batches have the same numbers."""
        claim(self._files, self._path, [OUTCOMES, QUARANTINE], stream, checkpoint)

    def publish(self, rows: DataFrame, table: str, batch: MicroBatch) -> None:
        """Written under another name first: a rename makes all of it visible at once."""
        draft, target = f"{self._path}/_draft-{batch.number}", f"{self._path}/{table}/batch={batch.number}"
        with writing(rows.sparkSession):
            rows.write.mode("overwrite").parquet(draft)
        if self._files.exists(target):
            self._files.delete(draft)
        else:
            self._files.rename(draft, target)


class Sink:
    """What `foreachBatch` calls: outcomes go to `deliver`, what was set aside to a folder."""

    def __init__(self, deliver: Deliver, aside: Folder) -> None:
        self._deliver = deliver
        self._aside = aside
        self._stream = ""
        self.history: History | None = None
        """The rules of the stream."""

    @property
    def folders(self) -> list[str]:
        """Where it writes files."""
        return self._aside.tables

    def claim(self, stream: str, checkpoint: str) -> None:
        """Before the query starts: from now on, what comes is of this stream."""
        self._aside.claim(stream, checkpoint)
        self._stream = stream

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Spark's state moves on as rows are computed, so all are computed, even if none is to be delivered."""
        seen, batch = Observation(), MicroBatch(self._stream, number)
        counts = {OUTCOMES: F.count(S.OPERATION_ID), QUARANTINE: F.count(ASIDE)}
        rows = rows.observe(seen, *(count.alias(name) for name, count in counts.items())).persist()
        with telling(rows.sparkSession, *self._news(number)):
            try:
                rows.write.format("noop").mode("overwrite").save()
                if seen.get[OUTCOMES] or number == 0:
                    self._deliver(decided(rows), OUTCOMES, batch)
                if seen.get[QUARANTINE] or number == 0:
                    self._aside.publish(set_aside(rows), QUARANTINE, batch)
            finally:
                rows.unpersist()

    def _news(self, number: int) -> tuple[str, bool]:
        """What the executors must know of the rules, and whether to wake all shards for it."""
        history = self.history
        if history is None:
            return "", False
        return history.to_text(), history.number > 0 and 0 <= number - history.batch < _BATCHES_THAT_WAKE


@contextmanager
def configured(spark: SparkSession, shards: int, *, is_local: bool) -> Iterator[None]:
    """While a query is started: the settings that it needs, unless they have been chosen.

    `is_local` says whether its checkpoint is on a local disk.
    """
    wanted = {**DEFAULTS, _PARTITIONS: str(min(shards, spark.sparkContext.defaultParallelism))}
    if is_local:
        wanted |= LOCAL_CHECKPOINT
    chosen = spark.conf.getAll
    missing = {name: value for name, value in wanted.items() if name not in chosen}
    for name, value in missing.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in missing:
            spark.conf.unset(name)


def _settings(outcomes: DataFrame) -> Settings:
    fields: Mapping[str, Any] = {field.name: field.metadata for field in outcomes.schema}
    settings = fields.get(ASIDE, {}).get(METRICS)
    if settings is None:
        raise ConfigError("write takes what stream.outcomes gives, with its column `aside`; this is something else")
    return dict(settings)
