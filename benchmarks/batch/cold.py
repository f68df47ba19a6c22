"""A cold start, end to end: `sojourn replay` of a year of flights, beside starting Spark and counting the rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from ..child import UnavailableError

FLIGHTS = 336_776

_COUNT = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.read.parquet(sys.argv[1]).count())
spark.stop()
"""


class Replay:
    """What a user types, in a fresh process."""

    def run(self, events: Path) -> int:
        """The number of outcomes."""
        with tempfile.TemporaryDirectory() as folder:
            out, summary = Path(folder) / "outcomes", Path(folder) / "summary.json"
            rule = Path("examples/flights/on-time.toml")
            options = ["--rule", rule, "--out", out, "--summary", summary]
            _output("-m", "sojourn", "replay", str(events), *map(str, options))
            return int(json.loads(summary.read_text())["opened"])

    def version(self) -> str:
        return version("pyspark")


class Count:
    """The least that a program on Spark can do with the same file."""

    def run(self, events: Path) -> int:
        """The number of rows."""
        return int(_output("-c", _COUNT, str(events)))

    def version(self) -> str:
        return version("pyspark")


def flights() -> Path:
    """The log of the example, written if it is not there."""
    from sojourn.errors import SourceError  # noqa: PLC0415

    path = Path(tempfile.gettempdir()) / "sojourn-benchmarks" / "flights.parquet"
    try:
        found: Path = import_module("examples.flights.log").write_events(path)
        return found
    except SourceError as error:
        raise UnavailableError(str(error)) from None


def _output(*arguments: str) -> str:
    environment = {**os.environ, "SOJOURN_NO_CLASS_ARCHIVE": "1"}  # the other program has no such thing
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout
