"""Waits can be awaited, as often as one likes, whichever thread ends them."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hub.scene import GUARD_S, ROOMS, check
from sojourn import PurgatoryClosedError, all_of, seen
from sojourn.testing import ManualClock
from support import Build


class Virtual:
    """An `AsyncHub` of either build on virtual time."""

    def __init__(self, build: Build) -> None:
        self.clock = ManualClock()
        self.errors: list[BaseException] = []
        self.hub = ROOMS[build].AsyncHub(
            "virtual", clock=self.clock, on_error=lambda wait, error: self.errors.append(error)
        )


@pytest.fixture
def on_loop(build: Build) -> Callable[[Callable[[Virtual], Coroutine[Any, Any, None]]], None]:
    """Run a coroutine function of an open hub; nothing is pending and no error was reported when it is done."""

    async def run(main: Callable[[Virtual], Coroutine[Any, Any, None]]) -> None:
        virtual = Virtual(build)
        async with virtual.hub as hub:
            await main(virtual)
            check(hub)
        assert (hub.pending, virtual.errors) == (0, [])

    return lambda main: run_guarded(run(main))


def run_guarded(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, GUARD_S))


async def a_turn() -> None:
    """Let every task that can run do so."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.parametrize("end", ["completed", "expired", "cancelled"])
def test_awaiting_a_wait_gives_its_outcome(on_loop: Any, end: str) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", "paid", 10)
        awaiting = asyncio.ensure_future(wait)
        await a_turn()
        assert not awaiting.done()
        if end == "completed":
            virtual.hub.signal("k", "paid")
        elif end == "expired":
            virtual.clock.advance(11)
        else:
            virtual.hub.cancel(wait)
        outcome = await awaiting
        assert (outcome.outcome, outcome) == (end, wait.result(0))

    on_loop(main)


def test_any_number_of_tasks_await_the_same_wait_and_after_its_end_too(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", all_of("a", "b"), 10)
        awaiting = [asyncio.ensure_future(wait) for _ in range(5)]
        futures = [wait.future() for _ in range(5)]
        await a_turn()
        assert virtual.hub.signal_many([("k", "a"), ("k", "b")]) == 1
        outcomes = set(await asyncio.gather(*awaiting, *futures, wait, wait.future()))
        assert outcomes == {await wait} == {wait.result(0)}

    on_loop(main)


def test_an_awaiter_that_is_cancelled_is_nobody_elses_business(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", "paid", 10)
        one, other = asyncio.ensure_future(wait), asyncio.ensure_future(wait)
        await a_turn()
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        assert not wait.done()
        assert virtual.hub.signal("k", "paid") == 1
        assert (await other).outcome == "completed"

    on_loop(main)


def test_an_awaiter_that_is_cancelled_leaves_nothing_behind(on_loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(virtual: Virtual) -> None:
        loop, futures = asyncio.get_running_loop(), weakref.WeakSet()
        create_future = loop.create_future
        wait = virtual.hub.wait("k", "paid", 10)
        monkeypatch.setattr(loop, "create_future", lambda: (future := create_future(), futures.add(future))[0])
        awaiting = [asyncio.ensure_future(wait) for _ in range(3)]
        await a_turn()
        assert len(futures) == 3
        for awaiter in awaiting:
            awaiter.cancel()
        await a_turn()
        monkeypatch.undo()
        del awaiter, awaiting
        gc.collect()
        assert (len(futures), wait.done(), virtual.hub.signal("k", "paid")) == (0, False, 1)

    on_loop(main)


def test_a_future_that_is_cancelled_in_the_very_turn_of_the_end_is_left_alone(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        failures: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        wait = virtual.hub.wait("k", "paid", 10)
        future = wait.future()
        signaller = threading.Thread(target=virtual.hub.signal, args=("k", "paid"))
        signaller.start()
        signaller.join()
        assert not future.done(), "the loop has yet to hear of it"
        future.cancel()
        await a_turn()
        assert (future.cancelled(), wait.outcome, failures) == (True, "completed", [])

    on_loop(main)


def test_a_future_that_was_cancelled_is_passed_by(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", "paid", 10)
        future, other = wait.future(), virtual.hub.wait("k", "paid", 10).future()
        future.cancel()
        assert (virtual.hub.signal("k", "paid"), future.cancelled(), wait.outcome) == (2, True, "completed")
        assert (await other).outcome == "completed"

    on_loop(main)


def test_signals_from_another_thread_reach_the_loop(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        waits = [virtual.hub.wait(i, seen("ack", 2, "source"), 10) for i in range(100)]
        told: list[int] = []

        def signal() -> None:
            for i in range(100):
                virtual.hub.signal(i, "ack", threading.current_thread().name)

        signallers = [threading.Thread(target=signal) for _ in range(2)]
        waits[0].add_done_callback(lambda wait: told.append(threading.get_ident()))
        for signaller in signallers:
            signaller.start()
        outcomes = await asyncio.gather(*waits)
        assert {outcome.outcome for outcome in outcomes} == {"completed"}
        assert told != [threading.get_ident()], "callbacks are called where the wait ends"
        for signaller in signallers:
            signaller.join()

    on_loop(main)


def test_loops_in_two_threads_wait_for_each_other(on_loop: Any) -> None:
    async def other(hub: Any) -> None:
        future = hub.wait("theirs", "paid", 10).future()
        assert (hub.signal("ours", "paid"), hub.signal("theirs", "paid")) == (1, 1)
        assert (await future).outcome == "completed"

    async def main(virtual: Virtual) -> None:
        told: list[int] = []
        future = virtual.hub.wait("ours", "paid", 10).future()
        future.add_done_callback(lambda future: told.append(threading.get_ident()))
        thread = threading.Thread(target=asyncio.run, args=(other(virtual.hub),))
        thread.start()
        thread.join()
        assert not future.done(), "the loop has yet to hear of it"
        assert ((await future).outcome, told) == ("completed", [threading.get_ident()])

    on_loop(main)


def test_closing_ends_whatever_is_awaited(build: Build) -> None:
    async def main() -> None:
        async with Virtual(build).hub as hub:
            awaiting = asyncio.ensure_future(hub.wait("k", "paid", 10))
            await a_turn()
        assert (await awaiting).outcome == "cancelled"

    run_guarded(main())


def test_a_wait_for_no_time_expires_on_a_real_loop(build: Build) -> None:
    async def main() -> None:
        async with ROOMS[build].AsyncHub() as hub:
            outcome = await hub.wait("k", "paid", 0)
            assert (outcome.outcome, outcome.waited_ms) == ("expired", 0)
            check(hub)

    run_guarded(main())


def test_a_wait_opened_by_another_thread_expires_on_a_real_loop(build: Build) -> None:
    async def main() -> None:
        async with ROOMS[build].AsyncHub() as hub:
            wait = await asyncio.to_thread(hub.wait, "k", "paid", 0)
            assert (await wait).outcome == "expired"

    run_guarded(main())


def test_a_wait_of_a_threaded_hub_can_be_awaited_too(build: Build) -> None:
    async def main() -> None:
        with ROOMS[build].Hub() as hub:
            wait = hub.wait("k", "paid", "1 h")
            future = wait.future()
            assert await asyncio.to_thread(hub.signal, "k", "paid") == 1
            assert (await future).outcome == (await wait).outcome == "completed"
            assert (await hub.wait("k", "paid", 0)).outcome == "expired"

    run_guarded(main())


def test_a_loop_that_is_gone_is_reported_and_keeps_nobody_else_waiting(build: Build) -> None:
    clock, errors, told = ManualClock(), [], []
    hub = ROOMS[build].Hub(clock=clock, on_error=lambda wait, error: errors.append(error))
    wait = hub.wait("k", "paid", 10)

    async def main() -> None:
        wait.future()

    runner = threading.Thread(target=asyncio.run, args=(main(),))
    runner.start()
    runner.join()
    wait.add_done_callback(told.append)
    assert hub.signal("k", "paid") == 1
    assert ([type(error) for error in errors], told) == ([RuntimeError], [wait])


def test_a_hub_that_nobody_entered_starts_with_its_first_wait_on_the_loop(build: Build) -> None:
    async def main() -> None:
        hub = ROOMS[build].AsyncHub()
        assert (await hub.wait("k", "paid", 0)).outcome == "expired"
        assert (await (await asyncio.to_thread(hub.wait, "k", "paid", 0))).outcome == "expired"
        check(hub)
        hub.close()
        with pytest.raises(PurgatoryClosedError):
            hub.wait("k", "paid", 0)

    run_guarded(main())


def test_a_hub_that_nobody_entered_cannot_start_where_no_loop_runs_and_says_so(build: Build) -> None:
    hub = ROOMS[build].AsyncHub("shy")
    with pytest.raises(RuntimeError, match="AsyncHub 'shy' has not started, and no asyncio loop is running here"):
        hub.wait("k", "paid", 0)
    assert (hub.pending, hub.close()) == (0, [])


def test_futures_that_are_cancelled_are_let_go_of_while_the_wait_goes_on(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", "paid", 10)
        for count in (1, 2, 100):
            futures = [wait.future() for _ in range(count)]
            kept = weakref.WeakSet(futures)
            for future in futures:
                assert future.cancel()
                assert not future.cancel()
            del future, futures
            await a_turn()
            gc.collect()
            assert len(kept) == 0
        last = wait.future()
        assert virtual.hub.signal("k", "paid") == 1
        assert await last == wait.result(0)

    on_loop(main)


def test_waiting_for_a_future_no_longer_than_so_long_leaves_nothing_behind(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        wait = virtual.hub.wait("k", "paid", 10)
        futures = weakref.WeakSet()
        for _ in range(3):
            futures.add(future := wait.future())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(future, 0)
        del future
        gc.collect()
        assert (len(futures), wait.done(), virtual.hub.signal("k", "paid")) == (0, False, 1)

    on_loop(main)


def test_a_hundred_thousand_awaiters_of_one_wait_are_cancelled_in_no_time(build: Build) -> None:
    """One step each: with a list to search, this would take minutes."""
    hub = ROOMS[build].Hub(clock=ManualClock())
    wait = hub.wait("k", "paid", 10)
    callbacks = [object() for _ in range(100_000)]
    for callback in callbacks:
        wait._hang(callback)
    for callback in callbacks:
        wait._unhang(callback)
    assert hub.signal("k", "paid") == 1


@pytest.mark.parametrize("where", ["on the loop", "in another thread", "when it has ended"])
def test_a_callback_may_be_a_coroutine_function(on_loop: Any, where: str) -> None:
    async def main(virtual: Virtual) -> None:
        told: list[Any] = []

        async def callback(wait: Any) -> None:
            told.append((wait, asyncio.get_running_loop(), await wait))

        wait = virtual.hub.wait("k", "paid", 10, callback=None if where == "when it has ended" else callback)
        if where == "in another thread":
            await asyncio.to_thread(virtual.hub.signal, "k", "paid")
        else:
            virtual.hub.signal("k", "paid")
        wait.add_done_callback(callback)
        await a_turn()
        each = (wait, asyncio.get_running_loop(), wait.result(0))
        assert told == [each] * (1 if where == "when it has ended" else 2)

    on_loop(main)


def test_what_a_coroutine_raises_is_reported(on_loop: Any) -> None:
    async def main(virtual: Virtual) -> None:
        async def callback(wait: Any) -> None:
            await asyncio.sleep(0)
            raise ZeroDivisionError

        virtual.hub.wait("k", "paid", 10, callback=callback)
        virtual.hub.signal("k", "paid")
        await a_turn()
        assert [type(error) for error in virtual.errors] == [ZeroDivisionError]
        virtual.errors.clear()

    on_loop(main)


async def never_run(wait: Any) -> None:
    raise AssertionError


@pytest.mark.parametrize("others", [0, 1])
def test_a_hub_without_a_loop_reports_that_it_cannot_run_a_coroutine(build: Build, others: int) -> None:
    errors: list[Any] = []
    hub = ROOMS[build].Hub(clock=ManualClock(), on_error=lambda wait, error: errors.append((wait, str(error))))
    wait = hub.wait("k", "paid", 10, callback=never_run)
    for _ in range(others):
        wait.add_done_callback(never_run)
    assert hub.signal("k", "paid") == 1
    assert [who for who, _ in errors] == [wait] * (1 + others)
    assert "is a coroutine function, and a Hub has no asyncio loop to run it: use an AsyncHub" in errors[0][1]


@pytest.mark.parametrize("is_entered", [False, True])
def test_a_coroutine_whose_loop_is_gone_is_reported(build: Build, is_entered: bool) -> None:
    virtual = Virtual(build)

    async def main() -> None:
        await virtual.hub.__aenter__()

    if is_entered:
        asyncio.run(main())
    virtual.hub.wait("k", "paid", 10, callback=never_run)
    virtual.hub.signal("k", "paid")
    reason = "Event loop is closed" if is_entered else "no asyncio loop is running"
    assert [reason in str(error) for error in virtual.errors] == [True]


def test_a_future_needs_a_running_loop(build: Build) -> None:
    hub = ROOMS[build].Hub(clock=ManualClock())
    with pytest.raises(RuntimeError, match="no running event loop"):
        hub.wait("k", "paid", 10).future()


def test_a_future_is_of_the_loop_that_runs_whichever_ran_before(build: Build) -> None:
    """One after the other in a thread, one within another (as some notebooks run them), and in another thread."""
    hub = ROOMS[build].Hub(clock=ManualClock())
    wait = hub.wait("k", "paid", 10)
    loops: list[bool] = []

    async def note() -> None:
        here = asyncio.get_running_loop()
        loops.extend(wait.future().get_loop() is here for _ in range(2))

    async def nest() -> None:
        outer = asyncio.get_running_loop()
        await note()
        asyncio._set_running_loop(None)
        try:
            asyncio.run(note())
        finally:
            asyncio._set_running_loop(outer)
        await note()
        await asyncio.to_thread(asyncio.run, note())
        await note()

    asyncio.run(note())
    asyncio.run(nest())
    assert loops == [True] * 12
    with pytest.raises(RuntimeError, match="no running event loop"):
        wait.future()
    hub.signal("k", "paid")
