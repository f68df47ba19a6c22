"""A road between client and service on which answers get lost, on request."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 2\r\n\r\n{}"


class Flaky:
    """What becomes of the next requests, one word each, then all pass:

    "pass"    to the service and back
    "before"  the connection is cut before the service has heard of it
    "after"   the service answers, and the connection is cut instead of the answer
    "busy"    503, and the service does not hear of it

    `seen` has the first line of every request.
    """

    def __init__(self, url: str) -> None:
        self._target = (urlsplit(url).hostname, urlsplit(url).port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.plan: list[str] = []
        self.seen: list[str] = []
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join(30)

    def cut(self) -> None:
        """All connections that there are."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self._listening.accept()
                self._sockets.append(one)
                thread = threading.Thread(target=self._serve, args=(one,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as asked, suppress(OSError):
            while (request := read_message(asked)) is not None:
                self.seen.append(request.partition(b"\r\n")[0].decode())
                what = self.plan.pop(0) if self.plan else "pass"
                if what == "before":
                    return
                if what == "busy":
                    client.sendall(BUSY)
                elif not self._pass_on(client, request, what == "pass"):
                    return

    def _pass_on(self, client: socket.socket, request: bytes, is_answered: bool) -> bool:
        """Whether the connection goes on."""
        with socket.create_connection(self._target) as service, service.makefile("rb") as answered:
            self._sockets.append(service)
            service.sendall(request)
            answer = read_message(answered)
            if answer is None or not is_answered:
                return False
            client.sendall(answer)
            if b"text/event-stream" not in answer.partition(b"\r\n\r\n")[0]:
                return True
            while chunk := answered.read1():
                client.sendall(chunk)
            return False


def read_message(file: object) -> bytes | None:
    """A head, and as much of a body as it says."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line: bytes = file.readline()  # type: ignore[attr-defined]
        if not line:
            return None
        head += line
    lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + (file.read(lengths[0]) if lengths else b"")  # type: ignore[attr-defined]
