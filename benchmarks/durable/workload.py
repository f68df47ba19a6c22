"""The durable workload: what is on the disk when a call returns. Every part runs in a folder of its own."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from ..child import UnavailableError
from ..runner import Part, Spec, Workload, by_name

SMALL, LARGE = 100_000, 10_000_000
"""Pending, for the cost of a signal beside so many."""
FOLDER = "SOJOURN_BENCHMARK_FOLDER"
PLACES = dict.fromkeys(
    ("callers", "hand_off", "single", "bulk", "restart", "cancel", "pending"), f"{__package__}.measure"
)
PLACES["herd"] = f"{__package__}.herd"
PLACES["tasks"] = f"{__package__}.tasks"
BY_HAND = ("callers", "tasks", "single", "bulk", "restart", "cancel")

SPECS = by_name(
    Spec("sojourn", "durable.hub:Hub"),
    Spec("sqlite", "durable.sqlite_by_hand:SqliteByHand", parts=BY_HAND),
    Spec("redis", "durable.redis_by_hand:RedisByHand", parts=BY_HAND),
)
PARTS = {
    "callers": Part(3),
    "tasks": Part(3),
    "hand_off": Part(3),
    "single": Part(3),
    "bulk": Part(3),
    "restart": Part(2),
    "cancel": Part(2),
    "herd": Part(1),
    "pending": Part(1, only_n=(SMALL, LARGE)),
}


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        peer = spec.load()()
        version = peer.version()
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    with tempfile.TemporaryDirectory(prefix="durable-", dir=os.environ.get(FOLDER)) as folder:
        rows = getattr(import_module(PLACES[part]), part)(peer, Path(folder), n)
    return {"version": version, "rows": rows}


DURABLE = Workload("durable", SPECS, PARTS, _work)
