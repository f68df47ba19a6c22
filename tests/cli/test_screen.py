"""What a command shows in a terminal, and how it starts Spark."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from sojourn import SourceError
from sojourn.cli.replay import screen as screens
from sojourn.cli.replay.screen import Screen
from sojourn.cli.spark import session as sessions


class Terminal:
    """A screen on a terminal that keeps what was drawn."""

    def __init__(self) -> None:
        self.drawn = io.StringIO()
        self.screen = Screen()
        self.screen._err = Console(file=self.drawn, force_terminal=True, width=100)


class Tracker:
    """Spark's tracker, as far as a bar asks it: 3 of 8 tasks are done; `was_asked` after it was asked twice."""

    def __init__(self) -> None:
        self.asked = 0
        self.was_asked = threading.Event()

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  (as Spark has it)
        self.asked += 1
        if self.asked > 1:
            self.was_asked.set()
        return [1, 2]

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        return SimpleNamespace(numTasks=8, numCompletedTasks=3) if stage == 1 else None


def test_in_a_terminal_a_step_is_a_bar() -> None:
    terminal = Terminal()
    with terminal.screen.step("thinking"):
        pass
    assert "thinking" in terminal.drawn.getvalue()
    assert "\x1b[" in terminal.drawn.getvalue()


def test_on_spark_the_bar_counts_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "POLL_S", 0)
    terminal, tracker = Terminal(), Tracker()
    terminal.screen.watch(SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker)))  # type: ignore[arg-type]
    with terminal.screen.step("thinking"):
        assert tracker.was_asked.wait(30)
    assert "3/8 tasks" in terminal.drawn.getvalue()


def test_a_quiet_screen_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(is_quiet=True)
    screen.say("result")
    screen.warn("careful")
    with screen.step("thinking"):
        pass
    assert capsys.readouterr() == ("", "")


def test_texts_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().say("a [bold]key[/bold] " + "x" * 300)
    assert capsys.readouterr().out == "a [bold]key[/bold] " + "x" * 300 + "\n"


def test_without_java_spark_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_java", lambda: None)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with (
        pytest.raises(SourceError, match=r"Spark needs Java 17 or later.*--engine local needs neither"),
        sessions.spark_session(None, {}, is_quiet=True),
    ):
        pass


def test_spark_on_this_machine_gets_its_memory_and_what_is_set_has_the_last_word() -> None:
    here = sessions._settings(None, None, None)
    assert here["spark.master"] == "local[*]"
    assert int(here["spark.driver.memory"].removesuffix("m")) >= 1_024
    assert "spark.driver.memory" not in sessions._settings("spark://host:7077", None, None)
    assert {**here, "spark.driver.memory": "9g"}["spark.driver.memory"] == "9g"


def test_a_session_for_one_replay_on_this_machine_is_brief_and_cuts_a_large_log() -> None:
    lasting, brief = sessions._settings(None, None, None), sessions._settings(None, None, 0)
    large, there = sessions._settings(None, None, 1 << 33), sessions._settings("spark://host:7077", None, 1 << 33)
    java, partitions = "spark.driver.extraJavaOptions", "spark.sql.shuffle.partitions"
    assert sessions.QUICK_JAVA in brief[java]
    assert sessions.QUICK_JAVA not in lasting[java]
    assert sessions.QUICK_JAVA not in there[java]
    assert int(large[partitions]) >= 64 > int(brief[partitions])
    assert int(large[partitions]) % int(brief[partitions]) == 0


def test_what_spark_says_while_it_starts_is_kept_from_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with sessions._stderr_to(True) as said:
        subprocess.run([sys.executable, "-c", "import sys; print('java.lang.Error: no', file=sys.stderr)"], check=True)
        assert sessions._last_words(said) == "java.lang.Error: no"
    print("after", file=sys.stderr)
    assert capfd.readouterr().err == "after\n"
