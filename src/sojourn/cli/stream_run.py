"""A run of `sojourn stream`: a query, watched until it ends or is told to."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from ..errors import ConfigError
from ..pipeline import stream
from ..pipeline.stream.files import Files
from ..pipeline.stream.sinks import sink_of
from ..pipeline.stream.sources import From
from ..pipeline.stream.status import PROGRESS, Status, pending, status
from ..rules import Rule, duration_text
from ..rules.outcome import time_text
from .causes import innermost
from .exits import is_debugging
from .session import spark_session
from .stream_screen import StreamScreen, size_text

POLL_S = 1


@dataclass(frozen=True)
class StreamRun:
    """What is to be run. `columns` and `options` are those of `stream.outcomes`."""

    source: From
    rule: Path
    sink: str
    checkpoint: str
    columns: Mapping[str, str | None]
    options: Mapping[str, Any]
    available_now: bool = False
    every: str | None = None

    def run(self, master: str | None, conf: Mapping[str, str]) -> None:
        """Until there is nothing more to do, or until Ctrl-C."""
        rule = Rule.from_toml(self.rule)
        with spark_session(master, conf, is_quiet=not is_debugging()) as spark:
            events = self.source.read(spark, rule, self.columns)
            outcomes = stream.outcomes(events, rule, **{**self.columns, **self.options})
            sink = sink_of(spark, self.sink, self.checkpoint)
            screen = StreamScreen(str(rule), pending(spark, self.checkpoint))
            query = stream.start(
                outcomes, sink, checkpoint=self.checkpoint, available_now=self.available_now, every=self.every
            )
            watch(query, screen, Files(spark), f"{self.checkpoint.rstrip('/')}/{PROGRESS}")


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
    """Show each micro-batch, and leave the last report where `status` finds it. On Ctrl-C, until it ends."""
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


def show_status(checkpoint: str, as_json: bool) -> None:
    with spark_session(None, {}, is_quiet=not is_debugging()) as spark:
        current = status(spark, checkpoint)
    typer.echo(json.dumps(current._asdict()) if as_json else status_text(current))


def status_text(current: Status) -> str:
    lines = {
        "rule": current.rule,
        "micro-batch": "none yet" if current.batch is None else f"{current.batch:,}",
        "watermark": "none yet" if current.watermark is None else time_text(current.watermark),
        "pending": f"{current.pending:,}",
        "state": f"{size_text(current.state_bytes)} in {current.segments:,} segments",
    }
    if current.opened_at is not None:
        age_ms = (current.watermark or 0) - current.opened_at
        age = f", {duration_text(age_ms)} ago" if age_ms > 0 else ""
        lines["oldest"] = f"opened {time_text(current.opened_at)}{age}"
    if current.due_at is not None:
        lines["next due"] = time_text(current.due_at)
    if current.rows_per_second is not None:
        lines["rate"] = f"{current.rows_per_second:,.0f} rows per second in the last micro-batch"
    return "\n".join(f"{name:<12} {text}" for name, text in lines.items())
