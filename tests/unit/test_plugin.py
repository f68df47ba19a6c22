"""The pytest fixtures that come with the package."""

from __future__ import annotations

from sojourn import Hub, SystemTimer
from sojourn.testing import ManualClock

HALF_AN_HOUR_MS = 30 * 60_000


def test_the_timer_runs_on_the_clock(manual_clock: ManualClock, manual_timer: SystemTimer) -> None:
    ran: list[int] = []
    manual_timer.schedule(HALF_AN_HOUR_MS, lambda: ran.append(manual_clock.now_ms))
    assert (manual_clock.advance(HALF_AN_HOUR_MS - 1), ran) == (0, [])
    assert (manual_clock.advance(1), ran) == (1, [HALF_AN_HOUR_MS])


def test_the_hub_runs_on_the_clock(manual_clock: ManualClock, manual_hub: Hub) -> None:
    wait = manual_hub.wait("order-17", until="paid", within="30 min")
    manual_clock.advance(HALF_AN_HOUR_MS)
    assert not wait.done()
    manual_clock.advance(1)
    assert wait.result(0).outcome == "expired"
