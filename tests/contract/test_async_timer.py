"""`AsyncTimer`: the same timer on an event loop, in virtual time, or in real time with zero delays and events only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from sojourn import ReaperDiedError, TimerClosedError
from sojourn.testing import ManualClock
from support import Build


def on_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


def test_callbacks_run_in_virtual_time(build: Build) -> None:
    async def main() -> None:
        clock = ManualClock()
        ran: list[int] = []
        async with build.AsyncTimer("virtual", clock=clock) as timer:
            timer.schedule_many([30, 10, 20], lambda: ran.append(clock.now_ms))
            assert clock.advance(25) == 2
            timer._check()
        assert (ran, timer.size) == ([10, 20], 0)
        assert clock.advance(25) == 0

    on_loop(main)


@pytest.mark.parametrize("how", ["schedule", "schedule_at", "schedule_many", "add"])
def test_a_coroutine_function_becomes_a_task_of_the_loop(build: Build, how: str) -> None:
    async def main() -> None:
        clock, done = ManualClock(), asyncio.get_running_loop().create_future()

        async def callback(name: str) -> None:
            done.set_result(name)

        async with build.AsyncTimer("virtual", clock=clock) as timer:
            if how == "schedule":
                timer.schedule(10, callback, how)
            elif how == "schedule_at":
                timer.schedule_at(0.010, callback, how)
            elif how == "schedule_many":
                timer.schedule_many([10], callback, each=[how])
            else:
                timer.add(type("Request", (build.TimerTask,), {"run": lambda self: callback(how)})(10))
            assert clock.advance(10) == 1
            assert not done.done()
            assert await done == how

    on_loop(main)


def test_what_a_coroutine_raises_reaches_on_error_with_its_task(build: Build) -> None:
    async def main() -> None:
        clock, told = ManualClock(), asyncio.get_running_loop().create_future()

        async def fail() -> None:
            raise ValueError("on purpose")

        on_error = lambda task, exception: told.set_result((task, exception))  # noqa: E731
        async with build.AsyncTimer("virtual", clock=clock, on_error=on_error) as timer:
            task = timer.schedule(10, fail)
            clock.advance(10)
            failed, exception = await told
        assert (failed, repr(exception)) == (task, "ValueError('on purpose')")

    on_loop(main)


def test_a_coroutine_that_is_cancelled_is_no_error(build: Build) -> None:
    async def main() -> None:
        clock, started, errors = ManualClock(), asyncio.Event(), []
        tasks: list[Any] = []

        async def callback() -> None:
            tasks.append(asyncio.current_task())
            started.set()
            await asyncio.Event().wait()

        async with build.AsyncTimer("virtual", clock=clock, on_error=lambda *error: errors.append(error)) as timer:
            timer.schedule(10, callback)
            clock.advance(10)
            await started.wait()
            tasks[0].cancel()
            await asyncio.wait(tasks)
        assert errors == []

    on_loop(main)


def test_on_a_real_loop_callbacks_and_coroutines_run_without_a_thread(build: Build) -> None:
    async def main() -> None:
        ran, both = [], asyncio.Event()

        def callback() -> None:
            ran.append(("callback", threading.current_thread()))

        async def coroutine() -> None:
            ran.append(("coroutine", threading.current_thread()))
            both.set()

        async with build.AsyncTimer("real") as timer:
            threads = threading.active_count()
            timer.schedule(0, callback)
            timer.schedule(0, coroutine)
            await both.wait()
            assert threading.active_count() == threads
        here = threading.current_thread()
        assert ran == [("callback", here), ("coroutine", here)]

    on_loop(main)


def test_on_a_real_loop_a_failing_callback_does_not_stop_the_next(build: Build) -> None:
    async def main() -> None:
        errors, done = [], asyncio.Event()
        async with build.AsyncTimer("real", on_error=lambda task, exception: errors.append(exception)) as timer:
            timer.schedule(0, lambda: 1 / 0)
            timer.schedule(0, done.set)
            await done.wait()
        assert [type(error) for error in errors] == [ZeroDivisionError]

    on_loop(main)


def test_another_thread_wakes_the_loop(build: Build) -> None:
    async def main() -> None:
        done = asyncio.Event()
        async with build.AsyncTimer("real") as timer:
            far = timer.schedule(10**9, str)
            thread = threading.Thread(target=timer.schedule, args=(0, done.set))
            thread.start()
            await done.wait()
            thread.join()
            assert timer.close() == [far]

    on_loop(main)


def test_a_task_extended_to_now_wakes_the_loop(build: Build) -> None:
    async def main() -> None:
        done = asyncio.Event()
        async with build.AsyncTimer("real") as timer:
            task = timer.schedule(10**9, done.set)
            assert task.extend(0)
            await done.wait()

    on_loop(main)


def test_a_herd_lets_the_loop_have_its_turns(build: Build) -> None:
    async def main() -> None:
        loop, done, turns, ran = asyncio.get_running_loop(), asyncio.Event(), [], []

        def turn() -> None:
            turns.append(len(ran))
            if len(ran) < 5_000:
                loop.call_soon(turn)
            else:
                done.set()

        async with build.AsyncTimer("real") as timer:
            timer.schedule_many([0] * 5_000, lambda: ran.append(None))
            loop.call_soon(turn)
            await done.wait()
        assert {0 < ran_before < 5_000 for ran_before in turns} == {True, False}

    on_loop(main)


def test_closing_hands_back_what_is_left_and_shuts_the_door(build: Build) -> None:
    async def main() -> None:
        async with build.AsyncTimer("real") as timer:
            task = timer.schedule(10**9, str)
            assert timer.close() == [task]
            with pytest.raises(TimerClosedError, match="'real' is closed"):
                timer.schedule(0, str)

    on_loop(main)


def test_a_callback_may_close_its_own_timer(build: Build) -> None:
    async def main() -> None:
        closed = asyncio.get_running_loop().create_future()
        timer = build.AsyncTimer("real").start()
        timer.schedule(0, lambda: closed.set_result(timer.close()))
        left = timer.schedule(10**9, str)
        assert await closed == [left]

    on_loop(main)


def test_an_async_timer_needs_a_running_loop(build: Build) -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        build.AsyncTimer("no loop").start()


@pytest.mark.parametrize("where", ["the same thread", "another thread"])
def test_a_timer_whose_loop_has_ended_says_so_at_the_next_call(
    build: Build, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[Any] = []

    async def main() -> None:
        timer = build.AsyncTimer("orphan").start()
        made.extend([timer, timer.schedule(10**9, str)])

    if where == "the same thread":
        on_loop(main)
    else:
        thread = threading.Thread(target=on_loop, args=(main,))
        thread.start()
        thread.join()
    timer, task = made
    for _ in range(2):
        with pytest.raises(ReaperDiedError, match="'orphan' died of RuntimeError"):
            timer.schedule(0, str)
    assert "the driver of" in caplog.text
    assert task in timer.close()
