"""What each peer's user types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..child import UnavailableError
from ..machine import machine

RULE = Path(__file__).with_name("fulfilled.toml")
WHAT_IF = "15 min,1 h"
LARGE_EVENTS = 100_000_000
"""From here on the local engine is held to HELD, if it can be."""
HELD = "4g"


@dataclass(frozen=True)
class Run:
    """What a command reads, and where it writes."""

    log: Path
    events: int
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "outcomes"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.json"


@dataclass(frozen=True)
class Peer:
    """A command, and the package that it needs."""

    package: str
    arguments: Callable[[Run], list[str]]
    """After `python -m`."""
    needs_java: bool = False

    def command(self, run: Run) -> list[str]:
        return [sys.executable, "-m", *self.arguments(run)]

    def version(self) -> str:
        """Of the package; raises UnavailableError where the command cannot run."""
        if self.needs_java and machine()["java"] is None:
            raise UnavailableError("there is no Java")
        try:
            return version(self.package)
        except PackageNotFoundError:
            raise UnavailableError(f"{self.package} is not installed") from None


def _replay(run: Run, *options: str) -> list[str]:
    places = ["--rule", str(RULE), "--out", str(run.out), "--summary", str(run.summary)]
    return ["sojourn", "replay", str(run.log), *places, *options]


def _local(run: Run) -> list[str]:
    is_held = run.events >= LARGE_EVENTS and _knows("--memory")
    return _replay(run, "--engine", "local", *(["--memory", HELD] if is_held else []))


def _spark(run: Run) -> list[str]:
    return _replay(run, "--engine", "spark", "--master", "local[2]")


def _reported(of: Callable[[Run], list[str]]) -> Callable[[Run], list[str]]:
    return lambda run: [*of(run), "--report", str(run.folder / "report.html"), "--what-if", WHAT_IF]


def _by_hand(engine: str, *more: str) -> Callable[[Run], list[str]]:
    module = f"{__package__}.{engine}_by_hand"
    return lambda run: [module, str(run.log), str(run.out), str(run.summary), *more]


@cache
def _knows(option: str) -> bool:
    shown = subprocess.run([sys.executable, "-m", "sojourn", "replay", "--help"], capture_output=True, check=True)
    return option.encode() in shown.stdout


PEERS = {
    "sojourn-local": Peer("pyarrow", _local),
    "sojourn-local-report": Peer("pyarrow", _reported(_local)),
    "duckdb": Peer("duckdb", _by_hand("duckdb")),
    "duckdb-4g": Peer("duckdb", _by_hand("duckdb", "4GiB")),
    "polars": Peer("polars", _by_hand("polars")),
    "sojourn-spark": Peer("pyspark", _spark, needs_java=True),
    "sojourn-spark-report": Peer("pyspark", _reported(_spark), needs_java=True),
}
"""In the order in which they take their turns."""
