"""How callbacks are called, wherever a wait lives: on the disk, or in a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..hub._coroutines import handle_returned
from ..purgatory.purgatory import OnError, log_error

if TYPE_CHECKING:
    from ..hub._coroutines import Coroutines


class Callbacks:
    """What a hub does with its callbacks, what they return and what they raise."""

    _on_error: OnError
    _coroutines: Coroutines | None
    """Those of an `AsyncHub`, with its loop once there is one."""

    def _call(self, tell: Callable[[], object]) -> None:
        """Call what callbacks there are: on the loop, if there is one by now; otherwise here."""
        loop = None if self._coroutines is None else self._coroutines.loop
        if loop is None:
            tell()
            return
        import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

        if loop is asyncio._get_running_loop():
            tell()
            return
        try:
            loop.call_soon_threadsafe(tell)
        except RuntimeError:  # it is closed
            tell()

    def _failed(self, wait: Any, exception: BaseException) -> None:
        try:
            self._on_error(wait, exception)
        except Exception as broken:
            log_error(wait, exception)
            log_error(wait, broken)

    def _returned(self, wait: Any, returned: Any) -> None:
        handle_returned(returned, wait, self._coroutines, self._failed)
