"""How `result()` waits: most threads sleep. One that would sleep for ever moves the clock itself, or is refused."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..clock import ManualClock
from ..errors import DeadlockError
from ..timer.drivers import LoopDriver

if TYPE_CHECKING:
    from ..timer.system import Driven
    from ._wait import Wait


def wait_for(wait: Wait, timeout: float | None) -> None:
    """Return once the wait has ended; `TimeoutError` if that takes more than `timeout` seconds."""
    if wait.done():
        return
    wait._waits._check_process()
    if timeout is None or timeout > 0:
        timer: Driven = wait._waits.timer  # type: ignore[assignment]
        refuse_to_stop_the_driver(wait, timer)
        if is_moved_here(wait, timer):
            timer.clock._advance_until(wait.done, timeout)  # type: ignore[attr-defined]
        else:
            sleep_until_told(wait, timeout)
    if not wait.done():
        raise TimeoutError(f"{wait!r} is still pending after {timeout} s: only result() gives up, the wait goes on")


def sleep_until_told(wait: Wait, timeout: float | None) -> None:
    ended = threading.Event()

    def wake(_: Wait) -> None:
        ended.set()

    if wait._hang(wake) and not ended.wait(timeout):
        wait._unhang(wake)


def refuse_to_stop_the_driver(wait: Wait, timer: Driven) -> None:
    """`DeadlockError` where deadlines are noticed: if that thread or loop slept, this wait might never end."""
    driver = getattr(timer, "_driver", None)
    if isinstance(driver, LoopDriver):
        if driver.is_on_its_loop():
            raise DeadlockError(f"{wait!r}: result() would stop the asyncio loop that ends it; use `await` here")
    elif driver is not None and driver.is_current():
        raise DeadlockError(
            f"{wait!r}: result() in a callback would stop the thread that ends waits at their deadlines; "
            "give this wait a callback of its own, or ask from another thread"
        )


def is_moved_here(wait: Wait, timer: Driven) -> bool:
    """Whether this thread has to move the clock: it made the hub, and if it slept, nobody else would."""
    is_manual = isinstance(timer.clock, ManualClock) and getattr(timer, "_driver", None) is not None
    return is_manual and wait._waits._made_in == threading.get_ident()
