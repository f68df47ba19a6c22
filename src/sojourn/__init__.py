"""Sojourn: hold what cannot finish yet until its condition is met or its deadline passes, exactly once."""

from .clock import Clock as Clock
from .clock import SystemClock as SystemClock
from .errors import ConfigError as ConfigError
from .errors import DelayError as DelayError
from .errors import LivelockError as LivelockError
from .errors import ReaperDiedError as ReaperDiedError
from .errors import SojournError as SojournError
from .errors import TimerClosedError as TimerClosedError
from .timer import AsyncTimer as AsyncTimer
from .timer import SystemTimer as SystemTimer
from .timer import TaskState as TaskState
from .timer import TimerTask as TimerTask

__version__ = "0.1.0"

__all__ = [
    "AsyncTimer",
    "Clock",
    "ConfigError",
    "DelayError",
    "LivelockError",
    "ReaperDiedError",
    "SojournError",
    "SystemClock",
    "SystemTimer",
    "TaskState",
    "TimerClosedError",
    "TimerTask",
    "__version__",
]
