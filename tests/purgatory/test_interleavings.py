"""Every interleaving of small programs: no signal is lost, no operation is told twice, nobody waits for anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import pytest

from purgatory.test_races import ACTORS, acting, make, together, watch
from purgatory.world import LOCKS, USER_CODE, Actor, World, interleavings
from support import COMPILED, PURE, Build

Step = tuple[Any, ...]
AT_MOST = {PURE: 3, COMPILED: None}
"""How often the actors of a longer program are interrupted: the pure build's lock makes too many steps for all ways."""


def steps(*acts: Step) -> Actor:
    """An actor who takes these steps: the name of what it does, and on what."""
    return lambda world: [getattr(world, act)(*args) for act, *args in acts]


def both(*actors: Actor) -> Actor:
    return lambda world: [actor(world) for actor in actors]


class Tally:
    """How the runs ended, so that a test can see that its race took place."""

    def __init__(self, of: str = "x") -> None:
        self.of = of
        self.outcomes: Counter[str | None] = Counter()
        self.tries: set[int] = set()
        self.owed: set[int] = set()

    def watch(self, world: World) -> None:
        world.last = self.look

    def look(self, world: World) -> None:
        self.outcomes[world.operations[self.of].outcome] += 1
        self.tries.add(world.operations[self.of].tries)
        self.owed.add(world.owed)


# Check, watch, check again, then start the timer


def test_a_signal_at_any_step_of_a_watch_is_not_lost(build: Build) -> None:
    tally = Tally()
    interleavings(build, [watch, ACTORS["signal"]], before=both(make, tally.watch))
    assert set(tally.outcomes) == {"completed"}
    assert {1, 2, 3} <= tally.tries, "some were done at the first try, some at the second, and some when signalled"


def test_a_signal_at_any_step_of_a_watch_on_its_other_key_is_not_lost(build: Build) -> None:
    def make_for_the_other(world: World) -> None:
        world.operation("x", needs="l")

    interleavings(build, [watch, ACTORS["signal in vain"]], before=make_for_the_other)


def test_a_condition_that_comes_in_two_halves_during_a_watch_is_not_lost(build: Build) -> None:
    tally = Tally()

    def make_for_both(world: World) -> None:
        world.operation("x", needs="kl")
        tally.watch(world)

    actors = [watch, ACTORS["signal"], ACTORS["signal in vain"]]
    interleavings(build, actors, before=make_for_both, preemptions=AT_MOST[build])
    assert set(tally.outcomes) == {"completed"}


def test_an_operation_that_ends_while_it_is_put_in_the_timer_does_not_stay_there(build: Build) -> None:
    at = (LOCKS if build is PURE else USER_CODE) | {"clock"}
    for end in ("cancel", "signal", "force"):
        assert interleavings(build, [watch, ACTORS[end]], before=make, at=at) > 4


# Who is trying it, and who leaves word


def test_a_signal_that_arrives_during_a_try_leads_to_another_try(build: Build) -> None:
    tally = Tally()

    def watch_both(world: World) -> None:
        world.operation("x", needs="kl")
        world.watch("x")
        tally.watch(world)

    interleavings(build, [ACTORS["signal"], ACTORS["signal in vain"]], before=watch_both)
    assert set(tally.outcomes) == {"completed"}
    assert {4} <= tally.tries <= {3, 4}, "two on the way in, one in vain if it came too early, and the one that did it"


def test_three_signals_at_once_are_two_tries_at_least_and_none_is_lost(build: Build) -> None:
    def watch_both(world: World) -> None:
        world.operation("x", needs="kl")
        world.watch("x")

    actors = [ACTORS["signal"], ACTORS["signal in vain"], ACTORS["signal"]]
    assert interleavings(build, actors, before=watch_both, preemptions=AT_MOST[build]) > 10


@pytest.mark.parametrize("end", ["expire", "cancel", "cancel key", "force"])
def test_an_operation_that_ends_during_a_try_is_told_after_it(build: Build, end: str) -> None:
    """The world would see two threads in its code."""
    tally = Tally()
    interleavings(build, [ACTORS["signal in vain"], ACTORS[end]], before=both(watch, tally.watch))
    assert tally.tries == {2, 3}
    assert set(tally.outcomes) == {{"expire": "expired", "force": "completed"}.get(end, "cancelled")}


@pytest.mark.parametrize(
    "names", [("signal", "signal"), ("signal", "signal in vain"), ("signal in vain", "expire")], ids=together
)
def test_a_try_that_fails_is_reported_once_and_others_may_try_again(build: Build, names: tuple[str, str]) -> None:
    def watch_one_that_stumbles(world: World) -> None:
        world.watch("x")
        world.operations["x"].stumbles = 1
        world.last = completes

    def completes(world: World) -> None:
        """Whatever came of the others, it can still be tried."""
        world.signal("k")
        operation = world.operations["x"]
        assert (operation.is_completed, len(world.stumbled) + operation.stumbles) == (True, 1)

    assert interleavings(build, acting(names), before=watch_one_that_stumbles) > 2


# Signals that keep coming


def test_signals_that_keep_coming_neither_hold_a_caller_nor_are_lost(build: Build) -> None:
    """The world counts the tries of every call, and says when one is held. The last signal is the one that matters."""
    tally = Tally()
    actors = [watch, steps(("signal", "l"), ("signal", "l"), ("signal", "l"), ("signal", "k"))]
    interleavings(build, actors, before=both(make, tally.watch), preemptions=AT_MOST[build])
    assert set(tally.outcomes) == {"completed"}
    assert max(tally.owed) > 0, "the timer had to see to some of them"


def test_signals_that_keep_coming_from_two_sides_during_a_watch(build: Build) -> None:
    tally = Tally()
    actors = [watch, steps(("signal", "l"), ("signal", "l")), steps(("signal", "l"), ("signal", "k"))]
    interleavings(build, actors, before=both(make, tally.watch), at=USER_CODE, preemptions=4)
    assert set(tally.outcomes) == {"completed"}


@pytest.mark.parametrize("end", ["expire", "cancel", "cancel key", "close"])
def test_a_try_that_is_owed_comes_to_nothing_once_the_operation_has_ended(build: Build, end: str) -> None:
    actors = [watch, steps(("signal", "l"), ("signal", "l"), ("signal", "k")), ACTORS[end]]
    assert interleavings(build, actors, before=make, at=USER_CODE, preemptions=3) > 100


def test_two_callers_whose_signals_keep_coming_share_the_tries(build: Build) -> None:
    tally = Tally()
    actors = [steps(("signal", "l"), ("signal", "l"), ("signal", "l")), steps(("signal", "l"), ("signal", "k"))]
    interleavings(build, actors, before=both(watch, tally.watch), preemptions=AT_MOST[build])
    assert set(tally.outcomes) == {"completed"}


# Two operations


def test_one_leaves_a_key_while_another_comes_to_it(build: Build) -> None:
    def come(world: World) -> None:
        world.watch("y", "k", needs="l")

    for end in ("cancel", "signal", "expire"):
        interleavings(build, [come, ACTORS[end]], before=watch, preemptions=AT_MOST[build])


def test_two_come_to_the_same_keys_in_opposite_order_while_one_is_signalled(build: Build) -> None:
    actors = [steps(("watch", "x", "kl")), steps(("watch", "y", "lk")), ACTORS["signal"]]

    def make_both(world: World) -> None:
        world.operation("x", needs="k")
        world.operation("y", needs="k")

    assert interleavings(build, actors, before=make_both, at=USER_CODE) > 100
    interleavings(build, actors, before=make_both, preemptions=1)


def test_a_completion_that_signals_another_key_races_the_other_operation_on_its_way_in(build: Build) -> None:
    tally = Tally("y")

    def chain(world: World) -> None:
        world.operation("y", needs="l")
        world.watch("x", "k")
        world.operations["x"].then = lambda: world.signal("l")
        tally.watch(world)

    interleavings(build, [ACTORS["signal"], steps(("watch", "y", "l"))], before=chain, preemptions=AT_MOST[build])
    assert set(tally.outcomes) == {"completed"}


def test_completions_that_signal_each_others_keys_do_not_deadlock(build: Build) -> None:
    def cross(world: World) -> None:
        for name, key, other in (("x", "k", "l"), ("y", "l", "k")):
            world.watch(name, "kl", needs=key)
            world.operations[name].then = lambda other=other: world.signal(other)

    interleavings(build, [ACTORS["signal"], ACTORS["signal in vain"]], before=cross, preemptions=AT_MOST[build])


# Keys that are hashed and compared in Python, in the midst of our own steps

KEYS_TOO = LOCKS | {"call", "hash", "compare"}


@pytest.mark.parametrize("names", [*combinations_with_replacement(ACTORS, 2)], ids=together)
def test_two_actors_on_keys_that_are_hashed_in_python(build: Build, names: tuple[str, str]) -> None:
    assert interleavings(build, acting(names), before=watch, at=KEYS_TOO, hashed=True, preemptions=2) > 1


@pytest.mark.parametrize("name", ACTORS)
def test_one_actor_meets_a_watch_on_keys_that_are_hashed_in_python(build: Build, name: str) -> None:
    assert interleavings(build, [watch, ACTORS[name]], before=make, at=KEYS_TOO, hashed=True, preemptions=2) > 4


def test_operations_come_to_and_leave_keys_while_these_are_compared(build: Build) -> None:
    def watch_and_leave(world: World) -> None:
        world.watch("y")
        world.cancel("y")

    for end in ("cancel", "signal", "close"):
        actors = [watch_and_leave, ACTORS[end]]
        assert interleavings(build, actors, before=watch, at=KEYS_TOO, hashed=True, preemptions=3) > 10


# Three actors with four steps each, on two operations and two keys

PROGRAMS: dict[str, Sequence[Actor]] = {
    "all at once": [
        steps(("watch", "x"), ("signal", "l"), ("extend", "x"), ("cancel", "x")),
        steps(("signal", "k"), ("watch", "y"), ("extend", "y"), ("signal", "k")),
        steps(("expire",), ("cancel_key", "l"), ("expire",), ("signal", "l")),
    ],
    "watch and signal": [
        steps(("watch", "x"), ("extend", "x"), ("watch", "y"), ("extend", "y")),
        steps(("signal", "l"), ("signal", "k"), ("signal", "l"), ("signal", "k")),
        steps(("expire",), ("extend", "x"), ("expire",), ("extend", "y")),
    ],
    "watch and cancel": [
        steps(("watch", "x", "k"), ("watch", "y", "l"), ("extend", "x"), ("extend", "y")),
        steps(("cancel_key", "k"), ("force", "y"), ("signal", "l"), ("expire",)),
        steps(("signal", "k"), ("cancel", "x"), ("cancel_key", "l"), ("extend", "y")),
    ],
    "mostly time": [
        steps(("watch", "x"), ("extend", "x"), ("expire",), ("signal", "k")),
        steps(("watch", "y"), ("extend", "y"), ("expire",), ("signal", "l")),
        steps(("expire",), ("extend", "x"), ("extend", "y"), ("expire",)),
    ],
}
each_program = pytest.mark.parametrize("program", PROGRAMS)


def make_two(world: World) -> None:
    world.operation("x", needs="kl")
    world.operation("y", needs="k", forces=True)


@each_program
def test_three_actors_with_four_steps_each_interrupted_up_to_twice(build: Build, program: str) -> None:
    assert interleavings(build, PROGRAMS[program], before=make_two, at=USER_CODE, preemptions=2) > 500


@pytest.mark.stress
@each_program
def test_three_actors_with_four_steps_each_interrupted_anywhere(build: Build, program: str) -> None:
    """Between the steps as often as can be, which makes 12! / 4!^3 ways; within them, up to three times."""
    assert interleavings(build, PROGRAMS[program], before=make_two, at=frozenset({"call"})) == 34_650
    assert interleavings(build, PROGRAMS[program], before=make_two, at=USER_CODE, preemptions=3) > 5_000


@pytest.mark.stress
@pytest.mark.parametrize("names", [*combinations_with_replacement(list(ACTORS)[:8], 2)], ids=together)
def test_two_actors_meet_a_watch_at_every_step_interrupted_up_to_four_times(names: tuple[str, str]) -> None:
    assert interleavings(PURE, [watch, *acting(names)], before=make, at=LOCKS, preemptions=4) > 100
    assert interleavings(COMPILED, [watch, *acting(names)], before=make, at=USER_CODE | {"clock"}) > 10
