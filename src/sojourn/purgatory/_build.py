"""The build of the purgatory that goes with the timer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..timer import IMPLEMENTATION

if TYPE_CHECKING or IMPLEMENTATION == "pure":
    from ._operation import DelayedOperation
    from ._watchers import Watchers
else:
    from ._core import DelayedOperation, Watchers

__all__ = ["DelayedOperation", "Watchers"]
