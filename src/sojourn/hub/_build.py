"""The build of the hub that goes with the timer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..timer import IMPLEMENTATION

if TYPE_CHECKING or IMPLEMENTATION == "pure":
    from ._signals import QuickVerbs, Signals
    from ._wait import Wait
else:
    from ._core import QuickVerbs, Signals, Wait

__all__ = ["QuickVerbs", "Signals", "Wait"]
