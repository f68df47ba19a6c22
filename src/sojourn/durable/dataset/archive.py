"""Which sealed segments are in the data set beside the log, and whether retention may remove the others.

The data set is three folders of Parquet files: `events/` and `outcomes/` by day, and `changes/`. What a segment becomes
has names of its own, and its file in `changes/` comes last: with that it is converted. So whoever is cut off in between
does it again, under the same names, and nothing is there twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from ...errors import ConfigError, OwnedError
from ..log.files import Files
from ..log.folder import about_me
from ..log.segments import CHANGES

EVENTS, OUTCOMES = "events", "outcomes"
FOLDERS = (EVENTS, OUTCOMES, CHANGES)
LOCK = "dataset.lock"
"""Held by whoever converts: the owner's upkeep, or `sojourn compact` beside it."""

_LOG = re.compile(r"log-([0-9]{8,})\.sj")
_PART = re.compile(r"(events|outcomes|changes)/(?:day=[0-9-]+/)?segment-([0-9]{8,})\.parquet")


def part_name(folder: str, segment: int, day: str | None = None) -> str:
    return f"{folder}/{'' if day is None else f'day={day}/'}segment-{segment:08}.parquet"


def parts(files: Files) -> dict[int, dict[str, list[str]]]:
    """The files of each segment that has been converted, by folder."""
    found: dict[int, dict[str, list[str]]] = {}
    for folder in (CHANGES, EVENTS, OUTCOMES):  # the last to come is looked for first
        for name in files.names_below(folder):
            if match := _PART.fullmatch(name):
                if folder == CHANGES:
                    found[int(match[2])] = {each: [] for each in FOLDERS}
                if int(match[2]) in found:
                    found[int(match[2])][folder].append(name)
    return found


def is_converted(files: Files, segment: int) -> bool:
    return part_name(CHANGES, segment) in files.names_below(CHANGES)


def has_data_set(files: Files) -> bool:
    return bool(files.names_below(CHANGES))


@contextmanager
def converting(files: Files) -> Iterator[None]:
    """Be the one who converts; `OwnedError` if somebody else does so just now."""
    lock = files.lock(LOCK, about_me("sojourn compact"))
    try:
        yield
    finally:
        lock.close()


def need_arrow(what: str) -> None:
    if find_spec("pyarrow") is None or find_spec("numpy") is None:
        raise ConfigError(f"{what} needs NumPy and Arrow, and they are not there; run: pip install 'sojourn[pipeline]'")


class Archive:
    """What upkeep asks before a sealed segment goes.

    `wanted`  True: segments are converted once they are sealed, and go only after that. False: they go unconverted.
              None: they do so unless the folder has a data set; then they go only once they are in it.
    """

    def __init__(self, files: Files, wanted: bool | None) -> None:
        if wanted:
            need_arrow("archive=True")
        self._files = files
        self._wanted = wanted

    @property
    def sealed(self) -> Callable[[], object] | None:
        """To be called when there are new sealed segments, if that is wanted."""
        return self._convert if self._wanted else None

    def before_removal(self, name: str) -> bool:
        """Whether a segment may go."""
        if self._wanted is False or (self._wanted is None and not has_data_set(self._files)):
            return True
        match = _LOG.fullmatch(name)
        return match is not None and is_converted(self._files, int(match[1]))

    def _convert(self) -> None:
        from .parquet import convert_sealed  # noqa: PLC0415  (Arrow is an extra)

        with suppress(OwnedError):  # another process is converting
            convert_sealed(self._files)
