"""What no timer can honour is refused at the door, with the value and a way out, and changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any

import numpy as np
import pytest

from scene import Scene
from sojourn import ConfigError, DelayError, SojournError
from sojourn.testing import ManualClock
from support import Build


class Nowhere(tzinfo):
    def utcoffset(self, when: datetime | None) -> None:
        return None


Use = Callable[[Any, Any], object]  # timer, a pending task

DELAYS: dict[str, tuple[Any, str]] = {
    "negative": (-1, "=-1 is negative; use 0"),
    "very negative": (-(2**70), f"={-(2**70)} is negative; use 0"),
    "negative numpy": (np.int64(-3), "=-3 is negative"),
    "fraction": (1.5, "=1.5 is not a whole number"),
    "float": (2.0, r"=2.0 is not a whole number.*math.ceil"),
    "text": ("5", "='5' is not a whole number"),
    "nothing": (None, "=None is not a whole number"),
    "too long": (2**63, f"={2**63} ends after the last millisecond"),
    "much too long": (10**30, f"={10**30} ends after the last millisecond"),
}

TAKING_A_DELAY: dict[str, tuple[Callable[[Any, Any, Any], object], str]] = {
    "schedule": (lambda timer, task, delay: timer.schedule(delay, str), "delay_ms"),
    "schedule_many": (lambda timer, task, delay: timer.schedule_many([1, delay], str), "(delays_ms.1.|max.delays_ms.)"),
    "extend": (lambda timer, task, delay: task.extend(delay), "delay_ms"),
    "add": (lambda timer, task, delay: timer.add(type("Sub", (type(task),), {"delay_ms": delay})()), "delay_ms"),
}

WALL_TIMES: dict[str, tuple[Any, str]] = {
    "naive": (datetime(2026, 1, 1), r"when=datetime.datetime\(2026, 1, 1, 0, 0\) has no time zone; add one"),
    "a zone without an offset": (datetime(2026, 1, 1, tzinfo=Nowhere()), "has no time zone; add one"),
    "text": ("tomorrow", "when='tomorrow' is neither"),
    "nothing": (None, "when=None is neither"),
    "not a number": (math.nan, "when=nan is neither"),
    "infinite": (math.inf, "when=inf is neither"),
    "milliseconds by mistake": (1_770_000_000_000, r"when=1770000000000 .*divide by 1000"),
}

MISUSES: dict[str, tuple[Use, type[Exception], str]] = {
    "schedule nothing": (lambda timer, task: timer.schedule(5, None), TypeError, "callback=None cannot be called"),
    "schedule_at nothing": (lambda timer, task: timer.schedule_at(5, "x"), TypeError, "callback='x' cannot be called"),
    "schedule_many nothing": (
        lambda timer, task: timer.schedule_many([5], 7),
        TypeError,
        "callback=7 cannot be called",
    ),
    "too few items": (
        lambda timer, task: timer.schedule_many([1, 2], str, each="a"),
        ConfigError,
        "1 items for 2 delays",
    ),
    "too many items": (
        lambda timer, task: timer.schedule_many([1], str, each="ab"),
        ConfigError,
        "2 items for 1 delays",
    ),
    "no iterable": (lambda timer, task: timer.schedule_many(5, str), TypeError, "delays_ms=5 cannot be iterated"),
    "add no task": (lambda timer, task: timer.add(str), TypeError, "str|type"),
    "add None": (lambda timer, task: timer.add(None), TypeError, "None"),
    "wait a fraction": (lambda timer, task: timer.advance_clock(1.5), DelayError, "timeout_ms=1.5 is not a whole"),
    "wait negative": (lambda timer, task: timer.advance_clock(-1), DelayError, "timeout_ms=-1 is negative"),
}

SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "tick zero": ({"tick_ms": 0}, "tick_ms=0 must be a whole number from 1"),
    "tick negative": ({"tick_ms": -5}, "tick_ms=-5 must"),
    "tick fraction": ({"tick_ms": 0.5}, "tick_ms=0.5 must"),
    "tick too long": ({"tick_ms": 2**62}, f"tick_ms={2**62} must"),
    "wheel of one bucket": ({"wheel_size": 1}, "wheel_size=1 must be a whole number from 2"),
    "wheel of text": ({"wheel_size": "20"}, "wheel_size='20' must"),
    "wheel too large": ({"wheel_size": 2**40}, f"wheel_size={2**40} must"),
}


def refused(scene: Scene, use: Use, error: type[Exception], message: str) -> None:
    """The use raises exactly this, and leaves everything as it was."""
    task = scene.schedule(5, "pending before")
    before = scene.timer.stats()
    with pytest.raises(error, match=message) as caught:
        use(scene.timer, task)
    assert type(caught.value) is error
    scene.check()
    assert (scene.timer.stats(), task.deadline_ms) == (before, 5)
    scene.advance(100)
    assert scene.ran == [("pending before", 5)]


@pytest.mark.parametrize("how", TAKING_A_DELAY)
@pytest.mark.parametrize("delay", DELAYS)
def test_a_delay_that_cannot_be_honoured_is_a_delay_error(scene: Scene, how: str, delay: str) -> None:
    (use, name), (value, message) = TAKING_A_DELAY[how], DELAYS[delay]
    refused(scene, lambda timer, task: use(timer, task, value), DelayError, f"{name}{message}")


@pytest.mark.parametrize("when", WALL_TIMES)
def test_a_wall_time_that_cannot_be_honoured_is_a_delay_error(scene: Scene, when: str) -> None:
    value, message = WALL_TIMES[when]
    refused(scene, lambda timer, task: timer.schedule_at(value, str), DelayError, message)


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_is_a_clear_error(scene: Scene, misuse: str) -> None:
    refused(scene, *MISUSES[misuse])


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_makes_no_sense_is_a_config_error(build: Build, setting: str) -> None:
    options, message = SETTINGS[setting]
    with pytest.raises(ConfigError, match=message):
        build.SystemTimer("wrong", clock=ManualClock(), **options)


@pytest.mark.parametrize("value", [-1, 1.5, "5"])
def test_a_task_is_not_made_with_a_delay_that_cannot_be_honoured(build: Build, value: object) -> None:
    with pytest.raises(DelayError, match="delay_ms="):
        build.TimerTask(value)
    task = build.TimerTask(5)
    with pytest.raises(DelayError, match="delay_ms="):
        task.delay_ms = value
    assert task.delay_ms == 5


@pytest.mark.parametrize("how", ["ran", "was cancelled"])
def test_a_task_that_has_let_go_of_its_callback_is_not_added_again(scene: Scene, how: str) -> None:
    task = scene.schedule(5)
    if how == "ran":
        scene.advance(5)
    else:
        task.cancel()
    with pytest.raises(TypeError, match=r"let go of its callback: schedule a new task, or subclass"):
        scene.timer.add(task)
    scene.check()
    assert scene.timer.size == 0


def test_every_error_is_a_sojourn_error_and_what_python_would_raise() -> None:
    assert issubclass(DelayError, SojournError)
    assert issubclass(DelayError, ValueError)
    assert issubclass(ConfigError, SojournError)
    assert issubclass(ConfigError, ValueError)
