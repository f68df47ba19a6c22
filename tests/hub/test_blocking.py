"""`result()` where sleeping would be for ever: on the thread or loop that ends waits, and on a clock moved by hand."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from hub.scene import GUARD_S, ROOMS, Scene
from sojourn import DeadlockError, all_of
from support import Build


def test_a_callback_on_the_reaper_thread_is_refused_a_result_that_only_that_thread_can_bring(build: Build) -> None:
    answers: list[Any] = []
    with ROOMS[build].Hub("real") as hub:
        other = hub.wait("l", "paid", "1 h")

        def ask(wait: Any) -> None:
            for timeout in (None, 3_600):
                with pytest.raises(DeadlockError, match="ask from another thread"):
                    other.result(timeout)
            with pytest.raises(TimeoutError):
                other.result(0)
            answers.append(wait.result().outcome)

        assert hub.wait("k", "paid", 0).result(GUARD_S).outcome == "expired"
        asking = hub.wait("k", "paid", 0, callback=ask)
        told = threading.Event()
        asking.add_done_callback(lambda wait: told.set())
        assert told.wait(GUARD_S)
        assert (answers, hub.signal("l", "paid"), other.result().outcome) == (["expired"], 1, "completed")


def test_a_callback_may_ask_for_the_result_of_a_wait_that_ended_with_its_own(scene: Scene) -> None:
    """Both have ended, though only one of them has told so."""
    answers: list[str] = []
    waits: list[Any] = []
    for _ in range(2):
        waits.append(scene.wait(callback=lambda _: answers.extend(wait.result().outcome for wait in waits)))
    assert scene.signal("k", "paid") == 2
    assert answers == ["completed"] * 4


def test_on_the_loop_of_an_async_hub_a_result_is_refused_until_it_is_there(build: Build) -> None:
    async def main() -> None:
        async with ROOMS[build].AsyncHub() as hub:
            wait = hub.wait("k", "paid", "1 h")
            for timeout in (None, 3_600):
                with pytest.raises(DeadlockError, match="use `await` here"):
                    wait.result(timeout)
            asking = asyncio.to_thread(wait.result, GUARD_S)
            hub.signal("k", "paid")
            assert await asking == wait.result() == await wait

    asyncio.run(main())


@pytest.mark.parametrize("until", ["paid", all_of("paid", "packed")], ids=str)
def test_on_a_manual_clock_asking_moves_the_clock_to_the_end_of_the_wait_and_no_further(
    scene: Scene, until: Any
) -> None:
    wait = scene.wait("k", until, "30 min", id="x")
    later = scene.wait("l", until, "1 h")
    assert wait.result().outcome == "expired"
    assert (scene.told, scene.clock.now_ms) == ([("x", "expired", 1_800_000)], 1_800_001)
    assert not later.done()
    scene.check()


def test_on_a_manual_clock_asking_stops_at_whatever_ends_the_wait_sooner(scene: Scene) -> None:
    scene.wait("timer", within=20, callback=lambda _: scene.hub.signal("k", "paid"))
    outcome = scene.wait("k", within="1 h").result()
    assert (outcome.outcome, outcome.at, scene.clock.now_ms) == ("completed", 21, 21)


def test_on_a_manual_clock_asking_no_longer_than_so_long_moves_it_that_far(scene: Scene) -> None:
    wait = scene.wait("k", within=1_000)
    with pytest.raises(TimeoutError, match=r"still pending after 0\.25 s"):
        wait.result(0.25)
    assert scene.clock.now_ms == 250
    assert wait.result(0.751).outcome == "expired"


def test_on_a_manual_clock_a_callback_may_ask_too(scene: Scene) -> None:
    answers: list[tuple[str, int]] = []
    other = scene.wait("l", within=500)
    scene.wait("k", within=20, callback=lambda _: answers.append((other.result().outcome, scene.clock.now_ms)))
    scene.advance(30)
    assert answers == [("expired", 501)]


def test_on_a_manual_clock_another_thread_waits_for_the_one_that_moves_it(scene: Scene) -> None:
    wait = scene.wait()
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(wait.result(GUARD_S).outcome))
    thread.start()
    assert scene.clock.now_ms == 0
    scene.hub.signal("k", "paid")
    thread.join()
    assert (answers, scene.clock.now_ms) == (["completed"], 0)
