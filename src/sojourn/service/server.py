"""The server: uvicorn around the app, from the first request to the last; SIGTERM drains."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import resource
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import uvicorn
import uvloop

from ..errors import ConfigError
from .app import make_app
from .quick import QuickProtocol
from .service import Service
from .settings import Settings
from .webhooks.part import WebhooksPart

logger = logging.getLogger("sojourn.service")

BACKLOG = 4_096
FILES_BESIDE = 64
"""Open files beside connections: the log, the index, and what reads them."""
SWITCH_S = 0.0005
"""How soon a thread that comes back from the disk runs beside a busy loop: Python's own 5 ms are many syncs."""


class Server(uvicorn.Server):
    """Tells the service before the last requests are waited for: those that wait for something go without."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self.service = service
        certificate, key = settings.tls or (None, None)
        super().__init__(
            uvicorn.Config(
                make_app(service),
                loop="uvloop",
                http=type("Protocol", (QuickProtocol,), {"service": service}),
                ws="none",
                lifespan="on",
                interface="asgi3",
                access_log=False,
                log_config=None,
                server_header=False,
                ssl_certfile=certificate,
                ssl_keyfile=key,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=settings.drain_s,
                backlog=BACKLOG,
            )
        )

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in tuple(self.server_state.connections):
                cast(QuickProtocol, connection).close_if_slow(now)
        return await super().on_tick(counter) or self.service.failure is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logger.info("draining")
        self.service.drain()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As uvicorn does; but a service that has been told to stop, and did, has not failed."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def listen(settings: Settings) -> socket.socket:
    """The socket on which a service listens; a clear error if that cannot be."""
    host, port = settings.host.strip("[]"), settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)  # without the protocol asyncio would not turn off Nagle's
    except OSError as error:
        raise ConfigError(f"host={settings.host!r} is not an address of this machine: {error}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        why = f"port {port} is taken; stop who has it, or choose another with --port" if taken else str(error)
        raise ConfigError(f"cannot listen on {settings.host}: {why}") from None
    return listening


def address_of(settings: Settings, listening: socket.socket) -> str:
    """Where it listens: with the port that it was given, if any would do."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if settings.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def serve(settings: Settings, on_listening: Callable[[str], object] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; raises what keeps the data folder closed."""
    settle_process()
    uvloop.run(serving(fitted(settings), on_listening))


def settle_process() -> None:
    """How this process runs Python: a busy loop beside a disk, and millions of objects that stay.

    Waits go when nobody refers to them any more. A full collection would look at all of them, which takes seconds, to
    find next to nothing: so only young objects are looked at.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(50_000, 20, 2**31 - 1)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))  # each connection is one


def fitted(settings: Settings) -> Settings:
    """With no more connections than this process may have open files."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES_BESIDE
    if most >= settings.limits.connections:
        return settings
    logger.warning("no more than %d connections: the limit of open files is too low for more", most)
    return replace(settings, limits=replace(settings.limits, connections=max(1, most)))


def make_service(settings: Settings) -> Service:
    """With all its parts."""
    service = Service(settings)
    service.parts.append(WebhooksPart(service))
    return service


async def serving(settings: Settings, on_listening: Callable[[str], object] | None = None) -> None:
    service = make_service(settings)
    server = Server(service)
    with listen(settings) as listening:
        if on_listening is not None:
            on_listening(address_of(settings, listening))
        await server.serve([listening])
    if service.failure is not None:
        raise service.failure
