"""Which of the two builds this is: the compiled core if the package has it, unless `SOJOURN_PURE=1` (0 is as unset).

A core that is there but cannot be loaded is an error, not a reason to be slow in silence.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from .._arguments import is_set

IMPLEMENTATION: Literal["compiled", "pure"]

if TYPE_CHECKING or is_set(os.environ.get("SOJOURN_PURE")) or find_spec("sojourn.timer._core") is None:
    from ._task import TaskBatch, TimerTask
    from ._timer import Timer

    IMPLEMENTATION = "pure"
else:
    from ._core import TaskBatch, Timer, TimerTask

    IMPLEMENTATION = "compiled"

__all__ = ["IMPLEMENTATION", "TaskBatch", "Timer", "TimerTask"]
