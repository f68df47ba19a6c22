"""Sojourn: hold what cannot finish yet until its condition is met or its deadline passes, exactly once."""

from __future__ import annotations

from os import PathLike as _PathLike
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .clock import Clock as Clock
from .clock import SystemClock as SystemClock
from .errors import ClockStepError as ClockStepError
from .errors import ConfigError as ConfigError
from .errors import DamagedError as DamagedError
from .errors import DeadlockError as DeadlockError
from .errors import DelayError as DelayError
from .errors import DiskError as DiskError
from .errors import ForkedError as ForkedError
from .errors import FormatError as FormatError
from .errors import HubFullError as HubFullError
from .errors import IdTakenError as IdTakenError
from .errors import LivelockError as LivelockError
from .errors import NotAllowedError as NotAllowedError
from .errors import NotStorableError as NotStorableError
from .errors import OutcomesGoneError as OutcomesGoneError
from .errors import OwnedError as OwnedError
from .errors import PurgatoryClosedError as PurgatoryClosedError
from .errors import ReaperDiedError as ReaperDiedError
from .errors import RuleError as RuleError
from .errors import SojournError as SojournError
from .errors import SourceError as SourceError
from .errors import StorageError as StorageError
from .errors import TimerClosedError as TimerClosedError
from .errors import UnreachableError as UnreachableError
from .hub import AsyncHub as AsyncHub
from .hub import Hub as Hub
from .hub import Wait as Wait
from .purgatory import DelayedOperation as DelayedOperation
from .purgatory import Purgatory as Purgatory
from .rules import Condition as Condition
from .rules import Event as Event
from .rules import Outcome as Outcome
from .rules import Rule as Rule
from .rules import all_of as all_of
from .rules import any_of as any_of
from .rules import column as column
from .rules import n_of as n_of
from .rules import never as never
from .rules import reached as reached
from .rules import seen as seen
from .rules import total as total
from .rules import until_column as until_column
from .timer import AsyncTimer as AsyncTimer
from .timer import SystemTimer as SystemTimer
from .timer import TaskState as TaskState
from .timer import TimerTask as TimerTask

if _TYPE_CHECKING:
    from typing import Any as _Any

    from .durable import Reader as _Reader
    from .service.client import RemoteHub as _RemoteHub
    from .service.client.async_hub import AsyncRemoteHub as _AsyncRemoteHub

__version__ = "0.1.0"


def read(data: str | _PathLike[str]) -> _Reader:
    """Look at the data folder of a durable hub, beside its owner if there is one: list, explain, stats, outcomes."""
    from .durable import read as read_folder  # noqa: PLC0415  (only who has a folder pays for it)

    return read_folder(data)


def connect(url: str, token: str | None = None, **options: _Any) -> _RemoteHub:
    """A hub that is elsewhere, behind `sojourn serve`: the same verbs, over HTTP. `Hub(name, url=url)` is the same."""
    from .service.client import RemoteHub  # noqa: PLC0415  (only who connects pays for it)

    return RemoteHub(url=url, token=token, **options)


def connect_async(url: str, token: str | None = None, **options: _Any) -> _AsyncRemoteHub:
    """The same for asyncio: `async with sojourn.connect_async(url) as hub`. `AsyncHub(name, url=url)` is the same."""
    from .service.client.async_hub import AsyncRemoteHub  # noqa: PLC0415

    return AsyncRemoteHub(url=url, token=token, **options)


__all__ = [
    "AsyncHub",
    "AsyncTimer",
    "Clock",
    "ClockStepError",
    "Condition",
    "ConfigError",
    "DamagedError",
    "DeadlockError",
    "DelayError",
    "DelayedOperation",
    "DiskError",
    "Event",
    "ForkedError",
    "FormatError",
    "Hub",
    "HubFullError",
    "IdTakenError",
    "LivelockError",
    "NotAllowedError",
    "NotStorableError",
    "Outcome",
    "OutcomesGoneError",
    "OwnedError",
    "Purgatory",
    "PurgatoryClosedError",
    "ReaperDiedError",
    "Rule",
    "RuleError",
    "SojournError",
    "SourceError",
    "StorageError",
    "SystemClock",
    "SystemTimer",
    "TaskState",
    "TimerClosedError",
    "TimerTask",
    "UnreachableError",
    "Wait",
    "__version__",
    "all_of",
    "any_of",
    "column",
    "connect",
    "connect_async",
    "n_of",
    "never",
    "reached",
    "read",
    "seen",
    "total",
    "until_column",
]
