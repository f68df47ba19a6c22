"""`Hub` and `AsyncHub` with a data folder: the verbs of `hub/hub.py`, and those that only a log makes possible."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, cast

from .._arguments import check_name, check_whole, not_to_be_copied
from ..clock import ManualClock
from ..errors import ConfigError
from ..hub._coroutines import Coroutines
from ..hub.hub import NO_LIMIT
from ..purgatory.purgatory import OnError, log_error
from ..rules.duration import Duration, duration_ms
from ..timer import LatenessHistogram, SystemTimer
from .acts import check_note
from .callbacks import Callbacks
from .dataset.archive import Archive
from .engine import Engine
from .faces import StoredHub, T
from .index.cold import MEMORY, WAIT_BYTES
from .log.files import DiskFiles, Files
from .sleep import await_told, strand
from .state.incidents import Incident
from .state.state import Settings, State
from .state.wait import Told, Wait, explanation
from .verbs import Verbs, asked_for

if TYPE_CHECKING:
    from ..clock import Clock

SEGMENT_BYTES = 64 * 2**20


class DurableStats(NamedTuple):
    """A frozen snapshot."""

    pending: int
    completed: int
    expired: int
    cancelled: int
    remembered: int
    """Signals kept for waits that have not come yet."""
    overdue: LatenessHistogram | None
    """How long after their deadline the hub was woken; None beside the owner."""
    last_number: int
    """Of the last outcome that was told."""
    clock_steps: int
    torn_bytes: int
    """Cut off the end of the log when the folder was opened: they were never acknowledged."""
    is_failing: bool
    """Whether the disk refused the last write: then writes are refused until it takes them again."""
    refused_step_ms: int
    """How far the wall clock has jumped ahead beyond `max_step`, unconfirmed."""


class DurableFace(Callbacks):
    """What both hubs have in common.

    `data`           the folder, made if there is none; one hub owns it at a time.
    `sync`           "always": a call is answered once it is on the disk; "os": once the operating system has it, which
                     survives the death of the process, not of the machine.
    `remember`       how long to keep signals for waits that have not come yet; by default not at all.
    `remember_ids`   how long the ids of ended waits and of signals are known: one that comes again has no effect.
    `max_pending`    refuse further waits beyond that many, with `HubFullError`.
    `recover_grace`  how long after a start nothing expires, so that senders can deliver what they could not, with `at`.
    `max_step`       a jump of the wall clock ahead beyond that is not followed until `confirm_step()`.
    `keep`           how long outcomes and events stay in the log; `keep_bytes` limits its size.
    `archive`        True: sealed segments are converted to Parquet (needs `sojourn[pipeline]`), and leave the log only
                     after that. False: they leave it unconverted. By default likewise, unless the folder has such a
                     data set, which `sojourn compact` makes too: then not before they have been converted.
    `memory`         about how many bytes pending waits may take in memory: those due later are in an index on the disk.
    `clock`          for tests: a `ManualClock` runs everything in virtual time, and in the calling thread.
    `on_error`       told the wait and what one of its callbacks raised, or which early signal it could not use.

    Keys and ids are texts, payloads JSON up to 64 KiB. Closing leaves waits pending in the folder.
    """

    name: str

    def __init__(
        self,
        name: str = "hub",
        *,
        data: str | os.PathLike[str] | Files,
        sync: str = "always",
        remember: Duration | None = None,
        remember_most: int = 100_000,
        remember_ids: Duration = "1 day",
        remember_ids_most: int = 1_000_000,
        max_pending: int | None = None,
        recover_grace: Duration = 0,
        max_step: Duration = "7 days",
        keep: Duration = "7 days",
        keep_bytes: int | None = None,
        archive: bool | None = None,
        memory: int = MEMORY,
        segment_bytes: int = SEGMENT_BYTES,
        clock: Clock | None = None,
        on_error: OnError = log_error,
    ) -> None:
        check_name(name)
        check_whole("remember_most", remember_most, 0, NO_LIMIT)
        check_whole("remember_ids_most", remember_ids_most, 1, NO_LIMIT)
        check_whole("memory", memory, 0, 2**62)
        check_whole("segment_bytes", segment_bytes, 1, 2**40)
        if max_pending is not None:
            check_whole("max_pending", max_pending, 0, NO_LIMIT)
        if sync not in ("always", "os"):
            raise ConfigError(f'sync={sync!r} is not known; allowed are "always" and "os"')
        keep_ms = None if remember is None else duration_ms(remember)
        settings = Settings(
            keep_ms, remember_most, duration_ms(remember_ids), remember_ids_most, duration_ms(recover_grace)
        )
        files = DiskFiles(data) if isinstance(data, str | os.PathLike) else data
        keeping = Archive(files, archive)
        upkeep = {"segment_bytes": segment_bytes, "keep_ms": duration_ms(keep), "keep_bytes": keep_bytes}
        self.name = name
        self._on_error = on_error
        self._coroutines: Coroutines | None = None
        self._made_in = threading.get_ident()
        self._timer = SystemTimer(name, clock=clock)
        try:
            self._engine = Engine(
                name,
                files,
                self._timer,
                self,
                sync=cast(Any, sync),
                settings=settings,
                max_step_ms=duration_ms(max_step),
                gathers=not isinstance(clock, ManualClock),
                most_in_memory=memory // WAIT_BYTES,
                upkeep={**upkeep, "sealed": keeping.sealed, "before_removal": keeping.before_removal},
            )
        except BaseException:
            self._timer.close()
            raise
        self._verbs = Verbs(self._engine, max_pending)
        self._timer.start()

    def __repr__(self) -> str:
        is_open = "open" if self._engine._is_open else "closed"
        return f"<{type(self).__name__} {self.name!r} {is_open}, {self.pending} pending, in {self._engine.files}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise not_to_be_copied(self)

    # What is asked, without a record

    def get(self, id: Wait | str) -> Wait | None:
        """The wait of that id, pending or, while its id is remembered, ended; None if there is none."""
        asked = asked_for(id)
        return asked if isinstance(asked, Wait) else self._engine.look(lambda state: state.find(asked))

    def list(
        self, key: str | None = None, *, rule: str | None = None, due_before: int | None = None
    ) -> builtins.list[Wait]:
        """The pending waits, soonest deadline first: on a key, of a rule, due before a time (epoch milliseconds)."""
        return self._engine.look(lambda state: listed(state, key, rule, due_before))

    def explain(self, id: Wait | str) -> str:
        """A sentence: how the wait ended, or what it still waits for."""
        return self._engine.look(lambda state: explained(state, id, self.now_ms()))

    @property
    def pending(self) -> int:
        """How many waits are pending. Exact, O(1)."""
        return self._engine.state.pending

    @property
    def timer(self) -> SystemTimer:
        return self._timer

    def now_ms(self) -> int:
        """The hub's time: milliseconds since the epoch, which never run back."""
        self._engine.check_process()
        return self._engine.now_ms()

    def stats(self) -> DurableStats:
        engine = self._engine
        return engine.look(
            lambda state: DurableStats(
                *counted(state),
                self._timer.stats().lateness,
                engine.outcomes.last,
                state.clock_steps,
                engine.torn_bytes,
                engine.log.failure is not None,
                engine.stamps.refused_ms,
            )
        )

    def close(self, *, cancel_pending: bool = False) -> Sequence[Wait]:
        """Stop, and let go of the folder. Waits stay pending in it, unless `cancel_pending`. Returns those that were.

        That is a list; but if more than 10,000 of them have not been looked at yet, it is a sequence that reads these
        from the folder each time somebody iterates over it, which works at least until the folder is opened again.
        Whoever waits for one of them in this process gets a `PurgatoryClosedError`.
        """
        before = None
        if cancel_pending and self._engine._is_open:
            before = self._engine.left()
            self._engine.submit(self._verbs.cancel_where(None, "", False))
            self._engine.tell_all()
        left = self._engine.close()
        self._timer.close()
        if left is None:
            return []
        strand([*left.held.values()], self.name)
        return (left if before is None else before.seen_at(left.place)).handed_out()

    def incidents(self) -> builtins.list[Incident]:
        """What was done to many at once: clocks stopped and resumed, deadlines shifted and shifted back; in order."""
        return self._engine.look(lambda state: builtins.list(state.incidents.acts))

    # What the engine and its waits ask

    def _wake(self) -> None:
        self._engine.wake()

    def _await_told(self, wait: Wait, timeout: float | None) -> None:
        await_told(wait, self._engine, self._timer, self._made_in, timeout)

    def confirm_step(self) -> int:
        """Follow a jump of the wall clock beyond `max_step`; return by how many milliseconds."""
        moved_ms = self._engine.stamps.confirm()
        self._engine.wake()
        return moved_ms


class DurableHub(DurableFace, StoredHub[Wait]):  # type: ignore[misc]
    """Waits and signals across threads, in a folder that survives the process: `Hub(name, data=folder)`."""

    def stop_clock(self, rule: str, note: str | None = None) -> Incident:
        """Let no time pass for the waits of a rule, and for those that come, until `resume_clock`. One record."""
        return self._ask(self._verbs.acts.stop, rule, check_note(note))

    def resume_clock(self, rule: str, note: str | None = None) -> Incident:
        """Let time pass again: each wait has as much left as when the clock was stopped, or it was opened since."""
        return self._ask(self._verbs.acts.resume, rule, check_note(note))

    def undo(self, number: int, note: str | None = None) -> Incident:
        """Take back the shift of that number among `incidents()`, for the waits that are still pending.

        None is moved to before now: what has no time left then expires.
        """
        return self._ask(self._verbs.acts.undo, number, check_note(note))

    def _ask(self, verb: Callable[..., Callable[[int], T]], *args: Any) -> T:
        return self._engine.submit(verb(*args))

    def _outcomes(self, after: int, timeout: float | None) -> Iterator[Told]:
        told = self._engine.outcomes
        while told.wait(after, timeout):
            for outcome in told.after(after):
                yield outcome
                after = outcome.number


def listed(state: State, key: str | None, rule: str | None, due_before: int | None) -> list[Wait]:
    return sorted(state.listed(key, rule, due_before), key=lambda wait: (wait.deadline, wait.seq))


def explained(state: State, id: Wait | str, now_ms: int) -> str:
    asked = asked_for(id)
    wait = asked if isinstance(asked, Wait) else state.find(asked)
    if wait is None:
        return f"there is no wait {id!r}, or no longer"
    return wait._conclude().explain() if wait._row is not None else explanation(wait, now_ms)


def counted(state: State) -> tuple[int, int, int, int, int]:
    remembered = 0 if state.memory is None else len(state.memory)
    counts = state.counts
    return state.pending, counts["completed"], counts["expired"], counts["cancelled"], remembered
