"""The handles of a client by id: one for each wait, as long as somebody holds it or waits for its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from ...durable.state.wait import Told
from .shapes import told_from
from .wait import Owner, RemoteWait

CATCH_UP_S = 5
"""How long a call waits for callbacks that are being called because of it."""


class Known:
    """What comes with the events while an answer is under way is kept for the handles that the answer makes."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._lock = threading.RLock()
        self._told = threading.Condition(self._lock)
        self._telling: RemoteWait | None = None
        self._teller = 0
        self._by_id: WeakValueDictionary[str, RemoteWait] = WeakValueDictionary()
        self._held: dict[str, RemoteWait] = {}
        self._listeners = 0
        self._meanwhile: dict[str, Told] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        with self._lock:
            self._listeners += 1
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= 1
                if not self._listeners:
                    self._meanwhile.clear()

    def handle(self, shape: dict[str, Any], *, is_live: bool) -> RemoteWait:
        """The handle of a wait in an answer. `is_live` if events were followed when that was asked for."""
        told = None if shape["outcome"] is None else told_from(shape["outcome"])
        with self._lock:
            wait = self._by_id.get(shape["id"])
            if wait is None or wait.opened_at != shape["opened_at"]:  # ids are forgotten in time, and used again
                wait = self._by_id[shape["id"]] = RemoteWait.__new__(RemoteWait)
                wait._owner, wait._told, wait._callbacks, wait._is_live = self._owner, None, None, False
            fill(wait, shape)
            wait._is_live = wait._is_live or is_live
            meanwhile = self._meanwhile.get(wait.id)
            if told is None and meanwhile is not None and meanwhile.opened_at == wait.opened_at:
                told = meanwhile
        if told is not None:
            wait._end(told)
            self._await_callbacks(wait)
        return wait

    def tell(self, told: Told) -> None:
        """What the events say; the thread that reads them calls this for one after the other."""
        with self._lock:
            wait = self._by_id.get(told.operation_id)
            if self._listeners:
                self._meanwhile[told.operation_id] = told
            self._telling, self._teller = wait, threading.get_ident()
        try:
            if wait is not None and wait.opened_at == told.opened_at:
                wait._end(told)
        finally:
            with self._told:
                self._telling = None
                self._told.notify_all()

    def _await_callbacks(self, wait: RemoteWait) -> None:
        """An answer says that it has ended; where the events said so first, its callbacks may still be running."""
        with self._told:
            if self._teller != threading.get_ident():
                self._told.wait_for(lambda: self._telling is not wait, CATCH_UP_S)

    def hold(self, wait: RemoteWait, is_held: bool) -> None:
        """Somebody waits for its end, though perhaps nobody has the handle; or no longer."""
        with self._lock:
            if is_held:
                self._held[wait.id] = wait
            else:
                self._held.pop(wait.id, None)

    def has_pending(self) -> bool:
        """Whether somebody holds a wait that has not ended as far as is known, or whose callbacks still run."""
        with self._lock:
            return self._telling is not None or any(wait._told is None for wait in list(self._by_id.values()))

    def held(self) -> list[RemoteWait]:
        with self._lock:
            return list(self._held.values())

    def forget_liveness(self) -> list[RemoteWait]:
        """Events were missed: from now on handles ask again. Returns those that somebody waits for."""
        with self._lock:
            for wait in list(self._by_id.values()):
                wait._is_live = False
            return list(self._held.values())


def fill(wait: RemoteWait, shape: dict[str, Any]) -> None:
    wait.id, wait.keys, wait.rule = shape["id"], tuple(shape["keys"]), shape["rule"] or "wait"
    wait.opened_at, wait.deadline, wait.within_ms = shape["opened_at"], shape["deadline"], shape["within_ms"]
    wait.payload = shape["payload"]
