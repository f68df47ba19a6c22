"""A run of `sojourn stream`: a query, watched until it ends or is told to."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from ...errors import ConfigError
from ...pipeline import stream
from ...pipeline.stream.checkpoint.changes import OnRemoval
from ...pipeline.stream.checkpoint.files import Files
from ...pipeline.stream.checkpoint.status import PROGRESS, pending_count
from ...pipeline.stream.doors.sink import OUTCOMES, QUARANTINE
from ...pipeline.stream.doors.sinks import check_sink, folder_of, sink_of
from ...pipeline.stream.doors.sources import From
from ...rules import Rule
from ..causes import innermost
from ..exits import is_debugging
from ..options import duration_of
from ..overlap import refuse_in_folder
from ..spark.session import spark_session
from .screen import StreamScreen

POLL_S = 1


@dataclass(frozen=True)
class StreamRun:
    """What is to be run. `columns` and `options` are those of `stream.outcomes`.

    `operations` is where operations come from, if not from the events.
    """

    source: From
    rules: Sequence[Path]
    sink: str
    checkpoint: str
    columns: Mapping[str, str | None]
    options: Mapping[str, Any]
    available_now: bool = False
    every: str | None = None
    removed: OnRemoval | None = None
    operations: From | None = None

    def run(self, master: str | None, conf: Mapping[str, str]) -> None:
        """Until there is nothing more to do, or until Ctrl-C."""
        rules = [Rule.from_toml(file) for file in self.rules]
        self._check()
        with spark_session(master, conf, is_quiet=not is_debugging()) as spark:
            events = self.source.read(spark, rules, self.columns)
            given = None if self.operations is None else self.operations.read_operations(spark)
            outcomes = stream.outcomes(events, rules, operations=given, **{**self.columns, **self.options})
            sink = sink_of(spark, self.sink, self.checkpoint)
            told = [rule.name for rule in rules] if self.removed == "leave" else None
            screen = StreamScreen(title_of(rules), pending_count(spark, self.checkpoint, told))
            query = stream.start(
                outcomes,
                sink,
                checkpoint=self.checkpoint,
                available_now=self.available_now,
                every=self.every,
                removed=self.removed,
            )
            watch(query, screen, Files(spark), f"{self.checkpoint.rstrip('/')}/{PROGRESS}")

    def _check(self) -> None:
        """Refuse what can be known to be wrong before Spark is started, which takes a while."""
        check_sink(self.sink)
        for option in ("late", "remember"):
            if self.options.get(option) is not None:
                duration_of(f"--{option}", self.options[option])
        read = [source.folder for source in (self.source, self.operations) if source is not None and source.folder]
        for folder in read:
            refuse_in_folder("checkpoint", self.checkpoint, folder)
            if (outcomes := folder_of(self.sink)) is not None:
                refuse_in_folder("outcomes", outcomes, folder, OUTCOMES, QUARANTINE)


def title_of(rules: Sequence[Rule]) -> str:
    return "\n".join(map(str, rules))


class Interrupts:
    """Counts Ctrl-C, so that it interrupts neither a micro-batch nor a call to the Java side."""

    def __init__(self) -> None:
        self.times = 0

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._count)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _count(self, number: int, frame: object) -> None:
        self.times += 1


def watch(query: StreamingQuery, screen: StreamScreen, files: Files, report: str) -> None:
    """Show each micro-batch, and keep the last report where `status` finds it, until the query ends.

    After Ctrl-C the micro-batch under way is the last one; a second Ctrl-C stops it too.
    """
    seen = -1

    def look() -> None:
        nonlocal seen
        for progress in query.recentProgress:
            if progress.batchId > seen:
                seen = progress.batchId
                screen.show(progress)
                files.write(report, progress.json)

    try:
        with screen, Interrupts() as asked:
            while not asked.times and not query.awaitTermination(POLL_S):
                look()
            if asked.times:
                screen.say("stopping after this micro-batch; Ctrl-C again stops at once")
            last = seen
            while asked.times == 1 and seen == last and query.status["isTriggerActive"]:
                query.awaitTermination(POLL_S)
                look()
            look()
    except StreamingQueryException as error:
        raise ConfigError(innermost(error)) from error
    finally:
        query.stop()
