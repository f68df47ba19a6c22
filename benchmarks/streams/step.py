"""`python -m benchmarks.streams.step`: what the shards themselves do with a micro-batch, part by part, without Spark.

It is the processor time of one core. Spark runs this on all of them, and adds planning, shuffling and writing.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn.pipeline.plan import Plan
from sojourn.pipeline.stream.shard.pack import EVENTS, NEWEST, SHARD, Pack, from_bytes
from sojourn.pipeline.stream.shard.ruleset import Ruleset
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.pipeline.stream.shard.shard import Cache, Heads, advance, numbers_of
from sojourn.rules import Rule

from .events import FILES, LATE_MS, RULE, WITHIN_MS, steady

SHARDS = 8
BATCHES = 8
PARTS = {
    "packing": ("pack.py", "payloads"),
    "finding what is kept of the keys": ("segment.py", "find"),
    "bringing it together, in order": ("groups.py", "together"),
    "the law": ("judge.py", "endings"),
    "telling outcomes": ("decide.py", "_outcomes"),
    "what is to be kept": ("decide.py", "_kept"),
    "segments: merging, compressing, naming": ("segment.py", "replace"),
    "all steps": ("shard.py", "advance"),
}
"""Functions that stand for parts of a step."""


class Memory:
    """A shard's state, in a dict."""

    def __init__(self) -> None:
        self._heads: Heads = {}
        self._segments: dict[int, bytes] = {}

    def heads(self) -> Heads:
        return self._heads

    def segment(self, number: int) -> bytes:
        return self._segments[number]

    def save(self, old: Heads, new: Heads, added: dict[int, bytes]) -> None:
        self._heads = new
        self._segments = {n: data for n, data in {**self._segments, **added}.items() if n in numbers_of(new)}


def profile(pending: int, count: int) -> dict[str, float]:
    """Milliseconds of a micro-batch, by part: the mean of the second half of them."""
    rules = [Rule(f"paid-{n}", RULE.opens, RULE.until, WITHIN_MS + n, "each") for n in range(count)]
    ruleset = Ruleset(Shape(Plan.of(rules), {}))
    stores: dict[int, Memory] = defaultdict(Memory)
    cache, watermark = Cache(), 0
    timed = cProfile.Profile(time.process_time)
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        steady(Path(folder), pending, BATCHES)
        files = sorted(Path(folder).iterdir())
        for batch in range(BATCHES + 1):
            tables = [pq.read_table(file) for file in files[batch * FILES : (batch + 1) * FILES]]
            if batch > BATCHES // 2:
                timed.enable()
            newest = _run(ruleset, stores, cache, tables, watermark)
            timed.disable()
            watermark = newest - LATE_MS
    return _parts(timed, BATCHES - BATCHES // 2)


def _run(ruleset: Ruleset, stores: dict[int, Memory], cache: Cache, tables: list[pa.Table], watermark: int) -> int:
    payloads: dict[int, list[bytes]] = {}
    newest = watermark
    for table in tables:
        for payload in Pack(ruleset.whole, table.schema, SHARDS).payloads(table).to_pylist():
            payloads.setdefault(payload[SHARD], []).append(payload[EVENTS])
            newest = max(newest, int(payload[NEWEST].timestamp() * 1000))
    for shard, events in payloads.items():
        advance(ruleset, stores[shard], cache, [from_bytes(data, ruleset.whole.fresh) for data in events], watermark)
    return newest


def _parts(timed: cProfile.Profile, batches: int) -> dict[str, float]:
    """Of a function that calls itself under another one of the same name, the outer one counts."""
    found: Any = pstats.Stats(timed).stats  # type: ignore[attr-defined]
    times: dict[tuple[str, str], float] = {}
    for (file, _, name), (_, _, _, total, _) in found.items():
        key = (Path(file).name, name)
        times[key] = max(times.get(key, 0.0), total)
    return {part: times.get(key, 0.0) * 1000 / batches for part, key in PARTS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.step", description=__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="pending (default: %(default)s)")
    parser.add_argument("--rules", type=int, default=1, help="each of which names every event (default: %(default)s)")
    options = parser.parse_args()
    parts = profile(options.n, options.rules)
    whole = parts["all steps"]
    for part, ms in parts.items():
        print(f"{part:<40} {ms:8.1f} ms {ms / whole:6.0%}")


if __name__ == "__main__":
    main()
