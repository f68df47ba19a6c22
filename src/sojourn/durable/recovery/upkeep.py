"""Upkeep: when a segment is full, the index is brought forward to its end; now and then a snapshot; and retention.

The index is brought forward by replaying the sealed segments on it, not from the running hub: so it is never ahead of
the log, nobody waits for it, and only what these segments concern is in memory twice. A snapshot is a copy of it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ...errors import StorageError
from ..index.cold import Cold
from ..index.index import Index
from ..log.files import Files
from ..log.segments import Header, Position, headers, layout, segment_name, snapshot_name
from ..log.writer import LogWriter
from ..state.state import State
from .recovery import bring_forward, recover
from .snapshot import write_snapshot

RETRY_MS = 10_000
"""How long to leave a disk alone that has failed."""
TURN_S = 0.0005
SEGMENTS_MOST = 8
"""Segments that a recovery may have to read before a new snapshot is made: each start begins one, however small."""
SNAPSHOTS_KEPT = 2
"""The one before the last is there in case the last is damaged."""


class BriefTurns:
    """While upkeep works, Python switches threads more often: otherwise every call would wait for it several times."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._users = 0
        self._usual_s = 0.0

    def __enter__(self) -> None:
        with self._mutex:
            self._users += 1
            if self._users == 1:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(TURN_S, self._usual_s))

    def __exit__(self, *exc_info: object) -> None:
        with self._mutex:
            self._users -= 1
            if not self._users:
                sys.setswitchinterval(self._usual_s)


brief_turns = BriefTurns()


class Upkeep:
    """Says when a new segment is due, and sees to the sealed ones.

    `sealed`, if given, is called when there are new sealed segments, and `before_removal` with the name of each segment
    before it may go: it returns False to keep it.
    """

    def __init__(
        self,
        files: Files,
        log: LogWriter,
        now_ms: Callable[[], int],
        index: Index,
        most: int,
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
        self._index, self._most = index, most
        self._sealed, self._before_removal = sealed, before_removal
        self._working: threading.Thread | None = None
        self._retry_at = 0
        self.is_forward = False
        """Whether the index has been brought to the start of the last segment that was begun."""

    @property
    def is_working(self) -> bool:
        return self._working is not None and self._working.is_alive()

    def is_due(self, cold: Cold) -> bool:
        """Whether a new segment should begin: this one is full, or memory is, with what the index does not have yet."""
        if self._log.position.offset >= self._segment_bytes:
            return True
        return cold.is_full and not self.is_working and self._now_ms() >= self._retry_at

    def segment_started(self) -> None:
        """The segments before this one are sealed: see to them, in a thread unless the hub is on a `ManualClock`.

        Not to be called while `is_working`.
        """
        self.is_forward = False
        segment = self._log.position.segment
        if self._in_background:
            self._begin(lambda: self._work_beside(segment))
        else:
            self._work(segment)

    def _begin(self, work: Callable[[], None]) -> None:
        self._working = threading.Thread(target=work, name="sojourn-upkeep", daemon=True)
        self._working.start()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for what is being done."""
        if self._working is not None:
            self._working.join(timeout_s)

    def _work_beside(self, segment: int) -> None:
        with brief_turns:
            self._work(segment)

    def _work(self, segment: int) -> None:
        try:
            self.work(segment)
        except Exception as error:  # tried again with the next segment; the log has everything
            import logging  # noqa: PLC0415

            self._retry_at = self._now_ms() + RETRY_MS
            is_expected = isinstance(error, OSError | StorageError)
            logging.getLogger("sojourn.durable").error(
                "%s: upkeep has to wait: %s", self._files, error, exc_info=None if is_expected else error
            )

    def work(self, segment: int, *, has_snapshot: bool = False) -> None:
        """See to what is sealed before that segment: the index, a snapshot if it is time or wanted, and retention."""
        found = headers(self._files, layout(self._files).segments)
        (header,) = (header for header in found if header.segment == segment)
        state = self._fold(header)
        self.is_forward = True
        if has_snapshot or self._is_snapshot_due(found, segment):
            write_snapshot(self._files, segment, state)
        if self._sealed is not None:
            self._sealed()
        self._remove_old(found)

    def _fold(self, header: Header) -> State:
        """Bring the index to the start of that segment."""
        start = Position(header.segment, 0)
        state = recover(self._files, until=start, index=self._index, most=self._most, is_shared=True).state
        bring_forward(state, start, header)
        return state

    def _is_snapshot_due(self, found: list[Header], segment: int) -> bool:
        """Whether the log since the last one has grown as large as that, so that writing is in proportion."""
        last = max(layout(self._files).snapshots, default=0)
        since = [header.segment for header in found if last <= header.segment < segment]
        size = sum(self._files.size(segment_name(number)) for number in since)
        least = self._segment_bytes if len(since) <= SEGMENTS_MOST else 0
        return size >= max(least, self._files.size(snapshot_name(last)) if last else 0)

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
