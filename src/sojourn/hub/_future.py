"""A wait's outcome as an asyncio future. Imported when first needed: `import sojourn` stays quick without it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..rules import Outcome

if TYPE_CHECKING:
    from ._wait import Wait


class OutcomeFuture(asyncio.Future[Outcome]):
    """A future that its wait lets go of when it is cancelled, however long the wait goes on."""

    __slots__ = ("_wait",)

    _wait: Wait

    def cancel(self, msg: Any | None = None) -> bool:
        is_cancelled = super().cancel(msg)
        if is_cancelled:
            self._wait._unhang(self)
        return is_cancelled
