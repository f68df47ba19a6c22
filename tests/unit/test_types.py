"""What a type checker tells a user: `make check` runs it over these programs, and here they run."""

from __future__ import annotations

import asyncio
from typing import assert_type

import sojourn as sj
from sojourn.testing import ManualClock


def test_a_hub_is_typed() -> None:
    clock = ManualClock()
    with sj.Hub(clock=clock) as hub:
        wait = hub.wait("order-17", until=sj.all_of("paid", "packed"), within="30 min")
        assert_type(wait.done(), bool)
        assert_type(hub.signal("order-17", "paid"), int)
        clock.advance(31 * 60_000)
        outcome = assert_type(wait.result(0), sj.Outcome)
        assert_type(outcome.missing, str | None)
        assert outcome.missing == "packed"


def test_a_timer_is_typed() -> None:
    with sj.SystemTimer("requests", clock=ManualClock()) as timer:
        task = assert_type(timer.schedule(30_000, print, "late"), sj.TimerTask)
        assert_type(task.extend(60_000), bool)
        assert_type(timer.size, int)
        assert timer.size == 1


def test_awaiting_a_wait_is_typed() -> None:
    async def program() -> sj.Outcome:
        async with sj.AsyncHub() as hub:
            wait = hub.wait("job-7", until="done", within="5s")
            hub.signal("job-7", "done")
            return assert_type(await wait, sj.Outcome)

    assert asyncio.run(program()).outcome == "completed"
