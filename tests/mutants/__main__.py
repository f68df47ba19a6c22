"""`python -m tests.mutants`: plant each bug in a copy of the tree and run the tests that should notice."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from .mutant import Mutant

ROOT = Path(__file__).parents[2]
RACES = ["test_interleavings.py", "test_races.py"]
ON_TIMER = ["tests/contract", "tests/model", "tests/property"]
TABLES: dict[str, list[list[str]]] = {
    "timer": [ON_TIMER, ["tests/concurrency"]],
    "concurrency": [["tests/concurrency"], ON_TIMER],
    "purgatory": [
        ["tests/purgatory", *(f"--ignore=tests/purgatory/{name}" for name in RACES)],
        [f"tests/purgatory/{name}" for name in RACES],
    ],
    "hub": [["tests/hub"]],
    "durable": [["tests/durable"]],
    "index": [[f"tests/durable/test_{name}.py" for name in ("index", "cold", "waits")], ["tests/durable"]],
    "dataset": [
        [*(f"tests/durable/test_{name}.py" for name in ("dataset", "verify", "folder")), "-m", "not java"],
        ["tests/cli/test_data.py", "-m", "not java"],
    ],
    "insight": [
        ["tests/service/insight", *(f"tests/durable/test_{name}.py" for name in ("incidents", "horizon", "pages"))]
    ],
    "webhooks": [
        [f"tests/service/webhooks/test_{name}.py" for name in ("delivery", "messages", "guard", "sender", "routes")]
    ],
    "client": [
        [f"tests/service/client/test_{name}.py" for name in ("lost_answers", "client", "async_client")],
        ["tests/service/client/test_durable.py"],
    ],
    "service": [
        [f"tests/service/test_{name}.py" for name in ("waits", "batch", "refusals", "bad_days", "security", "serve")]
    ],
    "kafka": [["tests/kafka"]],
    "replay": [
        [
            *(
                f"tests/replay/test_{name}.py"
                for name in ("xes", "sources", "texts", "tally", "groups", "job", "compare", "report", "drafts")
            ),
            *(f"tests/cli/test_{name}.py" for name in ("replay", "screen", "outputs", "summary")),
        ]
    ],
    "results": [
        [
            *(f"tests/replay/test_{name}.py" for name in ("survival", "bins", "periods", "tally", "what_if", "report")),
            "tests/cli/test_recommend.py",
            "--deselect=tests/cli/test_recommend.py::test_on_spark_it_says_the_same",
        ]
    ],
    "batch": [
        [
            *(
                f"tests/parity/test_{name}.py"
                for name in ("passes", "worker", "local", "operations", "texts", "numbers", "counted", "key_types")
            ),
            "tests/spark/test_parcels.py",
            "tests/stream/test_pack.py",
            "tests/stream/test_shard_parity.py",
            "tests/spark/test_files.py::test_row_groups_are_shared_out_evenly_and_each_is_read_once",
        ]
    ],
    "as_of": [
        [
            "tests/rules/test_as_of.py",
            "tests/parity/test_end_of_log.py",
            "tests/parity/test_passes.py",
            "tests/parity/test_kernel.py",
            "tests/parity/test_local.py",
            "tests/parity/test_operations.py",
            "tests/parity/test_worker.py",
            "tests/stream/test_shard_parity.py",
        ]
    ],
    "stream": [
        [
            *(
                f"tests/stream/test_{name}.py"
                for name in ("compact", "stored", "nearby", "processor", "segment", "rule_changes", "pack")
            ),
            *(f"tests/stream/test_{name}.py" for name in ("forgetting", "several_rules")),
            "-m",
            "not java",
        ]
    ],
    "scale": [["tests/replay/test_large_logs.py", "tests/replay/test_groups.py", "tests/spark/test_deliver.py"]],
    "doors": [
        [f"tests/stream/test_{name}.py" for name in ("given", "owner", "settings", "kafka_source")],
        ["tests/stream/test_own_sink.py", "tests/stream/test_stream.py"],
    ],
    "demo": [["tests/demo", "tests/cli/test_explain.py"]],
}
"""Which tests must notice the bugs of which table: one set after the other, until one does."""
NOTICED = Path(__file__).with_name("noticed.json")
"""Which test has noticed each bug: it is asked first, so that most bugs take seconds. Kept by this program."""
NOTHING_RUN = 5
"""What pytest says where no test is left to run: for one build only, and these tests are for the other."""
NO_SUCH_TEST = 4
HANGS = ("-o", "faulthandler_timeout=120", "-o", "faulthandler_exit_on_timeout=true")
"""A test that takes two minutes hangs, and has noticed. None takes more than some seconds."""
HUNG = "Timeout ("
MOST_S = 1_800
"""For all tests of a stage: one that has failed may leave threads behind for which its process waits for ever."""


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "quick",
    }
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that nothing it has started is left
    )
    try:
        output, _ = process.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = f"{process.communicate()[0]}\n{HUNG}"
    return subprocess.CompletedProcess(command, process.returncode, output)


def copy_tree(place: Path) -> Path:
    """A copy of what is needed, compiled parts included."""
    skipped = shutil.ignore_patterns("__pycache__", "mutants")
    for folder in ("src", "tests", "examples", "docs"):
        shutil.copytree(ROOT / folder, place / folder, ignore=skipped)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, place / name)
    found = run(place, "-c", "import sojourn; print(sojourn.__file__)").stdout.strip()
    if not Path(found).is_relative_to(place):
        raise SystemExit(f"the copy in {place} is not what is tested: {found} is")
    return place


@contextmanager
def planted(mutant: Mutant | None, tree: Path) -> Iterator[None]:
    """The tree with one edit, and without it again, built and all."""
    if mutant is None:
        yield
        return
    file = tree / mutant.file
    text = file.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.file} has {mutant.old!r} {text.count(mutant.old)} times, not once")
    with kept(file, *(built(tree) if mutant.is_compiled else ())):
        file.write_text(text.replace(mutant.old, mutant.new))
        if mutant.is_compiled:
            compile_tree(tree)
        yield


@contextmanager
def kept(*files: Path) -> Iterator[None]:
    """The files as they are now, times and all, so that nothing is compiled again for having been put back."""
    with tempfile.TemporaryDirectory() as place:
        copies = [(file, shutil.copy2(file, f"{place}/{i}")) for i, file in enumerate(files)]
        try:
            yield
        finally:
            for file, copy in copies:
                shutil.copy2(copy, file)


def built(tree: Path) -> list[Path]:
    """What compiling writes."""
    return [file for pattern in ("*.c", "*.so") for file in (tree / "src").rglob(pattern)]


def compile_tree(tree: Path) -> None:
    built = run(tree, "setup.py", "-q", "build_ext", "--inplace")
    if built.returncode:
        raise SystemExit(f"that does not compile:\n{built.stdout}")


class Verdict(NamedTuple):
    word: str
    by: str = ""
    """The test that noticed; nothing, if the interpreter did."""


SURVIVED = Verdict("SURVIVED")


def verdict(mutant: Mutant | None, stages: list[list[str]], tree: Path) -> Verdict:
    only = [] if mutant is None else ["-k", "not pure and not heap" if mutant.is_compiled else "not compiled"]
    known = None if mutant is None else known_tests().get(mutant.name)
    with planted(mutant, tree):
        for tests in [*([[known]] if known else []), *stages]:
            ended = run(tree, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *HANGS, *only, *tests)
            if HUNG in ended.stdout:
                return Verdict("hung")
            if ended.returncode in (0, NOTHING_RUN) or (tests == [known] and ended.returncode == NO_SUCH_TEST):
                continue
            if ended.returncode not in (1, 2):
                print(ended.stdout[-2000:])
            return Verdict("killed", noticed_by(ended.stdout))
    return SURVIVED


def noticed_by(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    failed = [line.partition(" ")[2].partition(" - ")[0] for line in lines if ".py::" in line]  # others are of a log
    return failed[0] if failed else ""


def known_tests() -> dict[str, str]:
    found: dict[str, str] = json.loads(NOTICED.read_text()) if NOTICED.exists() else {}
    return found


class Report:
    """Progress lines, one a bug."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._lock = total, 0, threading.Lock()
        self.survivors: list[str] = []

    def add(self, name: str, found: Verdict, seconds: float) -> None:
        with self._lock:
            self._done += 1
            if found is SURVIVED:
                self.survivors.append(name)
            elif found.by:
                tests = known_tests() | {name: found.by}
                NOTICED.write_text(json.dumps(tests, indent=0, sort_keys=True, ensure_ascii=False) + "\n")
            by = f"  ({found.by.rpartition('/')[2] or 'the interpreter'})" if found.word == "killed" else ""
            print(f"{self._done:3}/{self._total}  {found.word:8} {seconds:5.0f} s  {name}{by}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--table", action="append", choices=TABLES, help="default: all that there are")
    parser.add_argument("--only", default="", help="bugs whose name contains this")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    known = [name for name in TABLES if find_spec(f".{name}", __package__)]
    chosen = {name: TABLES[name] for name in known if not options.table or name in options.table}
    jobs = [
        (mutant, stages)
        for table, stages in chosen.items()
        for mutant in import_module(f".{table}", __package__).MUTANTS
        if options.only in mutant.name
    ]
    with tempfile.TemporaryDirectory() as scratch:
        trees: Queue[Path] = Queue()
        for i in range(options.workers):
            trees.put(copy_tree(Path(scratch) / str(i)))
        baseline = trees.get()
        for table, stages in chosen.items():
            found = verdict(None, stages, baseline)
            if found is not SURVIVED:
                raise SystemExit(f"the tests of table {table} fail with no bug planted: {found}")
        trees.put(baseline)
        report = Report(len(jobs))
        with ThreadPoolExecutor(options.workers) as pool:
            list(pool.map(lambda job: plant(trees, report, *job), jobs))
    print(
        f"{len(jobs) - len(report.survivors)} killed, {len(report.survivors)} survived", *report.survivors, sep="\n  "
    )
    return bool(report.survivors)


def plant(trees: Queue[Path], report: Report, mutant: Mutant, stages: list[list[str]]) -> None:
    tree, started = trees.get(), time.monotonic()
    try:
        report.add(mutant.name, verdict(mutant, stages, tree), time.monotonic() - started)
    finally:
        trees.put(tree)


if __name__ == "__main__":
    sys.exit(main())
