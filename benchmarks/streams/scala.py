"""Scala's `transformWithState`, compiled and started with what the package of PySpark brings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyspark

from ..child import UnavailableError
from .events import FILES, LATE_MS, WITHIN_MS
from .spark import SETTINGS

SCRIPTS = [str(Path(__file__).with_name(name)) for name in ("by_hand.scala", "latency.scala")]
LONGEST_S = 1800


def run(events: Path, checkpoint: Path) -> list[dict[str, Any]]:
    """The reports of all micro-batches."""
    given = map(str, (events, checkpoint, LATE_MS, WITHIN_MS, FILES))
    printed = submitted("Main", events.parent / "by_hand", *given)
    return [json.loads(line.removeprefix("REPORT ")) for line in printed.splitlines() if line.startswith("REPORT ")]


def submitted(program: str, out: Path, *arguments: str) -> str:
    """What a program prints; it is compiled into a folder."""
    home = Path(pyspark.__file__).parent
    options = [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]
    jar = str(_compiled(home, out))
    done = _done([str(home / "bin" / "spark-submit"), *options, "--class", program, jar, *arguments])
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"Scala gives no figures: {(done.stdout + done.stderr).strip()[-300:]}")
    return done.stdout


def _compiled(home: Path, out: Path) -> Path:
    """A jar of the script; the compiler is part of Spark's shell."""
    if not list((home / "jars").glob("scala-compiler*.jar")):
        raise UnavailableError("this PySpark has no Scala compiler")
    out.mkdir()
    jars = str(home / "jars" / "*")
    done = _done(["java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-d", str(out), *SCRIPTS])
    if done.returncode:
        raise RuntimeError(f"Scala does not compile: {(done.stdout + done.stderr).strip()[-300:]}")
    return Path(shutil.make_archive(str(out), "zip", out)).rename(out.with_suffix(".jar"))


def _done(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
