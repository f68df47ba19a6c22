"""The service workload: `sojourn serve` in one process, whoever asks in another, on the same machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..runner import Part, Spec, Workload, by_name
from .peers import Peer

CONNECTIONS, LINES, PER_SECOND, PENDING = 64, 1_000, 5_000, 1_000_000
SECONDS = 8
FOLDER = "SOJOURN_BENCHMARK_FOLDER"

SPECS = by_name(
    Spec("sojourn", "service.peers:Sojourn"),
    Spec("starlette_sqlite", "service.peers:StarletteSqlite", parts=("put",)),
)
PARTS = {
    "put": Part(3, only_n=(CONNECTIONS,)),
    "batch": Part(3, only_n=(LINES,)),
    "lateness": Part(2, only_n=(PER_SECOND,)),
    "start": Part(2, only_n=(PENDING,)),
}
Rows = list[dict[str, Any]]


def put(peer: Peer, folder: Path, n: int) -> Rows:
    """One wait per request, `n` connections."""
    with peer.serving(folder) as where:
        load = _child("load", json.dumps({"url": where, "what": "put", "connections": n, "seconds": SECONDS}))
    return [{"n": n, "op": "put", **_rate(load, 1)}]


def batch(peer: Peer, folder: Path, n: int) -> Rows:
    """`n` waits per request, four connections."""
    asked = {"url": "", "what": "batch", "lines": n, "connections": 4, "seconds": SECONDS}
    with peer.serving(folder) as where:
        load = _child("load", json.dumps({**asked, "url": where}))
    return [{"n": n, "op": "batch", **_rate(load, n)}]


def lateness(peer: Peer, folder: Path, n: int) -> Rows:
    """`n` expiries per second, on an event stream."""
    with peer.serving(folder) as where:
        late = _child("lateness", where, str(n), str(SECONDS))
    return [{"n": n, "op": "lateness", "ns": late["p99_ms"] * 1e6, "bytes": None, **late}]


def start(peer: Peer, folder: Path, n: int) -> Rows:
    """From the command to /readyz, with `n` pending."""
    from sojourn import Hub  # noqa: PLC0415

    with Hub("load", data=folder / "data", sync="os") as hub:
        for first in range(0, n, 10_000):
            numbers = range(first, first + 10_000)
            hub.wait_many([f"order-{i}" for i in numbers], "paid", "1 day", ids=[f"load-{i}" for i in numbers])
    with peer.serving(folder):
        took_s = peer.took_s
    return [{"n": n, "op": "start", "ns": took_s * 1e9, "bytes": None}]


def _rate(load: dict[str, Any], waits: int) -> dict[str, Any]:
    if set(load["statuses"]) - {"200", "201"}:
        raise RuntimeError(f"not all were answered well: {load['statuses']}")
    return {
        "ns": load["seconds"] * 1e9 / (load["requests"] * waits),
        "bytes": None,
        "p50_ms": load["p50_ms"],
        "p99_ms": load["p99_ms"],
    }


def _child(module: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"{__package__}.{module}", *arguments]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer


MEASURES: dict[str, Callable[[Peer, Path, int], Rows]] = {
    "put": put,
    "batch": batch,
    "lateness": lateness,
    "start": start,
}


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        peer: Peer = spec.load()()
        version = peer.version()
    except ImportError as reason:
        return {"skipped": str(reason)}
    with tempfile.TemporaryDirectory(prefix="service-", dir=os.environ.get(FOLDER)) as folder:
        return {"version": version, "rows": MEASURES[part](peer, Path(folder), n)}


SERVICE = Workload("service", SPECS, PARTS, _work)
