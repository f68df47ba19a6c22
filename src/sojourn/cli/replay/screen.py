"""What a command shows: progress on stderr, results on stdout. In a terminal a bar, otherwise plain lines."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isclose
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ...pipeline.report.words import Labels, band_text, estimate_text, labels_of, share_text
from ...pipeline.results.summary import by_size
from ...pipeline.results.tally import STATUSES, Tally
from ...pipeline.results.what_if import Tried
from ...pipeline.schema import PENDING, UNKNOWN
from ...rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.2
GROUPS = 12
"""How many groups are shown, the largest."""

WIDEST = 60
"""How many characters of a group's name are shown on a line."""


class Screen:
    """The terminal, or what stands in for it."""

    def __init__(self, is_quiet: bool = False) -> None:
        self._out = Console(quiet=is_quiet, highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, quiet=is_quiet, highlight=False, soft_wrap=True)
        self._spark: SparkSession | None = None

    def watch(self, spark: SparkSession) -> None:
        """From now on a bar counts Spark's tasks."""
        self._spark = spark

    def say(self, text: str) -> None:
        self._out.print(text, markup=False)

    def warn(self, text: str) -> None:
        self._err.print(f"warning: {text}", markup=False)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Something that takes a while."""
        if not self._err.is_terminal:
            self._err.print(text, markup=False)
            yield
            return
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[tasks]}"), TimeElapsedColumn()
        with Progress(*columns, console=self._err, transient=True) as progress:
            task = progress.add_task(text, total=None, tasks="")
            with _watched(self._spark, progress, task):
                yield

    def columns(self, heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A small table: names on the left, numbers on the right."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(min_width=14)
        for _ in heading[1:]:
            table.add_column(justify="right")
        table.add_row(Text(f"  {heading[0]}"), *heading[1:], style="bold")
        for name, *cells in rows[:GROUPS]:
            table.add_row(Text(f"  {' '.join(name.split())[:WIDEST]}"), *cells)
        if (more := len(rows) - GROUPS) > 0:
            table.add_row(f"  {more:,} more")
        self._out.print()
        self._out.print(table)

    def tally(self, rule: Rule, tally: Tally, by: str | None = None) -> None:
        """What became of the operations of a rule, what would have under other deadlines, and of each group."""
        self._out.print()
        self._out.print(str(rule), style="bold", markup=False)
        self._out.print(_table(tally, labels_of(rule)))
        if by is not None and tally.groups:
            self.columns([by, "opened", "completed", ""], [_group(tally, name) for name in by_size(tally.groups)])


def _table(tally: Tally, labels: Labels) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(min_width=14)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_row("  opened", f"{tally.counts.opened:,}")
    for status, number in zip(STATUSES, tally.counts, strict=True):
        if number or (status == STATUSES[0] and tally.counts.opened):
            table.add_row(f"  {labels[status]}", f"{number:,}", share_text(number, tally.counts.opened))
    for deadline, tried in sorted(tally.what_if.items(), key=lambda entry: (entry[0].is_shift, entry[0].ms)):
        share = estimate_text(tried.estimate())
        table.add_row(f"  if {deadline}", f"{tried.counts.completed:,}", share, _doubt(tried, labels), style="cyan")
    return table


def _doubt(tried: Tried, labels: Labels) -> str:
    """What is not known: the band of a share that had to be estimated, and who was not seen to the end."""
    counts, estimate = tried.counts, tried.estimate()
    is_estimated = estimate is not None and not isclose(estimate.share, counts.completed / counts.opened)
    parts = [band_text(estimate).strip(" ()")] if estimate is not None and is_estimated else []
    parts += [f"{getattr(counts, name):,} {labels[name]}" for name in (PENDING, UNKNOWN) if getattr(counts, name)]
    return ", ".join(parts)


def _group(tally: Tally, name: str) -> list[str]:
    counts = tally.groups[name]
    share = share_text(counts.completed, counts.opened)
    return [name or "(none)", f"{counts.opened:,}", f"{counts.completed:,}", share]


@contextmanager
def _watched(spark: SparkSession | None, progress: Progress, task: TaskID) -> Iterator[None]:
    """Inside this block, the bar follows the tasks of Spark's running stages."""
    if spark is None:
        yield
        return
    is_over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, progress, task, is_over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def _watch(spark: SparkSession, progress: Progress, task: TaskID, is_over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not is_over.wait(POLL_S):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        total = sum(stage.numTasks for stage in stages if stage)
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        progress.update(task, total=total or None, completed=done, tasks=f"{done}/{total} tasks" if total else "")
