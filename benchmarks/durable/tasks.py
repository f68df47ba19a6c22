"""The same 64 callers as tasks of one asyncio loop: each peer as one would write it there."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import sojourn as sj
from sojourn.durable.async_hub import AsyncDurableHub

from .measure import CALLERS, CALLS, Row, key_of
from .redis_by_hand import RedisByHand, RedisStore
from .sqlite_by_hand import INSERT, SqliteByHand, Work, connected
from .store import KIND, RULE, WITHIN_MS, Peer

Group = list[tuple[Work, asyncio.Future[Any]]]


class AsyncStore(Protocol):
    async def wait(self, key: str) -> None:
        """Open one wait; it is on the disk when this returns."""

    async def pending(self) -> int: ...

    async def close(self) -> None: ...


class AsyncHubStore:
    def __init__(self, folder: Path) -> None:
        hub = sj.AsyncHub("benchmark", data=folder)
        assert isinstance(hub, AsyncDurableHub)
        self._hub = hub
        self._registered = hub.register(sj.Rule(RULE, opens="order", until=KIND, within=WITHIN_MS))

    async def wait(self, key: str) -> None:
        await self._hub.wait(key, rule=RULE).opened()

    async def pending(self) -> int:
        return self._hub.pending

    async def close(self) -> None:
        await self._registered
        self._hub.close()


class AsyncSqliteStore:
    """The group commit of `SqliteStore`: requests that come while one is under way, in a thread, are the next group."""

    def __init__(self, folder: Path) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._db = self._thread.submit(connected, folder).result()
        self._loop = asyncio.get_running_loop()
        self._waiting: Group = []
        self._is_busy = False

    async def wait(self, key: str) -> None:
        now_ms = time.time_ns() // 1_000_000
        row = (key, RULE, now_ms, now_ms + WITHIN_MS)
        await self._do(lambda db: db.execute(INSERT, row).rowcount)

    async def pending(self) -> int:
        return int(await self._do(lambda db: db.execute("SELECT count(*) FROM waits").fetchone()[0]))

    async def close(self) -> None:
        self._thread.submit(self._db.close).result()
        self._thread.shutdown()

    def _do(self, work: Work) -> asyncio.Future[Any]:
        answer = self._loop.create_future()
        self._waiting.append((work, answer))
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._send)  # after those who have come in the same moment
        return answer

    def _send(self) -> None:
        group, self._waiting = self._waiting, []
        self._thread.submit(self._commit, group)

    def _commit(self, group: Group) -> None:
        results: list[Any] | sqlite3.Error
        try:
            self._db.execute("BEGIN")
            results = [work(self._db) for work, _ in group]
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            results = error
        self._loop.call_soon_threadsafe(self._answer, group, results)  # once for all

    def _answer(self, group: Group, results: list[Any] | sqlite3.Error) -> None:
        if isinstance(results, sqlite3.Error):
            raise results
        for (_, answer), result in zip(group, results, strict=True):
            answer.set_result(result)
        self._is_busy = bool(self._waiting)
        if self._waiting:
            self._send()


class AsyncRedisStore:
    def __init__(self, server: RedisStore) -> None:
        import redis.asyncio  # noqa: PLC0415

        self._server = server
        self._client = redis.asyncio.Redis(port=server.port)

    async def wait(self, key: str) -> None:
        due = time.time_ns() // 1_000_000 + WITHIN_MS
        pipe = self._client.pipeline(transaction=True)
        pipe.hset("waits", key, f"{RULE} {due}")
        pipe.zadd("due", {key: due})
        await pipe.execute()

    async def pending(self) -> int:
        return self._server.pending()

    async def close(self) -> None:
        await self._client.aclose()
        self._server.close()


def opened(peer: Peer, folder: Path) -> AsyncStore:
    if isinstance(peer, SqliteByHand):
        return AsyncSqliteStore(folder)
    if isinstance(peer, RedisByHand):
        store = peer.open(folder)
        assert isinstance(store, RedisStore)
        return AsyncRedisStore(store)
    return AsyncHubStore(folder)


def tasks(peer: Peer, folder: Path, n: int) -> list[Row]:
    """64 tasks, each awaiting its acknowledgement."""
    each = max(1, min(n, CALLS) // CALLERS)

    async def call(wait: Callable[[str], Awaitable[None]], caller: int) -> None:
        for i in range(each):
            await wait(key_of(caller * each + i))

    async def main() -> int:
        store = opened(peer, folder)
        start = time.perf_counter_ns()
        await asyncio.gather(*(call(store.wait, caller) for caller in range(CALLERS)))
        ns = time.perf_counter_ns() - start
        assert await store.pending() == CALLERS * each
        await store.close()
        return ns

    return [{"op": "wait_64_tasks", "ns": asyncio.run(main()) / (CALLERS * each)}]
