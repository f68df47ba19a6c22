"""A task of a timer, and several of them, in plain Python. `_core.pyx` is the same, in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, Self, SupportsIndex, overload

from .._arguments import not_to_be_copied
from ._lock import lock
from ._state import TaskState, not_callable, whole_ms
from ._wheel import TimerTaskEntry

if TYPE_CHECKING:
    from ._timer import Timer

IDLE, PENDING, EXPIRED, CANCELLED = TaskState


class TimerTask(TimerTaskEntry):
    """Something to run once a delay has passed. Made by `timer.schedule`, or subclassed (`delay_ms`, `run`) and added.

    A task made from a callback lets go of it once it has run or been cancelled. A subclass can be added again.
    """

    __slots__ = ("_args", "_arming", "_callback", "_deadline_ms", "_delay_ms", "_on_wall", "_state", "_timer")

    _state: TaskState
    _timer: Timer | None
    _callback: Callable[..., object] | None
    _args: tuple[object, ...]
    _delay_ms: int
    _deadline_ms: int | None
    _on_wall: bool
    _arming: int
    """How often it has joined a timer."""

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Takes anything, so that subclasses may, and need not call `__init__`."""
        self = super().__new__(cls)
        self._state, self._timer = IDLE, None
        self._callback, self._args = None, ()
        self._delay_ms, self._deadline_ms, self._on_wall, self._arming = 0, None, False, 0
        return self

    def __init__(
        self, delay_ms: SupportsIndex = 0, callback: Callable[..., object] | None = None, *args: object
    ) -> None:
        self._delay_ms = whole_ms(delay_ms)
        if callback is not None and not callable(callback):
            raise not_callable(callback)
        self._callback = callback
        self._args = args

    def run(self) -> object:
        """What to do when the deadline has come; subclasses say."""
        if self._callback is None:
            raise TypeError(f"{self!r} has nothing to run: give it a callback, or a run() of its own in a subclass")
        return self._callback(*self._args)

    def cancel(self) -> bool:
        """Prevent the run. True exactly for the caller that did."""
        with lock:
            if self._timer is None:
                return False
            if not self._timer._is_open:
                self._timer._check_process()
            self._timer._leave(self, CANCELLED)
            arming = self._arming
        self._let_go(arming)
        return True

    def extend(self, delay_ms: SupportsIndex) -> bool:
        """Re-arm in place, to run `delay_ms` from now. False if it has run or been cancelled already."""
        delay_ms = whole_ms(delay_ms)
        while True:
            with lock:
                timer = self._timer
            if timer is None:
                return False
            if timer._extend(self, delay_ms):
                return True
            with lock:
                if self._timer is timer and not timer._is_open:
                    return False  # about to be handed back

    @property
    def delay_ms(self) -> int:
        return self._delay_ms

    @delay_ms.setter
    def delay_ms(self, value: SupportsIndex) -> None:
        self._delay_ms = whole_ms(value)

    @property
    def deadline_ms(self) -> int | None:
        """When it is or was due, in its clock's milliseconds (for `schedule_at`, the epoch's); None if never added."""
        return self._deadline_ms

    @property
    def state(self) -> TaskState:
        return self._state

    @property
    def is_pending(self) -> bool:
        return self._state is PENDING

    @property
    def is_cancelled(self) -> bool:
        return self._state is CANCELLED

    def __repr__(self) -> str:
        what = getattr(self._callback, "__qualname__", None) or type(self).__qualname__
        return f"<TimerTask {what} {self._state.name.lower()} delay_ms={self.delay_ms} deadline_ms={self._deadline_ms}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    def _let_go(self, arming: int) -> None:
        """Drop the callback of a task that is done, for it often leads back to the task's owner."""
        with lock:
            if self._state is PENDING or self._arming != arming:
                return  # armed again meanwhile
            held = self._callback, self._args
            self._callback, self._args = None, ()
        del held  # outside the lock: this may run any finaliser


class TaskBatch(Sequence[TimerTask]):
    """The tasks of one `schedule_many`, in the order of their delays."""

    __slots__ = ("_tasks",)

    def __init__(self, tasks: list[TimerTask]) -> None:
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> TimerTask: ...

    @overload
    def __getitem__(self, index: slice) -> list[TimerTask]: ...

    def __getitem__(self, index: int | slice) -> TimerTask | list[TimerTask]:
        return self._tasks[index]

    def cancel(self) -> int:
        """Cancel every task that is still pending; return how many runs that prevented."""
        return sum(task.cancel() for task in self._tasks)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    def __repr__(self) -> str:
        return f"<TaskBatch of {len(self)}>"
