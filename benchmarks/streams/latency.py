"""From event to outcome, under a light load: events over a socket, a micro-batch every 100 ms, and the time at which a
function of the user's has the outcome in its hands. Both peers tell a completion when the payment comes."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from sojourn.pipeline import stream

from . import scala
from .events import LATE_MS, RULE, WITHIN_MS
from .spark import session

EVERY_MS = 100
SECONDS = 120
COUNTED_SECONDS = 30
"""At the end: before, the JVM starts and compiles."""
PAID_AFTER = 50
"""So many events later than it was opened, an operation is paid."""
SHARDS = 2
"""As many as cores: with a light load more shards only mean more calls."""

Told = list[tuple[str, int]]
"""Keys, and when they were told."""


def measure(peer: str, events_per_second: int) -> dict[str, Any]:
    """The version, and a row: the time from payment to outcome, its median and its 99th percentile."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder, sending(events_per_second) as source:
        told = _scala(source.port, Path(folder)) if peer == "scala" else _sojourn(source.port, Path(folder))
    last = max((source.paid_ms[key] for key, _ in told), default=0)
    waits = [at - source.paid_ms[key] for key, at in told if source.paid_ms[key] > last - COUNTED_SECONDS * 1000]
    if len(waits) < events_per_second:
        raise RuntimeError(f"{peer} told {len(told)} outcomes, {len(waits)} of them in {COUNTED_SECONDS} s")
    p50, p99 = np.percentile(waits, [50, 99])
    row = {"op": "latency", "ns": float(p50) * 1e6, "p50_ms": float(p50), "p99_ms": float(p99), "told": len(waits)}
    return {"version": pyspark.__version__, "rows": [row]}


class Source:
    """Sends events to whoever connects first: in turns, one opens an operation, and one pays an older one."""

    def __init__(self, per_second: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._pause_s = 1 / per_second
        self.paid_ms: dict[str, int] = {}
        self.is_over = threading.Event()

    def send(self) -> None:
        """Spark connects once to see the columns and once to read, or only once: the last one reads."""
        self._server.settimeout(1)
        while not self.is_over.is_set():
            try:
                reader, _ = self._server.accept()
            except TimeoutError:
                continue
            threading.Thread(target=self._feed, args=(reader,), daemon=True).start()
        self._server.close()

    def _feed(self, reader: socket.socket) -> None:
        number = 0
        try:
            while not self.is_over.wait(self._pause_s):
                now = _now_ms()
                lines = [f"case-{number},open,{now}"]
                if number >= PAID_AFTER:
                    key = f"case-{number - PAID_AFTER}"
                    self.paid_ms[key] = now
                    lines.append(f"{key},paid,{now}")
                reader.sendall("".join(f"{line}\n" for line in lines).encode())
                number += 1
        except OSError:  # the reader has gone
            pass
        finally:
            reader.close()


@contextmanager
def sending(events_per_second: int) -> Iterator[Source]:
    source = Source(events_per_second // 2)
    thread = threading.Thread(target=source.send)
    thread.start()
    try:
        yield source
    finally:
        source.is_over.set()
        thread.join()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _sojourn(port: int, folder: Path) -> Told:
    spark = session()
    lines = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    part = F.split("value", ",")
    events = lines.select(
        part[0].alias("key"), part[1].alias("kind"), F.timestamp_millis(part[2].cast("long")).alias("at")
    )
    told: Told = []

    def take(rows: DataFrame, number: int) -> None:
        keys = [row.key for row in rows.collect()]
        now = _now_ms()
        told.extend((key, now) for key in keys)

    outcomes = stream.decided(stream.outcomes(events, RULE, late=LATE_MS, shards=SHARDS, eager=True))
    writer = outcomes.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime=f"{EVERY_MS} milliseconds").start()
    query.awaitTermination(SECONDS)
    query.stop()
    return told


def _scala(port: int, folder: Path) -> Told:
    given = (port, folder / "checkpoint", LATE_MS, WITHIN_MS, EVERY_MS, SECONDS)
    printed = scala.submitted("Latency", folder / "by_hand", *map(str, given))
    lines = [line.split() for line in printed.splitlines() if line.startswith("TOLD ")]
    return [(key, int(at)) for _, key, at in lines]
