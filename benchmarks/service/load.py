"""Our own load: HTTP over raw sockets, so that whoever asks costs little of the machine that answers.

    python -m benchmarks.service.load '{"url": "127.0.0.1:7420", "what": "put", "connections": 64, "seconds": 5}'

prints one JSON object with counts, and latencies in ms.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvloop

Make = Callable[[], bytes]


class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it has its answer, until the time is over."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._buffer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by their class
        self._ask()

    def _ask(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._load.make())

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or len(buffer) < end + 4 + length_of(buffer[:end]):
            self._buffer = buffer
            return
        self._buffer = b""
        self._load.answered(buffer[9:12], time.perf_counter() - self._sent_at)
        if self._load.is_over():
            self._transport.close()
        else:
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.lost(error)


def length_of(head: bytes) -> int:
    at = head.lower().find(b"content-length: ")
    return 0 if at < 0 else int(head[at + 16 :].split(b"\r\n", 1)[0])


class Load:
    """Closed loop: each connection has one request under way."""

    def __init__(self, make: Make, connections: int, seconds: float) -> None:
        self.make = make
        self._connections, self._seconds = connections, seconds
        self._took: list[float] = []
        self._statuses: Counter[bytes] = Counter()
        self._until = 0.0
        self._open = connections

    def is_over(self) -> bool:
        return time.perf_counter() >= self._until

    def answered(self, status: bytes, took_s: float) -> None:
        self._took.append(took_s)
        self._statuses[status] += 1

    def lost(self, error: Exception | None) -> None:
        self._open -= 1
        if not self._open:
            self._done.set_result(None)

    async def run(self, host: str, port: int) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = loop.create_future()
        began = time.perf_counter()
        self._until = began + self._seconds
        for _ in range(self._connections):
            await loop.create_connection(lambda: Caller(self), host, port)
        await self._done
        took = time.perf_counter() - began
        return {"requests": len(self._took), "seconds": took, "statuses": self._by_name(), **quantiles(self._took)}

    def _by_name(self) -> dict[str, int]:
        return {status.decode(): count for status, count in self._statuses.items()}


def quantiles(took_s: list[float]) -> dict[str, float]:
    ordered = sorted(took_s) or [0.0]
    at = {"p50_ms": 0.5, "p99_ms": 0.99, "max_ms": 1.0}
    return {name: 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in at.items()}


def puts(name: str, path: str = "/v1/waits/") -> Make:
    """One new wait with each request."""
    numbers = iter(range(10**12))

    def make() -> bytes:
        number = next(numbers)
        body = b'{"key":"order-%d","until":"paid","within":"1 h"}' % number
        return b"PUT %s%s-%d HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (
            path.encode(),
            name.encode(),
            number,
            len(body),
            body,
        )

    return make


def batches(name: str, lines: int, query: str = "") -> Make:
    """So many new waits with each request."""
    numbers = iter(range(10**12))

    def make() -> bytes:
        body = b"".join(_lines(name, numbers, lines))
        head = (
            b"POST /v1/batch%s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n" % query.encode()
        )
        return head + b"content-length: %d\r\n\r\n" % len(body) + body

    return make


def _lines(name: str, numbers: Iterator[int], count: int) -> Iterator[bytes]:
    for _ in range(count):
        number = next(numbers)
        yield b'{"wait":{"id":"%s-%d","key":"order-%d","until":"paid","within":"1 h"}}\n' % (
            name.encode(),
            number,
            number,
        )


def main() -> None:
    asked = json.loads(sys.argv[1])
    host, _, port = asked["url"].rpartition(":")
    name = asked.get("name", "load")
    make = puts(name) if asked["what"] == "put" else batches(name, asked["lines"], asked.get("query", ""))
    load = Load(make, asked["connections"], asked["seconds"])
    print(json.dumps(uvloop.run(load.run(host, int(port)))))


if __name__ == "__main__":
    main()
