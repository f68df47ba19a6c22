"""Waiting in a thread for an outcome to be told; and what becomes of those who wait when the hub is closed."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from ..clock import ManualClock
from ..errors import PurgatoryClosedError
from ..hub._blocking import refuse_to_stop_the_driver
from .state.wait import DONE, Wait, handing

if TYPE_CHECKING:
    from ..timer import SystemTimer
    from .engine import Engine


class Sleeper:
    """Hung on a wait like a callback: wakes a thread."""

    def __init__(self) -> None:
        self.is_stranded = False
        self._woken = threading.Event()

    def __call__(self, wait: Wait) -> None:
        self._woken.set()

    def sleep(self, timeout: float | None) -> None:
        self._woken.wait(timeout)


def await_told(wait: Wait, engine: Engine, timer: SystemTimer, made_in: int, timeout: float | None) -> None:
    """Return once the wait has been told; `TimeoutError` if that takes more than `timeout` seconds."""
    engine.check_open()
    if timeout is None or timeout > 0:
        refuse_to_stop_the_driver(cast(Any, wait), timer)
        if isinstance(timer.clock, ManualClock) and made_in == threading.get_ident():
            timer.clock._advance_until(wait.done, timeout)
        else:
            _sleep(wait, engine, timeout)
    if not wait.done():
        raise TimeoutError(f"{wait!r} is still pending after {timeout} s: only result() gives up, the wait goes on")


def _sleep(wait: Wait, engine: Engine, timeout: float | None) -> None:
    sleeper = Sleeper()
    if not wait._hang(sleeper):
        return
    if engine._is_open:
        sleeper.sleep(timeout)
    wait._unhang(sleeper)
    if sleeper.is_stranded or not (engine._is_open or wait.done()):
        raise closed(wait, engine.name)


def strand(waits: list[Wait], name: str) -> None:
    """The hub is closed: whoever waits for one of these in this process is told so. Callbacks are not called."""
    for wait in waits:
        with handing:
            if wait._callbacks is DONE:
                continue
            held, wait._callbacks = wait._callbacks, None
        for one in held if type(held) is list else [held]:
            if isinstance(one, Sleeper):
                one.is_stranded = True
                one(wait)
            elif one is not None and not callable(one):
                with suppress(RuntimeError):  # its loop is closed
                    one.get_loop().call_soon_threadsafe(_fail, one, closed(wait, name))


def _fail(future: Any, error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def closed(wait: Wait, name: str) -> PurgatoryClosedError:
    return PurgatoryClosedError(
        f"hub {name!r} was closed while {wait!r} is pending: it is in the folder, and goes on when that is opened"
    )
