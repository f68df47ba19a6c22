"""The timer: hierarchical timing wheels, and who moves them."""

from ._build import IMPLEMENTATION as IMPLEMENTATION
from ._build import TaskBatch as TaskBatch
from ._build import Timer as Timer
from ._build import TimerTask as TimerTask
from ._state import LatenessHistogram as LatenessHistogram
from ._state import TaskState as TaskState
from ._state import TimerStats as TimerStats
from .system import AsyncTimer as AsyncTimer
from .system import SystemTimer as SystemTimer

__all__ = [
    "IMPLEMENTATION",
    "AsyncTimer",
    "LatenessHistogram",
    "SystemTimer",
    "TaskBatch",
    "TaskState",
    "Timer",
    "TimerStats",
    "TimerTask",
]
