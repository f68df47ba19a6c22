"""A run from the command line: lines where there is no terminal, and what came of it."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from cli.command import sojourn
from demo.outside import HandDriver
from sojourn import ConfigError
from sojourn.demo import run, show
from sojourn.demo.app import DemoApp
from sojourn.demo.show import checks, has_screen


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> list[HandDriver]:
    """Runs are driven by hand: sleeping makes time pass."""
    made: list[HandDriver] = []

    def make(waits: int, seed: int) -> HandDriver:
        made.append(HandDriver(waits, seed))
        # The module's own name, not time.sleep itself: threads of other tests sleep too.
        monkeypatch.setattr(show, "time", SimpleNamespace(sleep=made[-1].play))
        return made[-1]

    monkeypatch.setattr(show, "DemoDriver", make)
    return made


def test_without_a_terminal_it_prints_a_line_a_second_and_a_summary(
    drivers: list[HandDriver], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(2_000, seconds=4.5) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:5]] == [[f"{second:.1f}", "s"] for second in (1, 2, 3, 4, 4.5)]
    stats = drivers[0].world.ended
    assert f"  completed {stats['completed']:,}  expired {stats['expired']:,}" in lines[4]
    assert lines[5].startswith("2,000 live waits, 4.5 s of virtual time in 4.5 s, ")
    assert [line[16:] for line in lines[6:11]] == [
        f"{drivers[0].world.opened:,} opened =",
        " + ".join(f"{count:,} {name}" for name, count in stats.items()) + " + 2,000 pending: ok",
        "0 ended twice: ok",
        "hub.stats() counted the same: ok",
        f"0 of {stats['expired']:,} expired before their deadline: ok",
    ]


def test_ten_seconds_are_enough_where_nobody_can_quit(
    drivers: list[HandDriver], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(50) == 0
    assert drivers[0].world.now_ms == 10_000
    assert len([line for line in capsys.readouterr().out.splitlines() if "signals/s" in line]) == 10


@pytest.mark.usefixtures("drivers")
def test_ctrl_c_ends_it_with_its_summary(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(driver: HandDriver, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HandDriver, "play", interrupt)
    assert run(50) == 0
    assert "exactly once" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "evidence"),
    [("opened", "pending"), ("ended_twice", "ended twice"), ("early", "expired before their deadline")],
)
@pytest.mark.usefixtures("drivers")
def test_a_broken_promise_is_said_and_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, fault: str, evidence: str
) -> None:
    def play(driver: HandDriver, seconds: float) -> None:
        setattr(driver.world, fault, getattr(driver.world, fault) + 1)

    monkeypatch.setattr(HandDriver, "play", play)
    ended = sojourn("demo", "--waits", 50, "--seconds", 1)
    assert ended.code == 1
    failed = [line for line in ended.out.splitlines() if line.endswith("FAILED")]
    assert [line.endswith(f"{evidence}: FAILED") for line in failed] == [True]


def test_counts_that_are_not_the_hubs_break_a_promise() -> None:
    driver = HandDriver(50)
    driver.play(3)
    driver.world.ended["expired"] += 1
    driver.world.ended["completed"] -= 1
    assert [is_kept for _, is_kept, _ in checks(driver)] == [True, True, False, True]


@pytest.mark.usefixtures("drivers")
def test_a_failed_world_is_an_error_not_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(driver: HandDriver, seconds: float) -> None:
        driver.failure = RuntimeError("the wheel came off")

    monkeypatch.setattr(HandDriver, "play", fail)
    with pytest.raises(RuntimeError, match="the wheel came off"):
        run(50)


@pytest.mark.parametrize(("waits", "seconds"), [(0, None), (10, 0), (10, -1)])
def test_a_run_of_nothing_is_refused(waits: int, seconds: float | None) -> None:
    with pytest.raises(ConfigError, match="give at least one wait and some time"):
        run(waits, seconds)


def test_there_is_no_screen_without_a_terminal() -> None:
    assert not has_screen()


def test_the_command_refuses_what_makes_no_sense() -> None:
    assert sojourn("demo", "--waits", 0).code == 2
    assert sojourn("demo", "--seconds", 0).code == 2


@pytest.mark.usefixtures("drivers")
def test_a_screen_that_breaks_down_is_an_error_not_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(app: DemoApp) -> None:
        app._return_code = 1

    monkeypatch.setattr(show, "has_screen", lambda: True)
    monkeypatch.setattr(DemoApp, "run", break_down)
    with pytest.raises(RuntimeError, match="the screen broke down"):
        run(50)


def test_without_textual_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "has_screen", lambda: True)
    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith("textual.") or name == "sojourn.demo.app"]:
        monkeypatch.delitem(sys.modules, name)
    ended = sojourn("demo")
    assert ended.code == 3
    assert "pip install 'sojourn[demo]'" in ended.err


def test_the_plain_demo_needs_no_textual() -> None:
    program = "import sys, sojourn.demo; print(sorted({'textual', 'rich', 'typer'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
