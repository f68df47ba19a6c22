"""What a running stream shows: in a terminal a panel that is kept up to date, otherwise one line per micro-batch."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ...pipeline.stream import METRICS
from ...rules.outcome import ENDED


class StreamScreen:
    """Counts since the start, and what is pending: `pending` says how many operations were when it began, if known."""

    def __init__(self, title: str, pending: int | None = 0, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._title = title
        self._pending = pending
        self._totals = dict.fromkeys(("opened", *ENDED, "late", "quarantined"), 0)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def show(self, progress: Any) -> None:
        """Take the report of a micro-batch."""
        counts = progress.observedMetrics.get(METRICS)
        for name in self._totals if counts is not None else ():
            self._totals[name] += counts[name]
        rows = self._lines(progress)
        if self._live is None:
            self.say(" · ".join(f"{name} {text}" for name, text in rows.items() if text))
        else:
            self._live.update(_table(self._title, rows), refresh=True)

    def _lines(self, progress: Any) -> dict[str, str]:
        totals = self._totals
        aside = totals["late"] + totals["quarantined"]
        more = totals["opened"] - sum(totals[ending] for ending in ENDED)
        state = sum(operator.memoryUsedBytes for operator in progress.stateOperators)
        return {
            "batch": f"{progress.batchId:,}",
            "rows/s": f"{progress.processedRowsPerSecond or 0:,.0f}",
            "pending": "" if self._pending is None else f"{self._pending + more:,}",
            **{ending: f"{totals[ending]:,}" for ending in ENDED},
            "set aside": f"{aside:,}" if aside else "",
            "watermark": progress.eventTime.get("watermark", ""),
            "state": size_text(state),
        }


def _table(title: str, rows: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.title = title
    for name, text in rows.items():
        if text:
            table.add_row(name, text)
    return table


def size_text(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
