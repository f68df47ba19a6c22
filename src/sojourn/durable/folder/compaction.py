"""`compact`: sealed segments become Parquet; without an owner, all of the log, and what is old leaves it."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import NamedTuple

from ...errors import OwnedError
from ...rules.duration import Duration, duration_ms
from ..dataset.archive import Archive, need_arrow
from ..index.cold import MOST
from ..index.index import Index
from ..log.files import Files
from ..log.folder import about_me, opened
from ..log.segments import LOCK, Position, headers, layout, walk
from ..log.writer import LogWriter
from ..recovery.recovery import recover
from ..recovery.upkeep import Upkeep


class Compacted(NamedTuple):
    """What was done."""

    converted: list[int]
    """Segments that are in the data set now, and were not before."""
    removed: list[int]
    """Segments that have left the log."""
    owner: str | None
    """If somebody owns the folder, who: then nothing was removed, and the last segment is left for later."""


def compact(data: str | os.PathLike[str] | Files, *, keep: Duration = "7 days") -> Compacted:
    """Convert what is sealed.

    If nobody owns the folder, what is there is sealed first, and what is older than `keep` is removed from the log.
    Needs `sojourn[pipeline]`.
    """
    need_arrow("compact")
    from ..dataset.parquet import convert_sealed  # noqa: PLC0415  (Arrow is an extra)

    files, keep_ms = opened(data), duration_ms(keep)
    try:
        ownership = files.lock(LOCK, about_me("sojourn compact"))
    except OwnedError as error:
        return Compacted(convert_sealed(files), [], str(error))
    with closing(ownership), closing(Index(files.index_path)) as index:
        log, last_stamp = _sealed(files, index)
        with closing(log):
            before = layout(files).segments
            converted = convert_sealed(files)
            now_ms = max(last_stamp, time.time_ns() // 1_000_000)
            Upkeep(
                files,
                log,
                lambda: now_ms,
                index,
                MOST,
                in_background=False,
                segment_bytes=1,
                keep_ms=keep_ms,
                keep_bytes=None,
                before_removal=Archive(files, True).before_removal,
            ).work(log.position.segment, has_snapshot=True)
        return Compacted(converted, sorted({*before} - {*layout(files).segments}), None)


def _sealed(files: Files, index: Index) -> tuple[LogWriter, int]:
    """Begin a new segment, unless the last has nothing in it but its header; and the time of the last record."""
    recovered = recover(files, index=index, most=MOST)
    log = LogWriter(files, recovered.position, "always")
    last = headers(files, layout(files).segments)[-1:]
    if any(True for header in last for _ in walk(files, [header], Position(header.segment, 0))):
        log.start_segment(recovered.state.last_stamp, recovered.state.next_number)
    return log, recovered.state.last_stamp
