"""One POST over HTTP/1.1, to an address that the guard has judged, on a connection that is kept for the next.

Streams and h11 (which uvicorn brings along) rather than an HTTP client: the address is the one that was judged, by
construction; no proxy, redirect or cookie comes into it; and one timeout is for everything, however slowly a receiver
drips.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import h11

from .guard import Guard, RefusedError, Target

TIMEOUT_S = 15
MOST_ANSWER_BYTES = 64 * 1024
"""Bytes of a receiver's answer, which is not used; a longer one ends the connection."""
KEPT_TEXT = 200


class Answer(NamedTuple):
    """What a receiver said, or why there is no answer."""

    status: int | None
    error: str | None = None
    retry_after_s: int = 0

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def reason(self) -> str | None:
        """Why it does not count as delivered."""
        if self.is_success or self.status is None:
            return self.error
        redirects = " (redirects are not followed)" if 300 <= self.status < 400 else ""
        return f"answered {self.status}{redirects}"


class Sends(Protocol):
    """What a courier asks of a sender. It never raises but when it is cancelled."""

    async def post(self, target: Target, headers: dict[str, str], body: bytes) -> Answer: ...

    def close(self) -> None: ...


class Sender:
    """For one webhook: one message at a time."""

    def __init__(self, guard: Guard, timeout_s: float = TIMEOUT_S, make_context: Callable[[], Any] | None = None):
        self._guard, self._timeout_s = guard, timeout_s
        self._make_context = make_context or ssl.create_default_context
        self._line: Line | None = None

    async def post(self, target: Target, headers: dict[str, str], body: bytes) -> Answer:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._post(target, headers, body)
        except TimeoutError:
            return self._failed(f"no answer within {self._timeout_s} s")
        except RefusedError as error:
            return self._failed(str(error))
        except (OSError, EOFError, h11.ProtocolError) as error:
            return self._failed(f"{type(error).__name__}: {error}"[:KEPT_TEXT])
        except asyncio.CancelledError:
            self.close()
            raise

    async def _post(self, target: Target, headers: dict[str, str], body: bytes) -> Answer:
        line, self._line = self._line, None
        if line is not None and line.target == target and not line.is_closed():
            try:
                return await self._exchange(line, headers, body)
            except (OSError, EOFError, h11.RemoteProtocolError):
                pass  # it was closed since its last use; a message may be sent twice, it is never lost
        elif line is not None:
            line.close()
        return await self._exchange(await self._open(target), headers, body)

    async def _open(self, target: Target) -> Line:
        addresses = await self._guard.addresses(target)
        failure: OSError = OSError("no address")
        for address in addresses:
            try:
                return await self._connect(target, address)
            except OSError as error:
                failure = error
        raise failure

    async def _connect(self, target: Target, address: str) -> Line:
        """The name is what the certificate is for; the address is where the connection goes."""
        context = self._make_context() if target.is_secure else None
        name = target.host if target.is_secure else None
        reader, writer = await asyncio.open_connection(address, target.port, ssl=context, server_hostname=name)
        return Line(target, reader, writer)

    async def _exchange(self, line: Line, headers: dict[str, str], body: bytes) -> Answer:
        self._line = line
        try:
            answer = await line.post(headers, body)
        except BaseException:
            self.close()
            raise
        if not line.is_reusable():
            self.close()
        return answer

    def _failed(self, error: str) -> Answer:
        self.close()
        return Answer(None, error)

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()


class Line:
    """A connection to a receiver."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = target
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        fields = {"host": self.target.authority, "content-length": str(len(body)), "user-agent": "sojourn", **headers}
        request = h11.Request(method="POST", target=self.target.path, headers=list(fields.items()))
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()
        return await self._answer()

    async def _answer(self) -> Answer:
        answer, size = Answer(None, "no answer"), 0
        while not isinstance(event := await self._next_event(), h11.EndOfMessage | h11.ConnectionClosed):
            if isinstance(event, h11.Response):
                answer = Answer(event.status_code, None, retry_after_s(event.headers))
            elif isinstance(event, h11.Data):
                size += len(event.data)
                if size > MOST_ANSWER_BYTES:
                    break  # the status is what counts
        return answer

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(65_536)
            if not data and self._http.their_state is h11.SEND_RESPONSE:
                raise EOFError("the receiver closed the connection without an answer")
            self._http.receive_data(data)
        return event

    def is_reusable(self) -> bool:
        """Whether another message may follow; makes it ready for that."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def is_closed(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    def close(self) -> None:
        with suppress(Exception):
            self._writer.transport.abort()


def retry_after_s(headers: Any) -> int:
    """The seconds that a receiver asks for; a date is not looked at."""
    for name, value in headers:
        if name == b"retry-after" and value.isdigit() and len(value) < 9:
            return int(value)
    return 0
