"""Data folders as such: whether one is there, who owns it, and whether it was repaired."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ...errors import StorageError
from ...rules.outcome import time_text
from .files import DiskFiles, Files
from .segments import CHANGES, layout

LIST = "lost.json"
"""In the new folder: what is lost."""


def opened(data: str | os.PathLike[str] | Files) -> Files:
    """The files of a data folder; `StorageError` if there is none, or if it is something else."""
    if not isinstance(data, str | os.PathLike):
        return data
    files = DiskFiles(data, create=False)
    if not _has_log(files):
        raise StorageError(
            f"{os.fspath(data)!r} is no data folder: there is no log in it (log-00000001.sj ...); "
            "name the folder that a hub was given as data="
        )
    return files


def is_data_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a hub has been given that as its folder."""
    return os.path.isdir(path) and _has_log(DiskFiles(path, create=False))


def _has_log(files: Files) -> bool:
    there = layout(files)
    return bool(there.segments or there.snapshots or files.names_below(CHANGES))


def about_me(name: str, now_ms: int | None = None) -> dict[str, Any]:
    """What to write into a lock; since now, if nobody says otherwise."""
    since = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "?")
    return {"name": name, "pid": os.getpid(), "host": host, "since": time_text(since)}


def repaired(files: Files) -> frozenset[int]:
    """The numbers of outcomes with which a repaired folder goes on."""
    return frozenset([json.loads(files.read(LIST))["next_number"]] if LIST in files.names() else [])
