"""Whom the demo's webhook tells: a small server on this machine that does not take everything at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

TAKEN, REFUSED = b"204 No Content", b"503 Service Unavailable"
REFUSED_SHARE = 0.12


class Receiver:
    """Answers one request per connection; some are refused, and come again."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Where it listens."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/outcomes"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 1)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [
                line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
            ]
            await reader.readexactly(int(lengths[0]) if lengths else 0)
            status = REFUSED if self._random.random() < REFUSED_SHARE else TAKEN
            writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
        writer.close()
