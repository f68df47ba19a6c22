"""The work of `sojourn replay`: from a job to tables, a summary, a report and an exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import typer
from pyarrow import parquet

from ..errors import SourceError
from ..pipeline.files.source import Source, is_remote
from ..pipeline.replay import Job, LocalReplay, Replay, check_openings, check_times
from ..pipeline.report import Report
from ..pipeline.results.compare import Difference, differences
from ..pipeline.results.deadlines import deadlines
from ..pipeline.results.tally import total
from ..pipeline.schema import OUTCOMES, QUARANTINE, Unit
from ..rules import Rule
from .exits import DIFFERENT, SET_ASIDE, fail, is_debugging
from .screen import Screen
from .session import LOCAL, spark_session

DIFFERENCES_SHOWN = 5
REASONS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is to be written, and where."""

    outcomes: str | None = None
    summary: Path | None = None
    report: Path | None = None
    is_json: bool = False

    @property
    def quarantine(self) -> str | None:
        """Beside the outcomes."""
        if self.outcomes is None:
            return None
        folder, slash, _ = self.outcomes.rstrip("/").rpartition("/")
        return f"{folder}{slash}quarantine"


def job_of(
    events: str,
    rules: Sequence[Path],
    *,
    columns: Mapping[str, str],
    unit: Unit = "auto",
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    operations: str | None = None,
    what_if: str | None = None,
    by: str | None = None,
) -> Job:
    """A job from what stands on the command line."""
    return Job(
        Source.of(events, format, options),
        tuple(Rule.from_toml(path) for path in rules),
        columns,
        unit,
        None if operations is None else Source.of(operations),
        deadlines(what_if) if what_if else (),
        by,
    )


@dataclass(frozen=True)
class Replaying:
    """A job, and what is to become of its result."""

    job: Job
    outputs: Outputs
    is_strict: bool = False
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    def run(self, engine: str) -> None:
        """Do it on the engine named, or on both."""
        _check_folder(self.outputs.outcomes, OUTCOMES.names)
        _check_folder(self.outputs.quarantine, QUARANTINE.names)
        if names := self.job.source.names():
            self.job.check(names)
        screen = Screen(self.outputs.is_json)
        with ExitStack() as stack:
            local = None if engine == "spark" else self._local(screen)
            spark = None if engine == "local" else self._spark(screen, stack)
            if local and spark:
                self._compare(local, spark, screen)
            replay = local or spark
            assert replay is not None
            self._deliver(replay, engine, screen)

    def _local(self, screen: Screen) -> Replay:
        with screen.step(f"replaying {self.job.source.path} in this process"):
            return LocalReplay(self.job)

    def _spark(self, screen: Screen, stack: ExitStack) -> Replay:
        with screen.step(f"starting Spark ({self.master or LOCAL})"):
            session = stack.enter_context(spark_session(self.master, self.conf, is_quiet=not is_debugging()))
            from ..pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (needs Spark)

        screen.watch(session)
        return SparkReplay(self.job, session)

    def _compare(self, local: Replay, spark: Replay, screen: Screen) -> None:
        with screen.step("replaying on Spark"):
            number, first = differences(local.outcomes, spark.outcomes, DIFFERENCES_SHOWN)
            is_same_quarantine = local.quarantined == spark.quarantined
        for difference in first:
            typer.echo(difference_text(difference))
        if number:
            fail(f"the engines differ in {number:,} rows", DIFFERENT)
        if not is_same_quarantine:
            fail(f"the engines set aside different rows: {local.quarantined} and {spark.quarantined}", DIFFERENT)
        screen.say(f"identical: {len(local.outcomes):,} outcomes")

    def _deliver(self, replay: Replay, engine: str, screen: Screen) -> None:
        if self.is_strict:
            self._refuse_quarantine(replay)
        if self.outputs.outcomes and self.outputs.quarantine:
            with screen.step(f"writing {self.outputs.outcomes}"):
                replay.write(self.outputs.outcomes, self.outputs.quarantine)
        with screen.step("counting"):
            for warning in (*check_openings(self.job, replay), *check_times(replay)):
                screen.warn(warning)
            summary = summary_of(replay, engine)
        self._write_summary(summary)
        self._write_report(replay, engine)
        self._show(replay, screen)
        if self.outputs.is_json:
            typer.echo(json.dumps(summary))

    def _refuse_quarantine(self, replay: Replay) -> None:
        if replay.quarantined:
            fail(f"--strict: {quarantine_text(replay)}", SET_ASIDE)

    def _write_summary(self, summary: Mapping[str, object]) -> None:
        if self.outputs.summary:
            self.outputs.summary.parent.mkdir(parents=True, exist_ok=True)
            self.outputs.summary.write_text(json.dumps(summary) + "\n", "utf-8")

    def _write_report(self, replay: Replay, engine: str) -> None:
        if self.outputs.report:
            name = Path(self.job.source.path).name
            report = Report(replay.tallies, self.job.rules, name, engine, self.job.by, replay.quarantined)
            self.outputs.report.parent.mkdir(parents=True, exist_ok=True)
            self.outputs.report.write_text(report.html(), "utf-8")

    def _show(self, replay: Replay, screen: Screen) -> None:
        for rule in self.job.rules:
            screen.tally(rule, replay.tallies[rule.name])
        screen.say("")
        if replay.quarantined:
            screen.warn(quarantine_text(replay))
        for what in ("outcomes", "quarantine", "summary", "report"):
            if where := getattr(self.outputs, what):
                screen.say(f"{what:<10}  {where}")


def summary_of(replay: Replay, engine: str) -> dict[str, int | str]:
    """The counts of all rules together, as `--summary` writes them."""
    counts = total(replay.tallies)
    return {
        "opened": counts.opened,
        "completed": counts.completed,
        "expired": counts.expired,
        "cancelled": counts.cancelled,
        "met_late": counts.met_late,
        "never_met": counts.never_met,
        "quarantined": replay.quarantined.total(),
        "engine": engine,
    }


def quarantine_text(replay: Replay) -> str:
    """How many rows were set aside, and the most frequent reasons."""
    reasons = [f"{reason} ({number:,})" for reason, number in replay.quarantined.most_common(REASONS_SHOWN)]
    if more := len(replay.quarantined) - len(reasons):
        reasons.append(f"{more:,} more reasons")
    return f"{replay.quarantined.total():,} rows set aside: {'; '.join(reasons)}"


def difference_text(difference: Difference) -> str:
    sides = {"local": difference.left, "spark": difference.right}
    told = [f"  {side}: {' and '.join(row.explain() for row in rows) or 'not there'}" for side, rows in sides.items()]
    return "\n".join([f"{difference.operation_id}:", *told])


def _check_folder(folder: str | None, columns: list[str]) -> None:
    """Refuse to write over what no replay wrote: anything but Parquet files with these columns."""
    if folder is None or is_remote(folder):
        return
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise SourceError(f"{folder!r} is a file; name a folder, which will hold Parquet files")
    others = [file.name for file in path.iterdir() if not _is_ours(file, columns)] if path.exists() else []
    if others:
        raise SourceError(f"{folder!r} has {others[0]!r} in it, which no replay wrote; name another folder")


def _is_ours(file: Path, columns: list[str]) -> bool:
    if file.name.startswith("part-") and file.suffix == ".parquet":
        return list(parquet.read_schema(file).names) == columns
    return file.name.startswith(("_SUCCESS", "._SUCCESS", ".part-"))
