"""A durable hub on a loop, which never waits for the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from durable.faulty_files import FaultyFiles
from durable.scene import WALL_MS
from sojourn.durable.async_hub import AsyncDurableHub
from sojourn.testing import ManualClock


def hub_in(folder: Any, **options: Any) -> AsyncDurableHub:
    hub = sj.AsyncHub("loop", data=folder, **options)
    assert isinstance(hub, AsyncDurableHub)
    return hub


def test_verbs_are_awaited_and_answered_once_they_are_safe(tmp_path: Path) -> None:
    async def main() -> None:
        told: list[str] = []

        async def note(wait: Any) -> None:
            told.append(wait.id)

        async with hub_in(tmp_path) as hub:
            await hub.register(sj.Rule("shipped", opens="order", until="paid", within="1 h"))
            opening = hub.wait("k", rule="shipped", id="w", callback=note)
            wait = await opening.opened()
            assert wait.id == "w"
            waits = await hub.wait_many(["a", "b"], "paid", "1 h")
            answers = await asyncio.gather(*(hub.signal("a", "other") for _ in range(20)))
            assert answers == [0] * 20
            assert await hub.signal_many([("k", "paid"), ("a", "paid")]) == 2
            assert (await opening).number == 1
            assert await hub.extend(waits[1], "2 h")
            assert await hub.shift(key_prefix="b", by="1 h") == 1
            assert await hub.cancel(waits[1])
            assert await hub.cancel_where(key_prefix="") == 0
            assert [outcome.number async for outcome in hub.outcomes()] == [1, 2, 3]
            with pytest.raises(sj.IdTakenError):
                await hub.wait("other", rule="shipped", id="w").opened()
        assert told == ["w"]

    asyncio.run(main())


def test_outcomes_are_waited_for_without_stopping_the_loop(tmp_path: Path) -> None:
    async def main() -> None:
        async with hub_in(tmp_path) as hub:
            opening = hub.wait("k", "paid", "1 h")

            async def follow() -> int:
                async for outcome in hub.outcomes(timeout=None):
                    return outcome.number
                return 0

            following = asyncio.create_task(follow())
            await opening.opened()
            await asyncio.sleep(0)
            await hub.signal("k", "paid")
            assert await following == 1

    asyncio.run(main())


def test_on_a_manual_clock_everything_happens_in_the_calling_thread() -> None:
    async def main() -> None:
        clock = ManualClock(wall_ms=WALL_MS)
        files = FaultyFiles()
        async with hub_in(files, clock=clock) as hub:
            opening = hub.wait("k", "paid", 100)
            clock.advance(101)
            assert (await opening).outcome == "expired"
            files.room = 0
            with pytest.raises(sj.DiskError):
                await hub.signal("k", "paid")
            files.room = None

    asyncio.run(main())


def test_closing_tells_those_who_await(tmp_path: Path) -> None:
    async def main() -> None:
        hub = hub_in(tmp_path)
        wait = await hub.wait("k", "paid", "1 h").opened()
        future = wait.future()
        await asyncio.get_running_loop().run_in_executor(None, hub.close)
        with pytest.raises(sj.PurgatoryClosedError):
            await future

    asyncio.run(main())


def test_whoever_is_cancelled_leaves_nothing_hanging_and_what_was_asked_is_carried_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with hub_in(tmp_path) as hub:
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
            await hub.signal("other", "paid")  # in turn: by now the first one has been carried out
            assert wait.done()

    asyncio.run(main())


def test_an_opening_that_one_caller_gives_up_on_still_answers_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with hub_in(tmp_path) as hub:
            committer = hub._engine.committer
            committer._is_led = True  # by somebody who is slow
            opening = hub.wait("k", "paid", "1 h", id="w")
            first, second = (asyncio.ensure_future(opening.opened()) for _ in range(2))
            await asyncio.sleep(0)
            first.cancel()
            hub._writer.submit(committer.lead)
            assert (await second).id == "w"
            assert (await opening.opened()).id == "w"
            assert first.cancelled()

    asyncio.run(main())


def test_a_callback_that_raises_reaches_the_handler_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    errors: list[str] = []

    def fail(wait: Any) -> None:
        raise KeyError(wait.id)

    async def fail_later(wait: Any) -> None:
        raise KeyError(wait.id)

    async def main() -> None:
        async with hub_in(tmp_path, on_error=lambda wait, error: errors.append(wait.id)) as hub:
            first = hub.wait("k", "paid", "1 h", id="first", callback=fail)
            later = hub.wait("k", "paid", "1 h", id="later", callback=fail_later)
            last = hub.wait("k", "paid", "1 h", id="last")
            assert await hub.signal("k", "paid") == 3
            assert [(await opening).operation_id for opening in (first, later, last)] == ["first", "later", "last"]
            await asyncio.sleep(0)
        assert sorted(errors) == ["first", "later"]

    asyncio.run(main())
