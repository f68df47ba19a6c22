"""How a wait ends, for those who wait: callbacks, results, awaiting. One source for both builds.

`_hang` and `_take_callbacks` are atomic in either build; what is hung after the taking is called at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from ..rules import Leaf, Outcome
from ..rules.account import Progress, conclude, missing_text
from ..rules.duration import duration_text
from ..rules.operation import Operation

if TYPE_CHECKING:
    import asyncio

    from ._wait import Wait


def add_callback(wait: Wait, callback: Callable[[Wait], object]) -> None:
    """Have it called when the wait has ended; at once, if that is so already."""
    if not wait._hang(callback):
        _call(wait, callback)


def run_callbacks(wait: Wait) -> None:
    """Call all, once. What one raises goes to the hub's `on_error`, and the next is called."""
    held = wait._take_callbacks()
    if held is None:
        return
    for callback in held if isinstance(held, list) else (held,):
        _call(wait, callback)


def _call(wait: Wait, callback: Callable[[Wait], object]) -> None:
    try:
        callback(wait)
    except Exception as exception:
        wait._hub._failed(wait, exception)


def wait_for(wait: Wait, timeout: float | None) -> None:
    """Block until the wait has ended."""
    ended = threading.Event()
    if wait._hang(lambda _: ended.set()) and not ended.wait(timeout):
        raise TimeoutError(f"{wait!r} is still pending after {timeout} s; its own deadline is another matter")


def future_of(wait: Wait) -> asyncio.Future[Outcome]:
    """An asyncio future of the outcome, on the running loop, whichever thread ends the wait."""
    import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()
    add_callback(wait, partial(_resolve, future, loop, threading.get_ident()))
    return future


def await_outcome(wait: Wait) -> Generator[Any, None, Outcome]:
    return (yield from future_of(wait))


def _resolve(future: asyncio.Future[Outcome], loop: asyncio.AbstractEventLoop, thread_id: int, wait: Wait) -> None:
    if threading.get_ident() == thread_id:
        _set(future, wait)
    else:
        loop.call_soon_threadsafe(_set, future, wait)


def _set(future: asyncio.Future[Outcome], wait: Wait) -> None:
    if not future.done():  # its own awaiter may have been cancelled
        future.set_result(outcome_of(wait))


def outcome_of(wait: Wait) -> Outcome:
    """The outcome of a wait that has ended, as the law puts it."""
    ending = wait.outcome
    assert ending is not None
    assert wait.at is not None
    return conclude(
        _operation(wait),
        ending,
        wait.at,
        deadline=wait.deadline,
        met_at=wait.at if ending == "completed" else None,
        decided_by=_decided_by(wait),
        progress_of=_progress_of(wait),
    )


def _decided_by(wait: Wait) -> str:
    """As the law has it: of signals at the same instant, the one that the rule names first."""
    if wait.outcome == "completed" and wait._progress is not None and wait._progress.met_at is not None:
        return wait._progress.decided_by("completed")
    return (
        wait.decided_by
        or {"completed": "force_complete", "cancelled": "cancel", "expired": "deadline"}[str(wait.outcome)]
    )


def explanation(wait: Wait) -> str:
    if wait.done():
        return outcome_of(wait).explain()
    left = duration_text(max(0, wait.deadline - wait._hub.now_ms()))
    missing = missing_text(wait._plan.rule.until, _progress_of(wait))
    return f"pending, {left} left: missing {missing}"


def _operation(wait: Wait) -> Operation:
    rule = wait._plan.rule
    return Operation(rule, wait.key, wait.opened_at, wait.opened_at + wait._plan.within_ms, str(wait.id))  # type: ignore[arg-type]


def _progress_of(wait: Wait) -> Callable[[Leaf], Progress]:
    """How far each leaf of the condition has come."""
    at = wait.deadline if wait.at is None else wait.at
    waiting = wait._progress
    if waiting is None:  # nothing counted, or the one signal that decided
        have = int(wait.outcome == "completed")
        return lambda leaf: Progress(have)
    return lambda leaf: waiting.progress(leaf, at)
