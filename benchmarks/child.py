"""One measurement in a process of its own, so that no peer runs in the heap that another left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .machine import ROOT

LONGEST_S = 1800
"""A child that is silent for longer has hung."""


class UnavailableError(Exception):
    """The peer cannot run here; the text is the one line that says why."""


def run_child(command: Sequence[str], env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run `command` and return the JSON object on the last line it prints.

    Raises UnavailableError when the child answers with a `skipped` line, RuntimeError when it fails. What it writes to
    stderr goes straight to ours.
    """
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "skipped" in answer:
        raise UnavailableError(answer["skipped"])
    return answer


def python_child(*arguments: str) -> list[str]:
    """The command that runs `python -m benchmarks` with these arguments in a fresh interpreter."""
    return [sys.executable, "-m", "benchmarks", *arguments]
