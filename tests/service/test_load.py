"""A service under load, which takes a while: `make load`."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from service.kills import run
from service.running import Running, running

STREAMS = 10_000
OUTCOMES = 20
ASK = b"GET /v1/outcomes HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"

pytestmark = pytest.mark.load


def test_each_acknowledged_wait_ends_once_though_the_service_is_killed(tmp_path: Path) -> None:
    world = run(3, 7, tmp_path / "data")
    assert len(world.expected) > 20
    assert world.retries


class Listener(asyncio.Protocol):
    """One stream: counts the events that it hears."""

    def __init__(self, heard: list[int], enough: asyncio.Event) -> None:
        self._heard, self._enough = heard, enough
        self._rest, self._count = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(ASK)  # type: ignore[attr-defined]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        self._count += data.count(b"event: outcome")
        self._rest = data[-13:] if not data.endswith(b"event: outcome") else b""
        if self._count == OUTCOMES:
            self._heard[0] += 1
            if self._heard[0] == STREAMS:
                self._enough.set()


async def listen(service: Running) -> int:
    """How many streams have heard everything."""
    loop, heard, enough = asyncio.get_running_loop(), [0], asyncio.Event()
    transports = []
    for _ in range(STREAMS):
        transport, _protocol = await loop.create_connection(lambda: Listener(heard, enough), service.host, service.port)
        transports.append(transport)

    def tell() -> None:
        for i in range(OUTCOMES):
            service.ask("PUT", f"/v1/waits/s{i}", {"key": f"s{i}", "until": "paid", "within": "1 h"})
            assert service.ask("POST", "/v1/signals", {"key": f"s{i}", "kind": "paid"})[1] == {"completed": 1}

    await loop.run_in_executor(None, tell)
    await asyncio.wait_for(enough.wait(), 120)
    for transport in transports:
        transport.close()
    return heard[0]


def test_ten_thousand_streams_hear_every_outcome(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with running(tmp_path / "data") as service:
        assert asyncio.run(listen(service)) == STREAMS
        assert service.ask("GET", "/readyz")[0] == 200
