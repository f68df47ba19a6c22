"""The client on a loop, which never waits for the network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import sojourn as sj
from service.client.scene import RemoteScene
from sojourn.service.client.async_hub import AsyncRemoteHub

GUARD_S = 30


def play(scene: RemoteScene, act: Callable[[AsyncRemoteHub], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(GUARD_S), sj.connect_async(scene.local.url, **options) as hub:
            await act(hub)

    asyncio.run(main())


def test_verbs_are_awaited(scene: RemoteScene) -> None:
    async def act(hub: AsyncRemoteHub) -> None:
        told: list[str] = []

        async def note(wait: Any) -> None:
            told.append(wait.id)

        await hub.register(sj.Rule("shipped", opens="order", until="paid", within="1 h"))
        opening = hub.wait("k", rule="shipped", id="w", callback=note)
        wait = await opening.opened()
        assert wait.id == "w"
        waits = await hub.wait_many(["a", "b"], "paid", "1 h")
        assert await asyncio.gather(*(hub.signal("a", "other") for _ in range(20))) == [0] * 20
        assert await hub.signal_many([("k", "paid"), ("a", "paid")]) == 2
        assert (await opening).number == 1
        assert await hub.extend(waits[1], "2 h")
        assert await hub.shift(key_prefix="b", by="1 h") == 1
        assert await hub.get(waits[1].id) is waits[1]
        assert await hub.list("b") == [waits[1]]
        assert (await hub.explain(waits[1])).startswith("pending")
        assert (await waits[1].explain()).startswith("pending")
        assert await waits[1].cancel()
        assert await hub.cancel_where(key_prefix="") == 0
        assert [outcome.number async for outcome in hub.outcomes()] == [1, 2, 3]
        assert (await hub.stats()).cancelled == 1
        assert await hub.now_ms() == 0
        with pytest.raises(sj.IdTakenError):
            await hub.wait("other", rule="shipped", id="w").opened()
        await asyncio.sleep(0)
        assert told == ["w"]

    play(scene, act)


def test_an_outcome_is_awaited_while_time_passes(scene: RemoteScene) -> None:
    async def act(hub: AsyncRemoteHub) -> None:
        opening = hub.wait("k", "paid", 100)
        wait = await opening.opened()
        assert not wait.done()
        future = wait.future()  # type: ignore[attr-defined]
        await hub.advance(101)
        assert (await opening).outcome == "expired"
        assert (await future).at == 100
        assert (await wait).at == 100
        assert wait.done()

    play(scene, act)


def test_outcomes_are_waited_for_without_stopping_the_loop(scene: RemoteScene) -> None:
    async def act(hub: AsyncRemoteHub) -> None:
        async def follow() -> int:
            async for outcome in hub.outcomes(timeout=None):
                return outcome.number
            return 0

        following = asyncio.create_task(follow())
        await hub.wait("k", "paid", "1 h").opened()
        await hub.signal("k", "paid")
        assert await following == 1

    play(scene, act)


def test_whoever_is_cancelled_leaves_nothing_hanging_and_what_was_asked_is_carried_out(scene: RemoteScene) -> None:
    async def act(hub: AsyncRemoteHub) -> None:
        opening = hub.wait("k", "paid", "1 h", id="w")
        waiting = asyncio.ensure_future(opening)
        wait = await opening.opened()
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert wait._callbacks is None
        answer = hub.signal("k", "paid")
        answer.cancel()
        assert (await wait).outcome == "completed"

    play(scene, act)


def test_closing_tells_those_who_await(scene: RemoteScene) -> None:
    async def main() -> None:
        hub = sj.connect_async(scene.local.url)
        wait = await hub.wait("k", "paid", "1 h").opened()
        future = wait.future()
        await asyncio.get_running_loop().run_in_executor(None, hub.close)
        with pytest.raises(sj.PurgatoryClosedError):
            await future
        with pytest.raises(sj.PurgatoryClosedError):
            hub.signal("k", "paid")

    asyncio.run(main())


def test_a_callback_that_raises_reaches_the_handler(scene: RemoteScene) -> None:
    errors: list[str] = []

    def fail(wait: Any) -> None:
        raise KeyError(wait.id)

    async def fail_later(wait: Any) -> None:
        raise KeyError(wait.id)

    async def act(hub: AsyncRemoteHub) -> None:
        await hub.wait("k", "paid", "1 h", id="first", callback=fail).opened()
        await hub.wait("k", "paid", "1 h", id="later", callback=fail_later).opened()
        last = hub.wait("k", "paid", "1 h", id="last")
        await last.opened()
        assert await hub.signal("k", "paid") == 3
        assert (await last).operation_id == "last"
        await asyncio.sleep(0)
        assert sorted(errors) == ["first", "later"]

    play(scene, act, on_error=lambda wait, error: errors.append(wait.id))


def test_what_cannot_be_awaited_says_so(scene: RemoteScene) -> None:
    async def act(hub: AsyncRemoteHub) -> None:
        with pytest.raises(sj.ConfigError, match=r"await hub\.stats"):
            _ = hub.pending
        assert type(sj.AsyncHub(url=scene.local.url)) is AsyncRemoteHub

    play(scene, act)
