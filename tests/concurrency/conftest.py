from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

GUARD_S = 30


@pytest.fixture(autouse=True)
def guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """A list that a bug has tied in a knot is walked for ever: end that, after so much time of the processor."""

    def give_up(signum: int, frame: object) -> None:
        raise TimeoutError(f"no end in sight after {GUARD_S} seconds")

    previous = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0 if request.node.get_closest_marker("stress") else GUARD_S)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, previous)
