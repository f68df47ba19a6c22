"""Who wins a race for one task: every interleaving of every two and every three of these actors, on a wheel of two.

(Where a driver takes many steps beside others, all in which an actor is interrupted at most four times.)

After each run the world proves that the task ran, was cancelled, was handed back or is pending, exactly one of them;
that the answers of cancel() and extend() fit; that nothing ran early; and that what is left runs at its very deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import pytest

from concurrency.world import World, interleavings
from support import COMPILED, PURE, Build

ACTORS: dict[str, Callable[[World], None]] = {
    "cancel": lambda world: world.cancel("x"),
    "close": lambda world: world.close(),
    "expire": lambda world: world.expire(5),
    "extend": lambda world: world.extend("x", 7),
    "hurry": lambda world: world.extend("x", 0),
    "move": lambda world: world.add("x", to=world.other),
    "rearm": lambda world: world.add("x"),
    "run pending": lambda world: world.close(run_pending=True),
}
PAIRS = list(combinations_with_replacement(ACTORS, 2))
TRIPLES = [
    trio
    for trio in combinations_with_replacement([name for name in ACTORS if name not in ("hurry", "run pending")], 3)
    if trio.count("expire") < 2
]
together = " and ".join

LOCK = frozenset({"acquire"})
CALLBACKS = LOCK | {"callback"}
RELEASES = CALLBACKS | {"release"}
CLOCK = LOCK | {"clock"}
CALLS = frozenset({"call", "clock", "callback"})


def race(names: Sequence[str], delay_ms: int, world: World) -> list[Callable[[], None]]:
    world.add("x", delay_ms)
    return [partial(ACTORS[name], world) for name in names]


def explored(build: Build, names: Sequence[str], *, delay_ms: int, at: frozenset[str], **options: Any) -> int:
    """How many interleavings there are; at least those of actors who take a step each, and a driver who takes two."""
    runs = interleavings(build, partial(race, names, delay_ms), len(names), at=at, **options)
    steps = [2 if name == "expire" else 1 for name in names]
    assert runs >= factorial(sum(steps)) // prod(map(factorial, steps))
    return runs


@pytest.mark.parametrize("names", PAIRS, ids=together)
def test_two_actors_on_a_task_that_is_due(build: Build, names: Sequence[str]) -> None:
    explored(build, names, delay_ms=0, at=CALLBACKS if build is PURE else CALLS)


@pytest.mark.parametrize("names", PAIRS, ids=together)
def test_two_actors_interrupted_where_they_give_the_lock_back_too(names: Sequence[str]) -> None:
    explored(PURE, names, delay_ms=0, at=RELEASES, preemptions=3)


@pytest.mark.parametrize("names", PAIRS, ids=together)
def test_two_actors_on_a_task_that_sinks_step_by_step(names: Sequence[str]) -> None:
    """Two wheels above the lowest; a driver gives up the lock after every step, in the middle of the cascade."""
    explored(PURE, names, delay_ms=5, at=CLOCK, chunk=1, preemptions=4 if "expire" in names else None)


@pytest.mark.parametrize("names", TRIPLES, ids=together)
def test_three_actors(build: Build, names: Sequence[str]) -> None:
    is_long = build is PURE and "expire" in names
    explored(build, names, delay_ms=5, at=LOCK if build is PURE else CALLS, preemptions=4 if is_long else None)


def test_two_drivers_and_a_canceller() -> None:
    assert explored(PURE, ("cancel", "expire", "expire"), delay_ms=0, at=LOCK) > 1_000
    assert explored(COMPILED, ("cancel", "expire", "expire"), delay_ms=0, at=CALLS) > 100
