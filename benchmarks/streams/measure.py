"""One measurement of one peer, in a process of its own: a steady load, then all that is pending expires at once."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark

from ..child import UnavailableError
from ..memory import PeakMemory, resident
from . import scala
from .events import steady
from .spark import batch_ms, phases_ms, run, session, state_bytes, told

BATCHES = 80
"""Of the steady load. The last quarter counts: before, the JVM compiles what runs a few times in a micro-batch."""
SLOW_BATCHES = 3
"""For peers whose Python runs for each row: it is that which takes the time."""

Reports = list[dict[str, Any]]


def measure(peer: str, pending: int, *, is_slow: bool, times: int) -> dict[str, Any]:
    """The version, and the rows: `ns` for each event of a steady load, and for each operation of a burst; `bytes` of
    the state that RocksDB has on disk, and of the memory of all processes at its peak.

    A peer tells each operation so many `times`, which is checked; 0 if its answer is another.
    """
    batches = SLOW_BATCHES if is_slow else BATCHES
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        events, checkpoint = Path(folder, "events"), Path(folder, "checkpoint")
        events.mkdir()
        operations = steady(events, pending, batches)
        with PeakMemory(held=resident) as memory:
            reports = _runner(peer)(events, checkpoint)
    if times and told(reports) != times * operations:
        raise RuntimeError(f"{peer} told {told(reports)} outcomes of {operations} operations, not {times} of each")
    full = [report for report in reports[1 + batches * 3 // 4 :] if report["numInputRows"] > 1]
    event_ns = statistics.median(batch_ms(report) * 1e6 / report["numInputRows"] for report in full)
    burst_ns = batch_ms(reports[-1]) * 1e6 / pending
    rows = [
        {"op": "steady", "ns": event_ns},
        {"op": "burst", "ns": burst_ns},
        {"op": "state", "bytes": state_bytes(full[-1])},
        {"op": "memory", "bytes": memory.peak},
        *({"op": op, "ns": ns} for op, ns in phases(full).items()),
    ]
    return {"version": pyspark.__version__, "rows": rows}


def phases(reports: Reports) -> dict[str, float]:
    """Where the time of a micro-batch goes, as the ns of each event: medians of what Spark reports."""
    times = [phases_ms(report) for report in reports]
    rows = statistics.median(report["numInputRows"] for report in reports)
    return {name: statistics.median(time[name] for time in times) * 1e6 / rows for name in times[0]}


def _runner(peer: str) -> Callable[[Path, Path], Reports]:
    if peer == "scala":
        return scala.run
    try:
        from . import peers  # noqa: PLC0415  (pandas)
    except ImportError as missing:
        raise UnavailableError(f"{missing.name} is not installed") from None
    return lambda events, checkpoint: run(session(), events, checkpoint, getattr(peers, peer))
