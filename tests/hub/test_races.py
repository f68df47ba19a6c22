"""Who ends a wait: every interleaving of every two of these actors, and of some threes.

After each run the world proves that the wait has one outcome, lawful and for ever; that each callback was called once;
that those who ended it know, and nobody else does; that no signal was lost; and that what is left expires in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest

from hub.world import ALIVE, BOTH, ONE, SHARED, Actor, OddKey, World, interleavings
from sojourn.errors import HubFullError
from sojourn.hub import hub as face
from sojourn.rules import Rule, all_of
from support import PURE, Build

ACTORS: dict[str, Actor] = {
    "signal": lambda world: world.signal("b"),
    "stop": lambda world: world.signal("stop"),
    "expire": lambda world: world.expire(),
    "cancel": lambda world: world.cancel(),
    "extend": lambda world: world.extend(5),
    "shorten": lambda world: world.extend(0),
    "call back": lambda world: world.call_back(),
    "explain": lambda world: world.explain(),
    "list": lambda world: world.look(),
    "close": lambda world: world.close(),
}
ENDS = ["signal", "expire", "cancel", "close"]
together = " and ".join
each_rule = pytest.mark.parametrize("rule", [ONE, BOTH], ids=lambda rule: rule.name)


def acting(names: Sequence[str]) -> list[Actor]:
    return [ACTORS[name] for name in names]


def waiting(rule: Rule) -> Actor:
    """The wait lacks only the signal "b"."""

    def before(world: World) -> None:
        world.wait("x", rule)
        world.signal("a")

    return before


def wait(world: World) -> None:
    world.wait("x")


@each_rule
@pytest.mark.parametrize("names", [*combinations_with_replacement(ACTORS, 2)], ids=together)
def test_two_actors_on_a_wait(build: Build, rule: Rule, names: tuple[str, str]) -> None:
    assert interleavings(build, acting(names), before=waiting(rule), preemptions=3) >= 2


@pytest.mark.parametrize("names", [*combinations_with_replacement(ACTORS, 2)], ids=together)
def test_two_actors_on_a_wait_between_any_two_lines(build: Build, names: tuple[str, str]) -> None:
    """The lines of the code that both builds share, with one interruption."""
    assert interleavings(build, acting(names), before=waiting(BOTH), traced=SHARED, preemptions=1) >= 2


@pytest.mark.parametrize("names", [*combinations(["signal", "stop", "expire", "cancel", "extend"], 3)], ids=together)
def test_three_actors_on_a_wait(build: Build, names: tuple[str, str, str]) -> None:
    assert interleavings(build, acting(names), before=waiting(BOTH), preemptions=2) >= 6


@pytest.mark.parametrize("other", ["expire", "cancel", "extend", "close"])
def test_two_threads_signal_the_last_missing_parts(build: Build, other: str) -> None:
    signallers: list[Actor] = [lambda world: world.signal("a", "k"), lambda world: world.signal("b", "l")]
    assert interleavings(build, signallers, before=wait, traced=SHARED, preemptions=2) > 10
    assert interleavings(build, [*signallers, ACTORS[other]], before=wait, preemptions=2) > 10


def test_what_came_after_a_deadline_that_was_moved_forward_does_not_count(build: Build) -> None:
    """Who shortens and who signals "b" look at the clock; it ticks and "a" counts; then they go on."""
    actors: list[Actor] = [
        ACTORS["shorten"],
        lambda world: world.signal("b"),
        lambda world: (world.tick(), world.signal("a")),
    ]
    assert interleavings(build, actors, before=wait, preemptions=2) > 10


@pytest.mark.parametrize("remembers", [False, True], ids=["forgetful", "remembering"])
@each_rule
@pytest.mark.parametrize("name", ["signal", "stop", "expire", "list", "close"])
def test_one_actor_meets_a_wait_that_is_being_opened(build: Build, rule: Rule, name: str, remembers: bool) -> None:
    actors = [lambda world: world.wait("x", rule), ACTORS[name]]
    options: dict[str, Any] = {"remember": "1 s"} if remembers else {}
    before = (lambda world: world.signal("a")) if remembers else (lambda world: None)
    assert interleavings(build, actors, before=before, hub=options, preemptions=3) >= 2
    assert interleavings(build, actors, before=before, hub=options, traced=SHARED, preemptions=1) >= 2


def test_a_signal_and_the_passing_of_time_meet_a_wait_that_is_being_opened(build: Build) -> None:
    """A signal stamped before the wait was opened finds it nevertheless: it counts from the opening on."""
    actors: list[Actor] = [
        lambda world: world.wait("x", ONE),
        lambda world: world.signal("b"),
        lambda world: world.tick(),
    ]
    for options in ({}, {"remember": "1 s"}):
        assert interleavings(build, actors, hub=options, preemptions=2) > 10


@each_rule
@pytest.mark.parametrize("name", ["signal", "expire", "cancel", "list", "close"])
def test_keys_that_are_hashed_in_python_change_nothing(
    build: Build, rule: Rule, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(World, "key", OddKey)
    for other in ("signal", "expire", "close"):
        assert interleavings(build, acting([name, other]), before=waiting(rule), preemptions=2) >= 2
    if name != "cancel":
        actors = [lambda world: world.wait("x", rule), ACTORS[name]]
        assert interleavings(build, actors, preemptions=3) >= 2


def test_closing_and_the_passing_of_time_meet_a_wait_that_is_being_opened(build: Build) -> None:
    """It is not cancelled before it was opened."""
    actors: list[Actor] = [lambda world: world.wait("x", ONE), ACTORS["close"], lambda world: world.tick()]
    assert interleavings(build, actors, preemptions=2) > 10


@pytest.mark.parametrize("other", ["beat", "expire", "tick", "close"])
def test_no_beat_is_lost_nor_moves_the_deadline_back(build: Build, other: str) -> None:
    others: dict[str, Actor] = {
        "beat": lambda world: world.signal("beat"),
        "tick": lambda world: world.tick(),
        **ACTORS,
    }
    actors = [others["beat"], lambda world: (world.tick(), world.signal("beat")), others[other]]
    assert interleavings(build, actors, before=lambda world: world.wait("x", ALIVE), preemptions=2) > 10


@pytest.mark.parametrize("other", ["beat", "expire"])
def test_a_beat_meets_a_wait_that_is_being_opened(build: Build, other: str) -> None:
    actors: list[Actor] = [
        lambda world: world.wait("x", ALIVE),
        lambda world: (world.tick(), world.signal("beat")),
        ACTORS["expire"] if other == "expire" else lambda world: world.signal("beat"),
    ]
    assert interleavings(build, actors, preemptions=2) > 10


@each_rule
@pytest.mark.parametrize("name", ENDS)
def test_whoever_asks_for_the_result_gets_it(build: Build, rule: Rule, name: str) -> None:
    """A `result()` that nobody wakes would be a deadlock here."""
    actors = [lambda world: world.ask(), ACTORS[name]]
    assert interleavings(build, actors, before=waiting(rule), traced=SHARED, preemptions=1) > 5
    assert interleavings(build, [*actors, lambda world: world.ask()], before=waiting(rule), preemptions=1) > 5


@pytest.mark.parametrize("remembers", [False, True], ids=["forgetful", "remembering"])
def test_two_threads_that_wait_with_the_same_id_have_the_same_wait(build: Build, remembers: bool) -> None:
    def expect(world: World) -> None:
        world.expectations.append(lambda: same(world))

    def same(world: World) -> None:
        assert world.waits["x"] is world.waits["y"]

    actors = [lambda world: world.wait("x", ONE, id=7), lambda world: world.wait("y", ONE, id=7)]
    options: dict[str, Any] = {"remember": "1 s"} if remembers else {}
    assert interleavings(build, actors, before=expect, hub=options, traced=SHARED, preemptions=1) > 10


def test_an_id_is_free_or_taken_but_never_half_forgotten(build: Build) -> None:
    """Two waits of an id end and two more come, all at once."""

    def before(world: World) -> None:
        world.wait("x", ONE, id=1)
        world.wait("y", BOTH, id=2)

    actors: list[Actor] = [
        lambda world: (world.signal("b"), world.wait("z", ONE, id=1)),
        lambda world: (world.cancel("y"), world.wait("w", ONE, id=2)),
    ]
    assert interleavings(build, actors, before=before, traced=("hub/_waits.py",), preemptions=1) > 10


def test_a_full_hub_is_not_overfilled(build: Build) -> None:
    def expect(world: World) -> None:
        world.expectations.append(lambda: one_was_refused(world))

    def one_was_refused(world: World) -> None:
        assert [type(refusal) for refusal in world.refused] == [HubFullError]

    actors = [lambda world: world.wait("x"), lambda world: world.wait("y")]
    assert interleavings(build, actors, before=expect, hub={"max_pending": 1}, preemptions=3) > 1


def test_two_threads_that_make_plans_keep_no_more_than_allowed(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def before(world: World) -> None:
        world.wait("before")
        world.expectations.append(lambda: at_most_one(world))

    def at_most_one(world: World) -> None:
        assert len(world.hub._plans) <= 1

    monkeypatch.setattr(face, "PLANS_KEPT", 1)
    rules = [Rule("both", "open", all_of("a", "b"), i) for i in range(2)]
    actors = [lambda world, rule=rule: world.wait(str(rule.within), rule) for rule in rules]
    assert interleavings(build, actors, before=before, traced=("hub/hub.py",), preemptions=2) > 1


@pytest.mark.parametrize("name", ["signal", "wait"])
def test_listing_meets_the_coming_and_going_of_waits(name: str) -> None:
    """In the pure build, between any two lines of the watch lists."""
    other: Actor = ACTORS[name] if name == "signal" else lambda world: world.wait("y")
    actors = [lambda world: world.look(), other]
    assert interleavings(PURE, actors, before=waiting(ONE), traced=("purgatory/_operation.py",), preemptions=1) > 5
