"""The same face on every build: pure wheel, compiled wheel and the heap that both must agree with; and open files."""

from __future__ import annotations

import os
from pathlib import Path
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


def open_files(folder: Path) -> list[str]:
    """Which files of a folder and below this process has open. Only Linux tells; elsewhere there are none."""
    found = [os.readlink(descriptor) for descriptor in Path("/proc/self/fd").glob("*") if descriptor.is_symlink()]
    return [path for path in found if Path(path).is_relative_to(folder.resolve())]
