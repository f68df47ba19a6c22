"""The one stream of outcomes of a client: server-sent events, read by a thread, connected again when it was cut."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from ...durable.state.wait import Told
from ...errors import OutcomesGoneError, SojournError, UnreachableError
from .refusals import error_of, problem_in
from .shapes import told_from
from .transport import Transport, path_of
from .wire import LostError

log = logging.getLogger("sojourn.client")

SILENCE_S = 60
"""The service says every quarter of a minute that it is still there."""
ACCEPT = "text/event-stream"


class Events:
    """Outcomes from the first `start` on, each once and in order, to `tell`.

    `missed` is told when the service no longer has what came while nobody was connected.
    """

    def __init__(self, transport: Transport, tell: Callable[[Told], object], missed: Callable[[], object]) -> None:
        self._transport, self._tell, self._missed = transport, tell, missed
        self._starting = threading.Lock()
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self.cursor = 0
        """The number of the last outcome that was told of."""
        self.failure: SojournError | None = None
        """Why there are no more events."""

    @property
    def is_following(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and self._pid == os.getpid()

    def start(self) -> None:
        """Follow from now on; returns once it does. Idempotent."""
        with self._starting:
            if self.is_following:
                return
            self._transport.check_open()
            stats = json.loads(self._transport.ask("GET", "/v1/stats").body)
            self._advance_to(stats["last_number"])
            self._pid, self.failure = os.getpid(), None
            try:
                first = self._connected()
            except UnreachableError:  # just now; it knows from where to go on
                first = None
            self._thread = threading.Thread(target=self._follow, args=(first,), name="sojourn-events", daemon=True)
            self._thread.start()

    def is_here(self) -> bool:
        """Whether this is the thread that reads: it cannot wait for itself."""
        return threading.current_thread() is self._thread

    def await_number(self, number: int, timeout_s: float) -> bool:
        """Return when everything up to that number has been told of."""
        with self._news:
            return self._news.wait_for(lambda: self.cursor >= number or not self.is_following, timeout_s)

    def join(self) -> None:
        """After the transport was closed."""
        if self.is_following and not self.is_here() and self._thread is not None:
            self._thread.join()

    # The thread

    def _follow(self, connected: tuple[HTTPConnection, HTTPResponse] | None) -> None:
        attempts = 0
        try:
            while not self._transport.closing.is_set():
                if connected is not None:
                    attempts = 0
                    self._read(*connected)
                attempts += 1
                self._transport.closing.wait(self._transport.pause_s(attempts))
                connected = None if self._transport.closing.is_set() else self._reconnected()
        except SojournError as error:
            self.failure = error
            log.error("no more outcomes from %s: %s", self._transport.wire.url, error)
            self._missed()
        finally:
            with self._news:
                self._news.notify_all()

    def _connected(self) -> tuple[HTTPConnection, HTTPResponse]:
        path = path_of("v1", "outcomes", after=self.cursor)
        headers = {"accept": ACCEPT, "last-event-id": str(self.cursor)}
        try:
            connection, response = self._transport.wire.opened(path, headers, SILENCE_S)
        except LostError as lost:
            raise UnreachableError(f"{self._transport.wire.url} does not answer: {lost}") from None
        if response.status == 200:
            return connection, response
        try:
            problem = problem_in(response.read())
        finally:
            self._transport.wire.drop(connection)
        raise error_of(response.status, problem)

    def _reconnected(self) -> tuple[HTTPConnection, HTTPResponse] | None:
        """None if it is to be tried again; raises if that would not help."""
        try:
            return self._connected()
        except OutcomesGoneError as gone:
            self._skip_to(gone.resume_after)
        except (UnreachableError, ConnectionError):
            pass
        except SojournError as error:
            if isinstance(error, PermissionError):
                raise
            log.warning("the stream of outcomes from %s is refused: %s", self._transport.wire.url, error)
        return None

    def _read(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        event, data = "", b""
        try:
            for line in response:
                if line.startswith(b"data: "):
                    data = line[6:]
                elif line.startswith(b"event: "):
                    event = line[7:].strip().decode()
                elif line == b"\n":
                    self._dispatch(event, data)
                    event, data = "", b""
        except (OSError, HTTPException, ValueError, AttributeError):
            pass  # cut, or closed by another thread: what was half read comes again
        finally:
            self._transport.wire.drop(connection)

    def _dispatch(self, event: str, data: bytes) -> None:
        if event == "outcome":
            shape: dict[str, Any] = json.loads(data)
            if shape["number"] > self.cursor:
                self._tell_of(told_from(shape))
                self._advance_to(shape["number"])
        elif event == "gone":
            self._skip_to(int(json.loads(data).get("resume_after") or 0))

    def _tell_of(self, told: Told) -> None:
        """A callback that wants to leave the program cannot do so from here, and others want to hear what follows."""
        try:
            self._tell(told)
        except (SystemExit, KeyboardInterrupt):
            log.exception("a callback of %r raised an exit in the thread of the client, where nobody heeds it", told)

    def _skip_to(self, number: int) -> None:
        """What came in between is not to be had any more as events."""
        if number > self.cursor:
            self._advance_to(number)
        self._missed()

    def _advance_to(self, number: int) -> None:
        with self._news:
            self.cursor = number
            self._news.notify_all()
