"""Kafka's own timer and purgatory on the JVM, through the driver in `benchmarks/kafka`, built on demand with Maven."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from ..child import UnavailableError
from ..machine import ROOT

PROJECT = ROOT / "benchmarks" / "kafka"
HEAP = "4g"
"""Fixed and touched beforehand, so that the driver never pays for a growing heap. G1 is what Kafka's scripts choose."""
JVM_OPTIONS = (f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseG1GC", "-XX:+AlwaysPreTouch")


def kafka_child(workload: str, part: str, n: str) -> list[str]:
    """The command that measures one part; raises UnavailableError where Java or Maven is missing."""
    classes = _build()
    class_path = f"{classes}:{classes.parent / 'dependency' / '*'}"
    return ["java", *JVM_OPTIONS, "-cp", class_path, "sojourn.bench.Main", workload, part, n]


@cache
def _build() -> Path:
    """The compiled classes, made by Maven if they are missing or older than their sources."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"{tool} is not on the path; Kafka needs Java 17 and Maven")
    classes = PROJECT / "target" / "classes"
    stamp = PROJECT / "target" / "built"
    sources = [PROJECT / "pom.xml", *PROJECT.glob("src/**/*.java")]
    if not stamp.exists() or stamp.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        print("building benchmarks/kafka with Maven", file=sys.stderr)
        build = ["mvn", "-q", "-B", "package"]
        done = subprocess.run(build, cwd=PROJECT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
            raise UnavailableError(f"`mvn package` in benchmarks/kafka failed: {lines[0]}")
        stamp.touch()
    return classes
