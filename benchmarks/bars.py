"""The bars that the compiled build must clear, as ratios between peers of one run."""

from __future__ import annotations

from .batch.workload import batch_bars
from .durable.report import durable_bars
from .importing import import_bars
from .purgatory_bars import purgatory_bars
from .replay.report import replay_bars
from .results import Results
from .service.report import service_bars
from .stream_bars import stream_bars
from .table import table
from .timer_bars import timer_bars

BARS = {
    "timer": timer_bars,
    "purgatory": purgatory_bars,
    "batch": batch_bars,
    "replay": replay_bars,
    "stream": stream_bars,
    "durable": durable_bars,
    "import": import_bars,
    "service": service_bars,
}


def check(results: Results) -> tuple[str, bool]:
    """The bars of the workloads that the file has, and whether one failed.

    A bar without figures does not fail, but is counted aloud.
    """
    workloads = results.workloads()
    bars = [bar for name, bars in BARS.items() if name in workloads for bar in bars(results)]
    verdicts = [bar.verdict for bar in bars]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("pass", "FAIL", "not measured"))
    lines = table(["bar", "measured", "required", ""], [bar.cells() for bar in bars])
    return f"{lines}\n\n{counts}", "FAIL" in verdicts
