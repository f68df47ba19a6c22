"""Who ends one operation on two keys: every interleaving of every two and every three of these actors.

After each run the world proves that the operation was told one outcome, once, by one thread at a time; that those who
ended it know, and nobody else does; that no signal was lost; and that what is left is on its lists and in the timer,
and expires.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import pytest

from purgatory.world import EVERYWHERE, LOCKS, USER_CODE, Actor, World, interleavings
from support import PURE, Build

ACTORS: dict[str, Actor] = {
    "signal": lambda world: world.signal("k"),
    "signal in vain": lambda world: world.signal("l"),
    "expire": lambda world: world.expire(),
    "force": lambda world: world.force("x"),
    "cancel": lambda world: world.cancel("x"),
    "cancel key": lambda world: world.cancel_key("l"),
    "extend": lambda world: world.extend("x"),
    "close": lambda world: world.close(),
    "close, cancelling": lambda world: world.close(cancel_pending=True),
}
STAYING_OPEN = [name for name in ACTORS if not name.startswith("close")]
together = " and ".join


def make(world: World) -> None:
    world.operation("x", needs="k")


def make_one_that_forces(world: World) -> None:
    world.operation("x", needs="k", forces=True)


def watch(world: World) -> None:
    world.watch("x")


def acting(names: Sequence[str]) -> list[Actor]:
    return [ACTORS[name] for name in names]


@pytest.mark.parametrize("names", [*combinations_with_replacement(ACTORS, 2)], ids=together)
def test_two_actors_on_an_operation_that_is_watched(build: Build, names: tuple[str, str]) -> None:
    assert interleavings(build, acting(names), before=watch) >= 2


@pytest.mark.parametrize("name", ACTORS)
@pytest.mark.parametrize("before", [make, make_one_that_forces], ids=["answers", "forces"])
def test_one_actor_on_an_operation_that_is_being_watched(build: Build, name: str, before: Actor) -> None:
    assert interleavings(build, [watch, ACTORS[name]], before=before) >= 4


@pytest.mark.parametrize("names", [*combinations_with_replacement(STAYING_OPEN, 3)], ids=together)
def test_three_actors_on_an_operation_that_is_watched(build: Build, names: tuple[str, str, str]) -> None:
    assert interleavings(build, acting(names), before=watch, at=USER_CODE) >= 6


@pytest.mark.parametrize("names", [*combinations_with_replacement(STAYING_OPEN, 2)], ids=together)
def test_two_actors_on_an_operation_that_is_being_watched(build: Build, names: tuple[str, str]) -> None:
    assert interleavings(build, [watch, *acting(names)], before=make, at=USER_CODE) >= 10


@pytest.mark.parametrize(
    "names", [*combinations(["signal", "signal in vain", "expire", "cancel", "extend"], 2)], ids=together
)
def test_two_actors_meet_a_watch_at_every_step_of_the_lock(names: tuple[str, str]) -> None:
    """With two interruptions; the pairs above have any number."""
    assert interleavings(PURE, [watch, *acting(names)], before=make, at=LOCKS, preemptions=2) > 100


# Between any two lines, and wherever a lock is taken or given back


@pytest.mark.parametrize("names", [*combinations_with_replacement(STAYING_OPEN, 2)], ids=together)
def test_two_actors_between_any_two_lines(names: tuple[str, str]) -> None:
    lines = ["purgatory/_operation.py", "purgatory/_watchers.py"]
    assert interleavings(PURE, acting(names), before=watch, at=EVERYWHERE, preemptions=3) > 2
    assert interleavings(PURE, acting(names), before=watch, at=LOCKS, traced=lines, preemptions=1) > 2


@pytest.mark.parametrize("name", STAYING_OPEN)
def test_one_actor_meets_a_watch_between_any_two_lines(name: str) -> None:
    lines = ["purgatory/_operation.py", "purgatory/_watchers.py"]
    assert interleavings(PURE, [watch, ACTORS[name]], before=make, at=EVERYWHERE, preemptions=3) > 20
    assert interleavings(PURE, [watch, ACTORS[name]], before=make, at=LOCKS, traced=lines, preemptions=1) > 20
