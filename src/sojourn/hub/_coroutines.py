"""Coroutines that callbacks return, run on the loop of an `AsyncHub`."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from ._wait import Wait

Failed = Callable[["Wait", BaseException], object]


class Coroutines:
    """Runs each as a task on `loop`, whichever thread calls; what it raises goes to `failed`."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop itself keeps only weak references

    def run(self, coroutine: CoroutineType[Any, Any, Any], wait: Wait, failed: Failed) -> None:
        import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

        here = asyncio._get_running_loop()
        loop = self.loop or here
        try:
            if loop is None:
                raise RuntimeError("a callback returned a coroutine, but no asyncio loop is running: use `async with`")
            if loop is here:
                self._start(coroutine, wait, failed)
            else:
                loop.call_soon_threadsafe(self._start, coroutine, wait, failed)
        except RuntimeError:  # no loop, or a closed one
            coroutine.close()
            raise

    def _start(self, coroutine: CoroutineType[Any, Any, Any], wait: Wait, failed: Failed) -> None:
        import asyncio  # noqa: PLC0415

        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)

        def done(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (exception := task.exception()) is not None:
                failed(wait, exception)

        task.add_done_callback(done)


def handle_returned(returned: Any, wait: Any, coroutines: Coroutines | None, failed: Failed) -> None:
    """A callback has returned something: a coroutine is to be run, anything else is of no interest."""
    if not isinstance(returned, CoroutineType):
        return
    if coroutines is not None:
        coroutines.run(returned, wait, failed)
        return
    returned.close()
    raise TypeError(
        f"a callback of {wait!r} is a coroutine function, and a Hub has no asyncio loop to run it: use an AsyncHub"
    )
