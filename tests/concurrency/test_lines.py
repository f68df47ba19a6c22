"""Between any two lines: what is not under the lock must not need it.

Here every line of the timer's own sources is a decision point, so a lock left out is a race found. That is too fine for
every interleaving; these are all in which an actor is interrupted at most once, or twice where the actors are short.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from concurrency.test_races import PAIRS, race, together
from concurrency.world import World, interleavings
from support import PURE

SOURCES = ("timer/_task.py", "timer/_timer.py", "timer/_wheel.py", "timer/system.py", "timer/drivers.py")
LOCK = frozenset({"acquire"})


@pytest.mark.parametrize("names", PAIRS, ids=together)
def test_two_actors_one_of_them_interrupted_anywhere(names: tuple[str, str]) -> None:
    runs = interleavings(PURE, partial(race, names, 0), 2, at=LOCK, preemptions=1, traced=SOURCES)
    assert runs > 20


@pytest.mark.parametrize("names", [("cancel", "cancel"), ("cancel", "extend")], ids=together)
def test_two_short_actors_interrupted_twice(names: tuple[str, str]) -> None:
    assert interleavings(PURE, partial(race, names, 3), 2, at=LOCK, preemptions=2, traced=SOURCES) > 200


def test_a_cascade_interrupted_anywhere_by_someone_who_schedules() -> None:
    def scene(world: World) -> list[Any]:
        world.schedule("x", 5)
        world.schedule("y", 5)
        world.in_order = list("xyz")
        world.clock.now_ms = 4
        return [partial(world.expire, 0), partial(world.schedule, "z", 1)]

    assert interleavings(PURE, scene, 2, at=LOCK, chunk=1, preemptions=1, traced=SOURCES) > 100
