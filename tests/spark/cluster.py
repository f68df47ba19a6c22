"""A real Spark cluster on loopback: one master and some workers, each a process, from the installed package."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import environ
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import NamedTuple

import pyspark

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
HOST = "127.0.0.1"
LONGEST_S = 300
ROOT = Path(__file__).parents[2]


class Cluster(NamedTuple):
    url: str
    python: str
    """An interpreter for the executors that has NumPy, Pandas and PyArrow, but not this package."""
    py_files: str
    """This package as a zip, without its compiled parts: for `--py-files`."""


@contextmanager
def cluster(scratch: Path, workers: int = 2) -> Iterator[Cluster]:
    """Up with all its workers registered; gone at the end."""
    with ExitStack() as stack:
        master = stack.enter_context(_process("master.Master", "--host", HOST, "--port", "0"))
        url = _said(master, r"Starting Spark master at (spark://\S+)")
        for i in range(workers):
            options = ("--host", HOST, "--cores", "1", "--memory", "1g", "--work-dir", str(scratch / f"worker-{i}"))
            stack.enter_context(_process("worker.Worker", *options, url))
        for _ in range(workers):
            _said(master, "(Registering worker)")
        yield Cluster(url, bare_python(scratch), package(scratch))


def submit(cluster: Cluster, program: str, *arguments: str, py_files: bool = True) -> str:
    """Run a Python program whose session is on the cluster; what it prints."""
    env = {**environ, "PYSPARK_PYTHON": cluster.python, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST}
    options = ["--master", cluster.url, "--conf", "spark.ui.enabled=false"]
    options += ["--py-files", cluster.py_files] if py_files else []
    command = [str(Path(SPARK_CLASS).with_name("spark-submit")), *options, program, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def bare_python(scratch: Path) -> str:
    """`-S` leaves out the .pth files through which an editable package would be found."""
    script = scratch / "bare-python"
    libraries = sysconfig.get_path("purelib")
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec {sys.executable} -S "$@"\n')
    script.chmod(0o755)
    return str(script)


def package(scratch: Path) -> str:
    path = scratch / "sojourn.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((ROOT / "src").rglob("*.py")):
            archive.write(file, file.relative_to(ROOT / "src"))
    return str(path)


class _Process(NamedTuple):
    process: subprocess.Popen[str]
    lines: Queue[str | None]


@contextmanager
def _process(name: str, *options: str) -> Iterator[_Process]:
    command = [SPARK_CLASS, f"org.apache.spark.deploy.{name}", "--webui-port", "0", *options]
    env = {**environ, "SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1"}
    lines: Queue[str | None] = Queue()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        reader = Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        try:
            yield _Process(process, lines)
        finally:
            process.terminate()
            process.wait(LONGEST_S)
            reader.join(LONGEST_S)


def _read(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _said(process: _Process, pattern: str) -> str:
    """What a process says, once it does."""
    heard: list[str] = []
    while (line := process.lines.get(timeout=LONGEST_S)) is not None:
        heard.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError(f"the process ended without a word of {pattern!r}: {''.join(heard[-20:])}")
