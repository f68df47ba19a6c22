"""The same face on every build: pure wheel, compiled wheel and the heap that both must agree with."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from sojourn.timer import _core, _timer
from sojourn.timer.system import AsyncTimerFace, SystemTimerFace


class Build(NamedTuple):
    name: str
    TimerTask: type[Any]
    Timer: type[Any]
    SystemTimer: type[Any]
    AsyncTimer: type[Any]


def build(name: str, module: ModuleType) -> Build:
    return Build(
        name,
        module.TimerTask,
        module.Timer,
        type("SystemTimer", (SystemTimerFace, module.Timer), {}),
        type("AsyncTimer", (AsyncTimerFace, module.Timer), {}),
    )


PURE = build("pure", _timer)
COMPILED = build("compiled", _core)
BUILDS = (PURE, COMPILED)
