"""The timer: hierarchical timing wheels, and who moves them."""

from ._build import IMPLEMENTATION, TaskBatch, Timer, TimerTask
from ._state import LatenessHistogram, TaskState, TimerStats
from .system import AsyncTimer, SystemTimer

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
