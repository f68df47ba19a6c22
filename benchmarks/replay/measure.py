"""One command, from its start to its end: wall time, the memory of all its processes, and what it counted."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..machine import ROOT
from ..memory import PeakMemory, resident
from .archive import wait_for_archive
from .commands import Peer, Run

ENDINGS = ("completed", "expired", "pending")
CHUNK_BYTES = 1 << 24


def measure(peer: Peer, run: Run) -> dict[str, Any]:
    """A row: `ns` for each event, `bytes` in all, seconds by phase where the command tells them, and counts."""
    _settle(run.log)
    command = peer.command(run)
    start = time.perf_counter_ns()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with PeakMemory(process.pid, resident) as memory:
        _, said = process.communicate()
        took = time.perf_counter_ns() - start
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}: {said}")
    summary = json.loads(run.summary.read_text())
    phases = summary.get("phases", {})
    times = {"ns": took / run.events, "bytes": memory.peak}
    if "start" in phases:
        times["started_ns"] = (took - phases["start"] * 1e9) / run.events
    return {**times, **{f"{name}_s": seconds for name, seconds in phases.items()}, **checked_counts(run.out, summary)}


def checked_counts(out: Path, summary: Mapping[str, Any]) -> dict[str, int]:
    """How many outcomes of each kind were written; raises if the summary says otherwise."""
    outcome = pq.read_table(out, columns=["outcome"], read_dictionary=["outcome"])["outcome"]
    written = {str(entry["values"]): int(entry["counts"]) for entry in pc.value_counts(outcome).to_pylist()}
    counts = {"opened": len(outcome), **{name: written.pop(name, 0) for name in ENDINGS}}
    told = {name: summary[name] for name in counts if name in summary}
    if written or told != {name: counts[name] for name in told}:
        raise RuntimeError(f"{out} has {counts} {written or ''}, its summary says {told}")
    return counts


def _settle(log: Path) -> None:
    """Nobody waits for what others wrote or still write, and nobody is the first to read the log from the disk."""
    wait_for_archive()
    os.sync()
    with log.open("rb", buffering=0) as file:
        while file.read(CHUNK_BYTES):
            pass
