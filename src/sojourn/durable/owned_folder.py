"""A folder that this process owns: its lock, its log, its index, the state that follows from them, and their upkeep."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import StorageError
from .index.cold import CROWD, Cold
from .index.index import Index
from .log.files import Files
from .log.folder import about_me
from .log.segments import LOCK
from .log.writer import LogWriter, Sync, disk_error
from .recovery.recovery import recover
from .recovery.upkeep import Upkeep
from .stamps import Stamps
from .state.where import Where

if TYPE_CHECKING:
    from ..timer import SystemTimer

MOVE_MOST = 1_000
"""Waits that leave memory, and that come in before they are due, with one group."""
BRING_IN_MOST = 10_000
"""Up to so many waits that nobody has looked at become objects when a hub is closed; if there are more, none does."""
CROWD_WAIT_S = 0.05
"""How long a group waits for upkeep when much more has changed than it follows; if twice as much, until it is done."""
LEAD_MS = 10_000
"""How long before they are due waits come in from the index."""


class OwnedFolder:
    """Opened by being made, once the lock is had; if that fails, all files are let go of."""

    def __init__(
        self,
        name: str,
        files: Files,
        timer: SystemTimer,
        owner: Any,
        sync: Sync,
        max_step_ms: int,
        most_in_memory: int,
        upkeep: Mapping[str, Any],
    ) -> None:
        self.name, self.files, self.timer = name, files, timer
        self._owner = owner
        self._most = most_in_memory
        self.about = about_me(name, timer.clock.wall_ns() // 1_000_000)
        try:
            self._ownership = files.lock(LOCK, self.about)
        except OSError as error:
            raise disk_error(files, error) from error
        try:
            self.index = Index(files.index_path)
            self.recovered_from = self._recover(sync, max_step_ms)
            self._upkeep = Upkeep(files, self.log, self.now_ms, self.index, self._most, **upkeep)
        except BaseException:
            self._let_go()
            raise

    def _recover(self, sync: Sync, max_step_ms: int) -> int:
        """Build the state and go on in a new segment; return the one with which the recovery began."""
        recovered = recover(self.files, self._owner, index=self.index, most=self._most)
        self.state, self.torn_bytes = recovered.state, recovered.tail.torn_bytes
        if self.torn_bytes:
            left_out = f"{self.torn_bytes} bytes that were never acknowledged are left out"
            self._log("warning", f"the last write was cut off; {left_out}")
        for damage in recovered.damaged_snapshots:
            self._log("warning", f"passed over a snapshot: {damage}")
        self.stamps = Stamps(self.timer.clock, self.state.last_stamp, max_step_ms)
        self.log = LogWriter(self.files, recovered.position, sync)
        self.log.start_segment(self.now_ms(), self.state.next_number)
        return recovered.snapshot or 1

    def _report(self, error: BaseException) -> None:
        self._log("error", str(error) or repr(error))

    def _log(self, level: str, said: str) -> None:
        import logging  # noqa: PLC0415  (only a hub with something to say pays for it)

        getattr(logging.getLogger("sojourn.durable"), level)("%s: %s", self.files, said)

    def now_ms(self) -> int:
        return self.stamps.now_ms()

    def _let_go(self) -> None:
        """Close all files."""
        if hasattr(self, "log"):  # otherwise the folder could not be read
            self.log.close()
        if hasattr(self, "index"):
            self.index.close()
        self._ownership.close()

    def _leave_behind(self, parent_pid: int) -> None:
        """In a forked child: lock and index belong to the parent, and are freed when the parent ends."""
        self.index.leave_behind()
        self._ownership.leave_behind()

    # What is in memory

    @property
    def _cold(self) -> Cold:
        assert self.state.cold is not None
        return self.state.cold

    @property
    def _has_room(self) -> bool:
        """Whether waits can come in before they are due; otherwise they come when they are."""
        return len(self.state.waits) < self._most

    def _start_segment(self, stamp: int) -> None:
        self.log.start_segment(stamp, self.state.next_number)
        if not self._upkeep.is_working:
            self._thaw()
            self._cold.freeze()
            self._upkeep.segment_started()
            self._thaw()

    def _see_to_memory(self, stamp: int) -> None:
        """Let waits go that the index has by now, and others come in; wait for upkeep if it is too far behind."""
        cold = self._cold
        if cold.is_crowded:
            self._upkeep.join(CROWD_WAIT_S if len(cold.changed) < 2 * CROWD * cold.most_changed else None)
        self._thaw()
        cold.leave(MOVE_MOST)
        if self._has_room:
            cold.due(stamp + LEAD_MS, MOVE_MOST)

    def _thaw(self) -> None:
        if self._cold.frozen and (self._upkeep.is_forward or not self._upkeep.is_working):
            self._cold.thaw(self._upkeep.is_forward)

    def _bring_in_all(self) -> bool:
        """Make objects of all pending waits that have none yet; False if there are so many that it would take long."""
        state = self.state
        if state.pending - len(state.waits.made()) > BRING_IN_MOST or self.index.is_broken:
            return False
        with suppress(StorageError):
            if state.pending > len(state.waits) or self._cold.cancels:
                self._cold.where(Where())
            return all(state.waits.values())
        return False

    def _due(self) -> int | None:
        """When there is something to do that nobody asks for."""
        state, cold, first = self.state, self._cold, self.state.due.first()
        if state.untold or cold.cancels:
            return self.now_ms()
        if state.grace_until is not None:
            return state.grace_until
        coming = cold.first_due()
        times = [] if first is None else [first + 1]
        if coming is not None:
            times.append(coming - LEAD_MS if self._has_room else coming + 1)
        return min(times, default=None)
