"""pytest fixtures, found by pytest itself once sojourn is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sojourn import Hub, SystemTimer
from sojourn.testing import ManualClock


@pytest.fixture
def manual_clock() -> ManualClock:
    """Virtual time: `manual_clock.advance(ms)` runs whatever falls due on the way."""
    return ManualClock()


@pytest.fixture
def manual_timer(manual_clock: ManualClock) -> Iterator[SystemTimer]:
    """A started `SystemTimer` on `manual_clock`."""
    with SystemTimer("manual", clock=manual_clock) as timer:
        yield timer


@pytest.fixture
def manual_hub(manual_clock: ManualClock) -> Iterator[Hub]:
    """A started `Hub` on `manual_clock`."""
    with Hub("manual", clock=manual_clock) as hub:
        yield hub
