"""The commands around `replay`, and the ways into them."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path

import pytest

from cli.command import sojourn
from replay.logs import write_orders, write_rule
from sojourn import ConfigError, __version__
from sojourn.cli import doctor as doctoring
from sojourn.cli.app import COMMANDS
from sojourn.cli.exits import MEANINGS, loading
from sojourn.cli.spark import session
from sojourn.cli.spark.session import spark_session
from sojourn.pipeline.spark.version import BELOW, LEAST, check_version


def test_garbage_is_looked_for_while_a_command_runs_though_not_while_it_is_loaded() -> None:
    program = (
        "import gc, sys; from sojourn.__main__ import main; from sojourn.cli import rule; "
        "rule.rule.command('gc')(lambda: print(gc.isenabled())); sys.argv = ['sojourn', 'rule', 'gc']; main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "True\n"
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_only_the_command_that_is_asked_for_is_loaded_and_all_for_help_or_after_a_typo() -> None:
    loaded = "import sys; from sojourn.cli import app_for; app_for(['--debug', 'replay']); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert {f"sojourn.cli.{name}" for name in COMMANDS.values()} & set(modules) == {"sojourn.cli.replay.replay"}
    assert "No such command 'repaly'" in sojourn("repaly").err
    assert re.findall(r"^│ ([a-z]+) {2,}", sojourn("--help").out, re.MULTILINE) == list(COMMANDS)


def test_a_rule_file_is_said_as_a_sentence(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    ended = sojourn("rule", "check", path, path)
    assert (ended.code, ended.out.splitlines()) == (0, ["paid: from the first ordered, until paid, within 60 days"] * 2)


def test_a_rule_file_is_said_in_json(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    assert json.loads(sojourn("rule", "check", "--json", path).out) == {
        "file": str(path),
        "rule": "paid",
        "sentence": "paid: from the first ordered, until paid, within 60 days",
    }


def test_an_invalid_rule_file_is_refused_with_its_line(tmp_path: Path) -> None:
    ended = sojourn("rule", "check", write_rule(tmp_path, "[rule]\nname = 'x'\nopens = 'a'\nwithin = 5\nuntli = 'b'\n"))
    assert ended.code == 3
    assert "paid.toml, line 5: setting 'untli' is not known" in ended.err


def test_the_doctor_finds_what_is_there() -> None:
    ended = sojourn("doctor", "--json")
    found = {entry["name"]: entry["found"] for entry in json.loads(ended.out)}
    assert found["sojourn"] == __version__
    assert set(found) == {"sojourn", "Python", "compiled core", "pyarrow", "numpy", "pyspark", "Java"}
    assert ended.code == (0 if all(found.values()) else 3)


def test_the_doctor_says_what_is_missing_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctoring, "java", lambda: None)
    ended = sojourn("doctor")
    assert ended.code == 3
    assert "MISSING  Java           Spark: install Java 17 or later, or set JAVA_HOME to one" in ended.out


@pytest.mark.parametrize(
    ("version", "is_fit"),
    [("4.0.5", False), ("3.5.9", False), ("4.1.0", True), ("4.3.0.dev1", True), ("4.10.2", True), ("5.0.0", False)],
)
def test_a_version_of_pyspark_that_is_not_supported_is_refused_by_the_doctor_and_at_the_start(
    monkeypatch: pytest.MonkeyPatch, version: str, is_fit: bool
) -> None:
    monkeypatch.setattr(doctoring, "_version", lambda package: version)
    said = f"MISSING  pyspark        {version} is not supported: 4.1 or later, below 5 is needed: pip install --upgrade"
    assert (said in sojourn("doctor").out) == (not is_fit)
    with nullcontext() if is_fit else pytest.raises(ConfigError, match=f"PySpark {version} is not supported"):
        check_version(version)


def test_spark_is_not_started_under_a_version_that_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.0.1")
    with pytest.raises(ConfigError, match=r"PySpark 4\.0\.1 is not supported"), spark_session(None, {}, is_quiet=True):
        pytest.fail("a session was started")


@pytest.mark.parametrize(
    ("log_bytes", "partitions"), [(None, 2), (0, 2), (1 << 27, 2), ((1 << 28) + 1, 4), (1 << 30, 8)]
)
def test_a_session_for_one_replay_on_this_machine_is_brief_and_has_partitions_for_its_log(
    monkeypatch: pytest.MonkeyPatch, log_bytes: int | None, partitions: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    here, elsewhere = (session._settings(master, None, log_bytes) for master in ("local[2]", "spark://host:7077"))
    assert here["spark.sql.shuffle.partitions"] == str(partitions)
    assert (session.QUICK_JAVA in here["spark.driver.extraJavaOptions"]) == (log_bytes is not None)
    assert (session.NO_PANDAS in here) == (log_bytes is not None)
    assert session.QUICK_JAVA not in elsewhere["spark.driver.extraJavaOptions"]
    assert not {session.NO_PANDAS, "spark.sql.shuffle.partitions"} & elsewhere.keys()


def test_the_versions_that_are_declared_checked_and_tested_are_the_same() -> None:
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    least, below = ".".join(map(str, LEAST)), BELOW[0]
    assert f"pyspark[sql]>={least},<{below}" in extras["spark"]
    assert re.findall(r"call on_spark,(.*)\)", (root / "Makefile").read_text()) == [
        f"lowest,=={least}.0",
        f"newest,<{below}",
    ]


@pytest.mark.parametrize(
    ("said", "is_found"),
    [('openjdk version "21.0.2"', True), ('java version "1.8.0_402"', False), ("no Java at all", False)],
)
def test_java_is_found_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, is_found: bool
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (doctoring.java() is not None) == is_found


def test_a_java_home_without_java_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctoring.java() is None


def test_help_names_every_command_and_exit_code() -> None:
    shown = " ".join(sojourn("--help").out.split())
    assert all(command in shown for command in ("replay", "rule", "doctor"))
    assert all(f"{code} {meaning}" in shown for code, meaning in MEANINGS.items())
    assert sojourn("--version").out == f"sojourn {__version__}\n"
    assert sojourn().code == 2


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_python_m_sojourn_is_the_command() -> None:
    ended = subprocess.run([sys.executable, "-m", "sojourn", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"sojourn {__version__}\n"


def test_without_its_extra_the_command_says_what_to_install() -> None:
    hide = "import sys; sys.modules['typer'] = None; from sojourn.__main__ import main; main()"
    ended = run(hide)
    assert (ended.returncode, ended.stderr) == (3, "the command line needs typer; run: pip install 'sojourn[cli]'\n")


@pytest.mark.parametrize(("module", "extra"), [("pyarrow", "pipeline"), ("numpy", "pipeline"), ("pyspark", "spark")])
def test_without_an_extra_replay_says_what_to_install(module: str, extra: str, tmp_path: Path) -> None:
    hide = f"import sys; sys.modules['{module}'] = None; from sojourn.__main__ import main; main()"
    (tmp_path / "log.csv").write_text("key,kind,at\na,ordered,2020-01-01\n")
    ended = run(hide, "replay", str(tmp_path / "log.csv"), "--rule", str(write_rule(tmp_path)))
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[-1].endswith(f"run: pip install 'sojourn[{extra}]'")


def test_a_missing_column_is_known_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.cli.replay.run.spark_session", None)
    write_orders(tmp_path)
    ended = sojourn("replay", tmp_path / "orders.parquet", "--rule", write_rule(tmp_path), "--key", "id")
    assert ended.code == 3
    assert "has no column 'id' for key" in ended.err


def test_the_command_line_loads_neither_numpy_nor_spark_before_it_needs_them() -> None:
    look = "import sys; import sojourn.cli; print(sorted({'numpy', 'pyarrow', 'pyspark'} & set(sys.modules)))"
    assert run(look).stdout == "[]\n"
