"""Connections to a service, kept for the next request, and one request over one of them."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR, socket
from typing import NamedTuple
from urllib.parse import urlsplit

from ...errors import ConfigError

IDLE_MOST = 16
EXAMPLE = "a URL such as http://127.0.0.1:7420"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """By name in small letters."""
    body: bytes
    is_repeated: bool = False
    """Whether an earlier attempt may have been carried out, too."""


class LostError(Exception):
    """No answer. `was_sent` if the service may have had the request."""

    def __init__(self, cause: Exception, was_sent: bool) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__)
        self.was_sent = was_sent


class Wire:
    """Any number of threads; each request has a connection for itself. A forked child makes its own."""

    def __init__(self, url: str, token: str | None, timeout_s: float, ssl_context: ssl.SSLContext | None) -> None:
        self.url = url
        self._is_secure, self._host, self._port, self._prefix = taken_apart(url)
        self._headers = {} if token is None else {"authorization": f"Bearer {checked_token(token)}"}
        self._timeout_s, self._ssl_context = timeout_s, ssl_context
        self._lock = threading.Lock()
        self._idle: list[HTTPConnection] = []
        self._busy: dict[HTTPConnection, socket] = {}
        """With their sockets, which they forget while they read."""
        self._pid = os.getpid()
        self._is_open = True

    def exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], *, wait_s: float, is_fresh: bool
    ) -> Answer:
        """`wait_s` is how long the service may take beyond the usual; `is_fresh` uses no kept connection."""
        connection = None if is_fresh else self._kept()
        if connection is not None:
            try:
                return self._over(connection, method, path, body, headers, wait_s)
            except LostError:
                pass  # closed since its last use; requests that must not be repeated always use a fresh connection
        return self._over(self._connected(), method, path, body, headers, wait_s)

    def _over(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        wait_s: float,
    ) -> Answer:
        was_sent = False
        try:
            connection.sock.settimeout(self._timeout_s + wait_s)
            was_sent = True
            connection.request(method, self._prefix + path, body, {**self._headers, **headers})
            response = connection.getresponse()
            answer = Answer(response.status, lowered(response), response.read())
        except (OSError, HTTPException) as error:
            self._drop(connection)
            raise LostError(error, was_sent) from None
        except BaseException:
            self._drop(connection)
            raise
        self._keep(connection, response)
        return answer

    def opened(self, path: str, headers: Mapping[str, str], timeout_s: float) -> tuple[HTTPConnection, HTTPResponse]:
        """An answer that goes on: whoever reads it drops the connection in the end."""
        connection = self._connected()
        try:
            connection.sock.settimeout(timeout_s)
            connection.request("GET", self._prefix + path, None, {**self._headers, **headers})
            return connection, connection.getresponse()
        except (OSError, HTTPException) as error:
            self._drop(connection)
            raise LostError(error, True) from None

    def drop(self, connection: HTTPConnection) -> None:
        self._drop(connection)

    def close(self) -> None:
        """Whatever is under way fails now."""
        with self._lock:
            self._is_open = False
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.close()
        for held in busy:
            with suppress(OSError):
                held.shutdown(SHUT_RDWR)  # whoever reads from it, in another thread, wakes up

    # Inside

    def _kept(self) -> HTTPConnection | None:
        with self._lock:
            if self._pid != os.getpid():  # the parent has these
                self._pid, self._idle, self._busy = os.getpid(), [], {}
            if not self._idle:
                return None
            connection = self._idle.pop()
            self._busy[connection] = connection.sock
            return connection

    def _connected(self) -> HTTPConnection:
        if self._is_secure:
            context = self._ssl_context or ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(
                self._host, self._port, timeout=self._timeout_s, context=context
            )
        else:
            connection = HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise LostError(error, False) from None
        with self._lock:
            if self._is_open:
                self._busy[connection] = connection.sock
                return connection
        connection.close()
        raise LostError(ConnectionError("the client is closed"), False)

    def _keep(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        with self._lock:
            self._busy.pop(connection, None)
            if self._is_open and not response.will_close and len(self._idle) < IDLE_MOST:
                self._idle.append(connection)
                return
        connection.close()

    def _drop(self, connection: HTTPConnection) -> None:
        with self._lock:
            self._busy.pop(connection, None)
        connection.close()


def lowered(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def taken_apart(url: object) -> tuple[bool, str, int, str]:
    """Whether it is https, the host, the port, and what goes before every path."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"url={url!r} is not a text of visible ASCII characters; give {EXAMPLE}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"url={url!r} is not a URL: {error}; give {EXAMPLE}") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ConfigError(f"url={url!r} is not where a service is; give {EXAMPLE}")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"url of {host!r} has a user or a password; a service takes a token=")
    is_secure = parts.scheme == "https"
    return is_secure, host, port or (443 if is_secure else 80), parts.path.rstrip("/")


def checked_token(token: object) -> str:
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("token is not a text of visible ASCII characters")  # without the value: it is a secret
    return token
