"""How a wait ends, for those who wait: callbacks, futures, outcomes. `_core.pyx` has quicker forms of some.

Adding a callback to a wait, and taking all of them to be called, are atomic in either build. A callback added after
that is called at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from ..rules import Leaf, Outcome
from ..rules.account import Progress, missing_text, words
from ..rules.duration import duration_text

if TYPE_CHECKING:
    import asyncio

    from ._wait import Wait


def not_by_hand() -> TypeError:
    return TypeError("a Wait is made by a hub: use hub.wait(key, until, within)")


def refuse_to_copy(wait: Wait) -> NoReturn:
    """A copy would be on no list and in no timer, and yet look as if it were waiting."""
    raise TypeError(f"{wait!r} cannot be copied or pickled: its hub knows only the one; its result() can be")


def check_callback(callback: object) -> None:
    if not callable(callback):
        raise TypeError(f"callback={callback!r} cannot be called; give a function that takes the wait")


def add_callback(wait: Wait, callback: Callable[[Wait], object]) -> None:
    """Have it called when the wait has ended; at once, if that is so already."""
    check_callback(callback)
    if not wait._hang(callback):
        call_all(wait, iter((callback,)))


def tell_all(waits: Iterator[Wait]) -> None:
    """Let each wait tell that it has ended, even if a callback of one of them exits (SystemExit, KeyboardInterrupt)."""
    for wait in waits:
        try:
            wait._tell()
        except BaseException:
            tell_all(waits)
            raise


def call_all(wait: Wait, callbacks: Iterator[Any]) -> None:
    """Call each once, or resolve it: what cannot be called is a future.

    What one raises goes to the hub's `on_error`. An exit (SystemExit, KeyboardInterrupt) is raised on, after all have
    been called.
    """
    for callback in callbacks:
        try:
            if not callable(callback):
                resolve(callback, wait)
            elif (returned := callback(wait)) is not None:
                wait._waits._returned(wait, returned)
        except Exception as exception:
            wait._waits._failed(wait, exception)
        except BaseException:
            call_all(wait, callbacks)
            raise


def future_of(wait: Wait) -> asyncio.Future[Outcome]:
    """An asyncio future of the outcome, on the running loop, whichever thread ends the wait."""
    import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

    from ._future import OutcomeFuture  # noqa: PLC0415

    future = OutcomeFuture(loop=asyncio.get_running_loop())
    future._wait = wait
    if not wait._hang(future):
        resolve(future, wait)
    return future


def plain_future(wait: Wait) -> asyncio.Future[Outcome]:
    """The same, of the kind that asyncio awaits quickest: only for awaiting, which cleans up after itself."""
    import asyncio  # noqa: PLC0415

    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    if not wait._hang(future):
        resolve(future, wait)
    return future


def await_outcome(wait: Wait) -> Generator[Any, None, Outcome]:
    future = wait._plain_future()
    try:
        return (yield from future)
    except BaseException:  # it does not wait any more; the wait goes on
        wait._unhang(future)
        raise


def resolve(future: asyncio.Future[Outcome], wait: Wait) -> None:
    """Give a future its outcome: here, if its loop is running here, and otherwise by asking its loop to."""
    import asyncio  # noqa: PLC0415

    loop = future.get_loop()
    if asyncio._get_running_loop() is loop:
        settle(future, wait)
    else:
        loop.call_soon_threadsafe(settle, future, wait)


def settle(future: asyncio.Future[Outcome], wait: Wait) -> None:
    if not future.done():  # it may have been cancelled
        future.set_result(wait._conclude())


def outcome_of(wait: Wait) -> Outcome:
    """The outcome of a wait that has ended, as the law puts it. It stays the same: nothing is read after the end."""
    ending, at, by, plan = wait.outcome, wait.at, wait.decided_by, wait._plan
    assert ending is not None
    assert at is not None
    assert by is not None
    met_at = at if ending == "completed" else None
    times = (wait.opened_at, wait.deadline, ending, at, at - wait.opened_at, met_at)
    if plan.single is None:
        missing, seen = words(plan.rule, ending, plan.within_ms, progress_of(wait))
    else:
        _, missing, seen = plan.texts[ending, by]
    return Outcome(str(wait.id), plan.rule.name, wait.key, *times, by, missing, seen)  # type: ignore[arg-type]


def decided_by(wait: Wait) -> str | None:
    """As the law has it: of signals at the same instant, the one that the rule names first."""
    if wait._by is None and wait._progress is not None and wait.done():
        return wait._progress.decided_by("completed")
    return wait._by


def explanation(wait: Wait) -> str:
    now_ms = wait._waits.now_ms()
    with wait._waits._lock:
        if not wait.done():
            left = duration_text(max(0, wait.deadline - now_ms))
            return f"pending, {left} left: missing {missing_text(wait._plan.rule.until, progress_of(wait))}"
    return outcome_of(wait).explain()


def progress_of(wait: Wait) -> Callable[[Leaf], Progress]:
    """How far each leaf of the condition has come."""
    at = wait.deadline if wait.at is None else wait.at
    waiting = wait._progress
    if waiting is None:
        return lambda leaf: Progress(0)
    return lambda leaf: waiting.progress(leaf, at)
