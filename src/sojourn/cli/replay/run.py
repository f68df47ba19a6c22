"""A run of `sojourn replay`: from a job to tables, a summary, a report and an exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...errors import SourceError
from ...pipeline.allocator import keep_memory
from ...pipeline.files.drafts import DISK, Drafts, FileStore
from ...pipeline.files.source import is_remote
from ...pipeline.local_replay import LocalReplay
from ...pipeline.phases import age
from ...pipeline.replay import Job, Replay, doubts, suspicious_times
from ...pipeline.results.compare import Difference, differences
from ...pipeline.results.summary import by_frequency, summary
from ..exits import DIFFERENT, SET_ASIDE, fail, is_debugging
from ..spark.session import LOCAL, spark_session
from ..words import many
from .outputs import Outputs, Places
from .screen import Screen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ...pipeline.report import Report

DIFFERENCES_SHOWN = 5
REASONS_SHOWN = 5

WHERE = {"local": "in this process", "spark": "on Spark"}


@dataclass(frozen=True)
class ReplayRun:
    """A job, and what is to become of its result."""

    job: Job
    outputs: Outputs
    is_strict: bool = False
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    memory: int | None = None

    def run(self, engine: str) -> None:
        """Do it on the engine named, or on both."""
        self.outputs.check()
        if names := self.job.source.names():
            self.job.check(names)
        screen = Screen(self.outputs.is_json)
        with ExitStack() as stack:
            session = None if engine == "local" else self._session(screen, stack)
            drafts = stack.enter_context(Drafts())
            store = store_of(self.outputs, session)
            places = self.outputs.drafted(drafts, store)
            local = None if engine == "spark" else self._local(screen, places)
            spark = None if session is None else self._spark(session)
            if local and spark:
                self._compare(local, spark, screen)
            replay = local if local and store is DISK else spark
            assert replay is not None
            self._deliver(replay, engine, screen, places, drafts)

    def replay(self, engine: str, screen: Screen, stack: ExitStack) -> Replay:
        """The job on the engine named, with nothing to write."""
        if engine == "local":
            return LocalReplay(self.job, self.memory, None, screen.say)
        return self._spark(self._session(screen, stack))

    def _local(self, screen: Screen, places: Places) -> Replay:
        keep_memory()
        scratch = os.path.dirname(places.outcomes) if places.outcomes and not is_remote(places.outcomes) else None
        return LocalReplay(self.job, self.memory, scratch, screen.say)

    def _session(self, screen: Screen, stack: ExitStack) -> SparkSession:
        with screen.step(f"starting Spark ({self.master or LOCAL})"):
            size, is_quiet = self.job.source.size, not is_debugging()
            session = stack.enter_context(spark_session(self.master, self.conf, is_quiet=is_quiet, log_bytes=size))
        screen.watch(session)
        return session

    def _spark(self, session: SparkSession) -> Replay:
        from ...pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (needs Spark)

        return SparkReplay(self.job, session)

    def _compare(self, local: Replay, spark: Replay, screen: Screen) -> None:
        with screen.step(f"replaying {self.job.title} in this process, and on Spark"):
            number, first = differences(local.outcomes, spark.outcomes, DIFFERENCES_SHOWN)
            is_same_quarantine = local.quarantined == spark.quarantined
        for difference in first:
            typer.echo(difference_text(difference))
        if number:
            fail(f"the engines differ in {many(number, 'row')}", DIFFERENT)
        if not is_same_quarantine:
            fail(f"the engines set aside different rows: {local.quarantined} and {spark.quarantined}", DIFFERENT)
        screen.say(f"identical: {many(len(local.outcomes), 'outcome')}")

    def _deliver(self, replay: Replay, engine: str, screen: Screen, places: Places, drafts: Drafts) -> None:
        """Whatever fails, earlier outputs are still there: nothing is moved into its place before all is written."""
        start = round(age(), 3)
        with screen.step(f"replaying {self.job.title} {WHERE[replay.engine]}"):
            replay.write(places.outcomes, places.quarantine, only_ended=self.outputs.is_only_ended)
            warnings = self._warnings(replay)
            tallies, aside, as_of = replay.tallies, replay.quarantined, replay.as_of
            phases = {"start": start, **replay.phases.seconds()}
            counts = summary(tallies, aside, engine, self.job.by, warnings, as_of, phases)
        _write(places.summary, json.dumps(counts) + "\n")
        if places.report:
            _write(places.report, self._report(replay, engine).html())
        drafts.publish()
        for warning in warnings:
            screen.warn(warning)
        self._show(replay, screen)
        if self.outputs.is_json:
            typer.echo(json.dumps(counts))

    def _warnings(self, replay: Replay) -> list[str]:
        """What gives cause for doubt; under `--strict` the worst of it is a failure."""
        doubted = doubts(self.job, replay)
        refused = [*([quarantine_text(replay)] if replay.quarantined else []), *doubted.idle]
        if self.is_strict and refused:
            fail(f"--strict: {refused[0]}", SET_ASIDE)
        return [*doubted.idle, *doubted.unmet, *suspicious_times(replay)]

    def _report(self, replay: Replay, engine: str) -> Report:
        from ...pipeline.report import Report  # noqa: PLC0415  (only who wants a page pays for it)

        name = Path(self.job.title).name
        return Report(replay.tallies, self.job.rules, name, engine, self.job.by, replay.quarantined)

    def _show(self, replay: Replay, screen: Screen) -> None:
        for rule in self.job.rules:
            screen.tally(rule, replay.tallies[rule.name], self.job.by)
        screen.say("")
        if replay.quarantined:
            screen.warn(quarantine_text(replay))
        for what, where in self.outputs.written():
            screen.say(f"{what:<10}  {where}")


def store_of(outputs: Outputs, session: SparkSession | None) -> FileStore:
    """Where the tables go: to this machine, or to a file system that Spark knows."""
    folders = [folder for folder in (outputs.outcomes, outputs.quarantine) if folder is not None]
    if session is None:
        for folder in filter(is_remote, folders):
            raise SourceError(f"{folder!r} is on another file system, which needs Spark: --engine spark")
        return DISK
    from ...pipeline.spark.source import is_here  # noqa: PLC0415  (needs Spark)
    from ...pipeline.stream.checkpoint.files import Files  # noqa: PLC0415

    are_here = {is_here(session, folder) for folder in folders}
    if len(are_here) > 1:
        raise SourceError(f"{folders[0]!r} and {folders[1]!r} are on different file systems; name two places on one")
    return Files(session) if are_here == {False} else DISK


def _write(file: Path | None, text: str) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def quarantine_text(replay: Replay) -> str:
    """How many rows were set aside, and the most frequent reasons."""
    reasons = [f"{reason} ({number:,})" for reason, number in by_frequency(replay.quarantined)[:REASONS_SHOWN]]
    if more := len(replay.quarantined) - len(reasons):
        reasons.append(f"{many(more, 'more reason')}")
    return f"{many(replay.quarantined.total(), 'row')} set aside: {'; '.join(reasons)}"


def difference_text(difference: Difference) -> str:
    sides = {"local": difference.left, "spark": difference.right}
    lines = [f"  {side}: {' and '.join(row.explain() for row in rows) or 'not there'}" for side, rows in sides.items()]
    return "\n".join([f"{difference.operation_id}:", *lines])
