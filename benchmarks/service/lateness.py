"""How late outcomes arrive on an event stream, while so many waits expire each second.

python -m benchmarks.service.lateness 127.0.0.1:7420 PER_SECOND SECONDS
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from collections.abc import Iterator

from .load import quantiles

AHEAD_MS = 8_000
"""The first deadline: until then all waits are open."""


def lines(per_second: int, seconds: int) -> Iterator[bytes]:
    """Waits that expire evenly, some each millisecond."""
    began = time.time_ns() // 1_000_000
    for i in range(per_second * seconds):
        due_ms = began + AHEAD_MS + i * 1000 // per_second
        within_ms = max(1, due_ms - time.time_ns() // 1_000_000)
        yield b'{"wait":{"id":"late-%d","key":"k%d","until":"paid","within":%d}}\n' % (i, i, within_ms)


def open_waits(host: str, port: int, per_second: int, seconds: int) -> None:
    connection = http.client.HTTPConnection(host, port)
    batch: list[bytes] = []
    for line in lines(per_second, seconds):
        batch.append(line)
        if len(batch) == 2_000:
            _send(connection, b"".join(batch))
            batch = []
    _send(connection, b"".join(batch))
    connection.close()


def _send(connection: http.client.HTTPConnection, body: bytes) -> None:
    connection.request("POST", "/v1/batch?brief=true", body)
    answer = connection.getresponse().read()
    if answer.count(b"201") != body.count(b"\n"):
        raise RuntimeError(answer[:200])


def measure(host: str, port: int, per_second: int, seconds: int) -> dict[str, float]:
    stream = socket.create_connection((host, port))
    stream.sendall(b"GET /v1/outcomes HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
    open_waits(host, port, per_second, seconds)
    late_s: list[float] = []
    rest = b""
    while len(late_s) < per_second * seconds:
        data = stream.recv(1 << 20)
        now_ms = time.time_ns() / 1e6
        if not data:
            raise RuntimeError("the stream has ended")
        *whole, rest = (rest + data).split(b"\n\n")
        for event in whole:
            at = event.find(b'"deadline":')
            if at >= 0:
                late_s.append((now_ms - int(event[at + 11 : event.index(b",", at)])) / 1000)
    stream.close()
    return {"events": len(late_s), **quantiles(late_s)}


if __name__ == "__main__":
    where, per_second, seconds = sys.argv[1:]
    host, _, port = where.rpartition(":")
    print(json.dumps(measure(host, int(port), int(per_second), int(seconds))))
