"""Upkeep: when a segment is full, a snapshot of all before it, and retention.

A snapshot is made from the last one and the sealed segments, not from the running hub: so it is never ahead of the log,
and nobody waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..errors import StorageError
from .files import Files
from .log import Log
from .recovery import recover
from .segments import Header, Position, headers, layout, segment_name, snapshot_name
from .snapshot import write_snapshot

SNAPSHOTS_KEPT = 2
"""The one before the last is there in case the last is damaged."""


class Upkeep:
    """Says when a new segment is due, and sees to the sealed ones.

    `sealed`, if given, is called when there are new sealed segments, and `before_removal` with the name of each segment
    before it may go: it returns False to keep it.
    """

    def __init__(
        self,
        files: Files,
        log: Log,
        now_ms: Callable[[], int],
        *,
        in_background: bool,
        segment_bytes: int,
        keep_ms: int,
        keep_bytes: int | None,
        sealed: Callable[[], object] | None = None,
        before_removal: Callable[[str], bool] | None = None,
    ) -> None:
        self._files = files
        self._log = log
        self._now_ms = now_ms
        self._in_background = in_background
        self._segment_bytes = segment_bytes
        self._keep_ms, self._keep_bytes = keep_ms, keep_bytes
        self._sealed, self._before_removal = sealed, before_removal
        self._working: threading.Thread | None = None

    def is_due(self) -> bool:
        return self._log.position.offset >= self._segment_bytes

    def segment_started(self) -> None:
        """The segments before this one are sealed: see to them, in the background if there are clocks that tick."""
        if not self._in_background:
            self._work()
        elif self._working is None or not self._working.is_alive():
            self._working = threading.Thread(target=self._work, name="sojourn-upkeep", daemon=True)
            self._working.start()

    def close(self) -> None:
        """Wait for what is being done."""
        if self._working is not None:
            self._working.join()

    def work(self) -> None:
        """A snapshot of what is sealed; and what retention says."""
        found = headers(self._files, layout(self._files).segments)
        snapshot_at(self._files, found[-1])
        if self._sealed is not None:
            self._sealed()
        self._remove_old(found)

    def _work(self) -> None:
        try:
            self.work()
        except (OSError, StorageError) as error:  # tried again with the next segment; the log has everything
            import logging  # noqa: PLC0415

            logging.getLogger("sojourn.durable").error("%s: upkeep has to wait: %s", self._files, error)

    def _remove_old(self, found: list[Header]) -> None:
        """Remove snapshots beyond the last two, and then the segments before these, as far as retention says."""
        snapshots = layout(self._files).snapshots
        for number in snapshots[:-SNAPSHOTS_KEPT]:
            self._files.remove(snapshot_name(number))
        for number in removable(found, self._sizes(found), snapshots, self._now_ms() - self._keep_ms, self._keep_bytes):
            if self._before_removal is not None and not self._before_removal(segment_name(number)):
                break
            self._files.remove(segment_name(number))
            self._files.sync_folder()  # one by one: a gap would be taken for damage

    def _sizes(self, found: list[Header]) -> list[int]:
        return [self._files.size(segment_name(header.segment)) for header in found]


def snapshot_at(files: Files, header: Header) -> None:
    """Make the snapshot of the state at the start of that segment."""
    state = recover(files, until=Position(header.segment - 1, header.previous_end)).state
    write_snapshot(files, header.segment, state)


def removable(
    found: list[Header], sizes: list[int], snapshots: list[int], oldest_ms: int, keep_bytes: int | None
) -> list[int]:
    """The segments that may go, oldest first: in a kept snapshot, and too old or too much."""
    if len(snapshots) < SNAPSHOTS_KEPT:
        return []
    before, total, gone = snapshots[-SNAPSHOTS_KEPT], sum(sizes), []
    for header, following, size in zip(found, found[1:], sizes, strict=False):
        is_too_much = keep_bytes is not None and total > keep_bytes
        if header.segment >= before or not (following.stamp < oldest_ms or is_too_much):
            break
        gone.append(header.segment)
        total -= size
    return gone
