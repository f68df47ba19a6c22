"""`sojourn serve` as users start it: a process of its own, asked over sockets."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Running:
    """One process that serves; `said` is what it has written to its log so far."""

    def __init__(self, data: Path | None, *arguments: str, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "sojourn", "serve", "--port", "0", *arguments]
        if data is not None:
            command += ["--data", str(data)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.address = self._read_until("listening on ").removeprefix("listening on ")
        self.host, self.port = urlsplit(self.address).hostname or "", urlsplit(self.address).port or 0

    def _read(self) -> None:
        """All the time: a log that nobody reads would stop whoever writes it."""
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                self.said.append(line.rstrip())
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def _read_until(self, text: str) -> str:
        while (line := self._lines.get(timeout=30)) is not None:
            if text in line:
                return line
        self._finish()
        raise AssertionError("\n".join(self.said))

    def become_ready(self) -> Running:
        """Return once the folder is open."""
        self._read_until('"message": "ready"')
        return self

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=20)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body)
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers.get("content-type", "").endswith(("/json", "+json"))
            return answer.status, json.loads(text) if is_json else text.decode()
        finally:
            connection.close()

    def kill(self) -> None:
        self.process.kill()
        self._finish()

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._finish()

    def _finish(self) -> int:
        code = self.process.wait(30)
        self._reading.join()
        return code


@contextmanager
def running(data: Path | None, *arguments: str, **more: Any) -> Iterator[Running]:
    """A service that is ready, and is stopped at the end."""
    service = Running(data, *arguments, **more)
    try:
        yield service.become_ready()
    finally:
        if service.process.returncode is None:
            service.stop()


class Stream:
    """A stream of events, read from a socket."""

    def __init__(self, service: Running, path: str = "/v1/outcomes", headers: str = "") -> None:
        self._socket = service.connect()
        head = f"GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{headers}\r\n"
        self._socket.sendall(head.encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass

    def events(self, count: int) -> list[dict[str, Any]]:
        """The next outcomes."""
        found = []
        while len(found) < count:
            line = self._file.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
        return found

    def rest(self) -> bytes:
        """Everything until it ends."""
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._socket.close()
