"""Sojourn: hold what cannot finish yet until its condition is met or its deadline passes, exactly once."""

from __future__ import annotations

from os import PathLike as _PathLike
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .clock import Clock, SystemClock
from .errors import (
    ClockStepError,
    ConfigError,
    DamagedError,
    DeadlockError,
    DelayError,
    DiskError,
    ForkedError,
    FormatError,
    HubFullError,
    IdTakenError,
    LivelockError,
    NotAllowedError,
    NotStorableError,
    OutcomesGoneError,
    OwnedError,
    PurgatoryClosedError,
    ReaperDiedError,
    RuleError,
    SojournError,
    SourceError,
    StorageError,
    TimerClosedError,
    UnreachableError,
)
from .hub import AsyncHub, Hub, Wait
from .purgatory import DelayedOperation, Purgatory
from .rules import (
    Condition,
    Event,
    Outcome,
    Rule,
    all_of,
    any_of,
    column,
    n_of,
    never,
    reached,
    seen,
    total,
    until_column,
)
from .timer import AsyncTimer, SystemTimer, TaskState, TimerTask

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
