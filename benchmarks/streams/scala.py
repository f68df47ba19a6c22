"""Scala's `transformWithState`, through the shell that the package brings."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark

from ..child import UnavailableError
from .events import FILES, LATE_MS, WITHIN_MS
from .spark import SETTINGS

SCRIPT = Path(__file__).with_name("by_hand.scala")
LONGEST_S = 1800


def run(events: Path, checkpoint: Path) -> list[dict[str, Any]]:
    """The reports of all micro-batches."""
    shell = Path(pyspark.__file__).parent / "bin" / "spark-shell"
    if not shell.exists():
        raise UnavailableError("this PySpark has no spark-shell")
    options = [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]
    given = "|".join(map(str, (events, checkpoint, LATE_MS, WITHIN_MS, FILES)))
    done = subprocess.run(
        [str(shell), *options, "-i", str(SCRIPT)],
        env={**os.environ, "SOJOURN_BENCH": given, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    if not marked:
        raise UnavailableError(f"spark-shell gives no figures: {(done.stdout + done.stderr).strip()[-300:]}")
    return [json.loads(line.removeprefix("REPORT ")) for line in marked]
