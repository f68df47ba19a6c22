"""Servers as the workload sees them: a command that serves a folder on a port."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class Peer:
    name = ""

    def command(self, folder: Path, port: int) -> list[str]:
        raise NotImplementedError

    def version(self) -> str:
        raise NotImplementedError

    @contextmanager
    def serving(self, folder: Path) -> Iterator[str]:
        """A server that is ready, by its address; `took_s` is how long that took."""
        port = free_port()
        began = time.perf_counter()
        process = subprocess.Popen(self.command(folder, port), stderr=subprocess.DEVNULL)
        try:
            await_ready(port, process)
            self.took_s = time.perf_counter() - began
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


class Sojourn(Peer):
    """`sojourn serve`, as a user starts it."""

    name = "sojourn"

    def command(self, folder: Path, port: int) -> list[str]:
        return [sys.executable, "-m", "sojourn", "serve", "--data", str(folder / "data"), "--port", str(port)]

    def version(self) -> str:
        from sojourn import __version__  # noqa: PLC0415

        return __version__


class StarletteSqlite(Peer):
    name = "starlette_sqlite"

    def command(self, folder: Path, port: int) -> list[str]:
        return [sys.executable, "-m", f"{__package__}.starlette_sqlite", str(folder), str(port)]

    def version(self) -> str:
        from importlib.metadata import version  # noqa: PLC0415

        return version("starlette")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def await_ready(port: int, process: subprocess.Popen[Any]) -> None:
    """Return once /readyz says so."""
    while process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with suppress(OSError):
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                connection.close()
                return
        connection.close()
        time.sleep(0.02)
    raise RuntimeError(f"the server has ended with {process.returncode}")
