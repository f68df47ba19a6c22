"""Every exit code of the table, provoked in a process of its own, and none beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from replay.logs import write_orders, write_rule
from sojourn import RuleError, SourceError
from sojourn.cli.exits import CLOSED, MEANINGS, UNEXPECTED, UNUSABLE, code_of

REPLAY = ("replay", "orders.parquet", "--rule", "paid.toml", "--engine", "local")
BROKEN = "from sojourn.pipeline import local_replay; local_replay.decide_opened = lambda *_, **__: 1 / 0"
INTERRUPTED = """
import signal
from sojourn.pipeline import local_replay
local_replay.decide_opened = lambda *_, **__: signal.raise_signal(signal.SIGINT)
"""
WHILE_LOADING = """
import signal, sys
class Finder:
    def find_spec(name, *_):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder)
"""
PROMISE = """
from sojourn.kafka.simulation import BrokenPromiseError, Simulation
def run(self):
    raise BrokenPromiseError("lost")
Simulation.run = run
"""


class Case(NamedTuple):
    """A command, what is done to the program before, and what it must say on stderr."""

    code: int
    arguments: tuple[str, ...]
    said: str = ""
    first: str = ""


CASES = {
    "a version": Case(0, ("--version",)),
    "a replay": Case(0, REPLAY, "replaying"),
    "a broken promise": Case(1, ("simulate", "--json"), "error: lost", PROMISE),
    "an unknown option": Case(2, (*REPLAY, "--nothing"), "No such option"),
    "a size that is none": Case(2, ("serve", "--data", "data", "--memory", "1x"), "'1x' is not a size"),
    "an unknown command": Case(2, ("relpay",), "No such command"),
    "no log": Case(3, ("replay", "nothing.csv", "--rule", "paid.toml"), "error: there is no 'nothing.csv'"),
    "a rule that is not UTF-8": Case(3, ("rule", "check", "latin.toml"), "latin.toml, line 2: byte 0xfc is not UTF-8"),
    "an extra that is missing": Case(3, REPLAY, "sojourn[pipeline]", "import sys; sys.modules['pyarrow'] = None"),
    "no command line at all": Case(3, REPLAY, "sojourn[cli]", "import sys; sys.modules['typer'] = None"),
    "nothing opens, strictly": Case(4, (*REPLAY, "--rule", "idle.toml", "--strict"), "nothing opens"),
    "an error of ours": Case(70, REPLAY, "error: ZeroDivisionError: division by zero (--debug shows where)", BROKEN),
    "an error of ours, looked at": Case(70, ("--debug", *REPLAY), "Traceback", BROKEN),
    "a bad rule, looked at": Case(3, ("--debug", "rule", "check", "latin.toml"), "Traceback"),
    "an error outside a command": Case(
        70, ("doctor",), "error: ZeroDivisionError", "from sojourn.cli import doctor; doctor.java = lambda: 1 / 0"
    ),
    "Ctrl-C": Case(130, REPLAY, "interrupted", INTERRUPTED),
    "Ctrl-C before there is a command": Case(130, ("doctor",), "", WHILE_LOADING),
    "Ctrl-C outside a command": Case(
        130, ("doctor",), "", INTERRUPTED + "from sojourn.cli import doctor; doctor.java = local_replay.decide_opened"
    ),
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_orders(tmp_path)
    write_rule(tmp_path)
    write_rule(tmp_path, file="idle.toml", name="idle", opens="nothing")
    Path("latin.toml").write_bytes('[rule]\nname = "für"\n'.encode("latin-1"))


def ended(case: Case, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    program = f"{case.first}\nfrom sojourn.__main__ import main\nmain()"
    command = [sys.executable, "-c", program, *case.arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize("name", CASES)
def test_the_code_means_what_the_table_says(name: str) -> None:
    result = ended(CASES[name])
    assert (result.returncode, CASES[name].said in result.stderr) == (CASES[name].code, True), result.stderr
    assert ("Traceback" in result.stderr) == ("--debug" in CASES[name].arguments)


@pytest.mark.parametrize(
    "arguments", [REPLAY, (*REPLAY, "--json"), ("--help",), ("doctor",), ("rule", "check", "paid.toml")]
)
def test_where_nobody_reads_any_more_it_ends_in_silence(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = ended(Case(CLOSED, (*arguments, *(("--out", "x") if "replay" in arguments else ()))), writer)
    finally:
        os.close(writer)
    assert result.returncode == CLOSED, result.stderr
    assert "error" not in result.stderr
    assert "rror:" not in result.stderr
    assert Path("x").exists() == ("replay" in arguments)


def test_every_code_of_the_table_has_been_provoked() -> None:
    assert {case.code for case in CASES.values()} | {CLOSED} == set(MEANINGS)


def of_spark(text: str) -> Exception:
    kind = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    return kind(text)  # type: ignore[no-any-return]


TASK = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File\n{}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SourceError("no"), UNUSABLE),
        (RuleError("no"), UNUSABLE),
        (PermissionError(13, "no"), UNUSABLE),
        (ValueError("ours"), UNEXPECTED),
        (of_spark("An error occurred while calling o1.x.\n: java.io.IOException: No space left on device"), UNUSABLE),
        (of_spark(TASK.format("sojourn.errors.SourceError: no column")), UNUSABLE),
        (of_spark(TASK.format("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer")), UNUSABLE),
        (of_spark(TASK.format("FileNotFoundError: [Errno 2] no such file: 'x'")), UNUSABLE),
        (of_spark(TASK.format("KeyError: 'x'")), UNEXPECTED),
        (of_spark(TASK.format("AssertionError")), UNEXPECTED),
    ],
)
def test_what_fails_on_spark_is_told_apart(error: Exception, code: int) -> None:
    assert code_of(error) == code
