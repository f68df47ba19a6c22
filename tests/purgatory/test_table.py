"""Many keys and many watchers: the table grows and shrinks, and everybody is found where they should be."""

from __future__ import annotations

from random import Random, SystemRandom
from typing import Any

import pytest

from purgatory.scene import ROOMS, Scene
from sojourn import PurgatoryClosedError
from support import COMPILED, Build

SEEDS = [0, SystemRandom().randrange(10**9)]


class Clashing:
    """One of a few hashes for many keys."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number % 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clashing) and self.number == other.number

    def __repr__(self) -> str:
        return f"Clashing({self.number})"


KEYS: list[Any] = [*range(40), *(f"k{i}" for i in range(40)), *(("t", i << 40) for i in range(40))]
KEYS += [Clashing(i) for i in range(20)]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed {seed}")
def test_operations_come_to_and_leave_many_keys_in_any_order(build: Build, shards: int, seed: int) -> None:
    scene, random = Scene(build, shards=shards), Random(seed)
    watching: dict[Any, list[Any]] = {key: [] for key in KEYS}
    for _ in range(3):
        operations = [scene.operation(str(nth)) for nth in range(150)]
        for operation in operations:
            operation.mine = random.sample(KEYS, random.choice((1, 1, 2, 5)))
            scene.watch(operation, *operation.mine)
            for key in operation.mine:
                watching[key].append(operation)
        random.shuffle(operations)
        for operation in operations:
            operation.cancel()
            for key in operation.mine:
                watching[key].remove(operation)
                assert scene.purgatory._watching(key) == tuple(watching[key])
            scene.check()
        assert scene.counts() == (0, 0)


def test_many_on_one_key_are_signalled_in_their_order_whoever_left(scene: Scene) -> None:
    random = Random(1)
    operations = [scene.operation(str(nth)) for nth in range(500)]
    for operation in operations:
        scene.purgatory.try_complete_else_watch(operation, ["k"])
    for operation in random.sample(operations, 250):
        operation.cancel()
    left = [operation for operation in operations if operation.outcome is None]
    scene.told.clear()
    for operation in left:
        operation.ready = True
    assert scene.signal() == 250
    assert scene.told == [f"{operation.name} complete" for operation in left]


# What only the compiled build could get badly wrong


def test_a_subclass_that_forgot_init_is_closed_and_sound() -> None:
    class Forgetful(ROOMS[COMPILED].Purgatory):
        def __init__(self) -> None:
            self.name = "forgetful"

    purgatory = Forgetful()
    assert (purgatory.check_and_complete("k"), purgatory.cancel_for_key("k"), purgatory.watched) == (0, [], 0)
    with pytest.raises(PurgatoryClosedError):
        purgatory.try_complete_else_watch(ROOMS[COMPILED].DelayedOperation(), ["k"])


def test_a_purgatory_is_made_once() -> None:
    scene = Scene(COMPILED)
    scene.watched()
    with pytest.raises(TypeError, match="made once"):
        scene.purgatory.__init__("again", timer=scene.timer)
    scene.check()
    assert scene.counts() == (1, 1)
