"""Keys that change or fail while they are watched: the operation ends all the same, and a purge finds what it left."""

from __future__ import annotations

from typing import Any

import pytest

from purgatory.scene import Scene
from support import Build


class Changing:
    """Equal by a value that may change, as a key's should not."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Changing) and self.value == other.value


def test_an_operation_whose_key_has_changed_still_ends_and_a_purge_drops_what_it_left(scene: Scene) -> None:
    key = Changing(1)
    operation = scene.watched("x", key, "k")
    key.value = 2
    assert operation.force_complete()
    scene.check()
    assert (scene.counts(), scene.told) == ((0, 0), ["x complete"])
    assert scene.purgatory.purge() == 1
    scene.check()
    assert (scene.purgatory.purge(), scene.purgatory.stats().purged) == (0, 1)


def test_a_purge_drops_nothing_that_is_pending(scene: Scene) -> None:
    key = Changing(1)
    gone, stays = scene.watched("gone", key), scene.watched("stays", key, Changing(3), "k")
    key.value = 2
    assert gone.cancel()
    assert scene.purgatory.purge() == 1
    scene.check()
    assert scene.counts() == (3, 1)
    assert scene.complete(stays, Changing(3)) == 1
    scene.purgatory.purge()
    scene.check()
    assert scene.counts() == (0, 0)


@pytest.mark.parametrize("interval", [0, 1, 5])
def test_a_purge_comes_by_itself_when_more_than_the_interval_have_strayed(build: Build, interval: int) -> None:
    scene = Scene(build, purge_interval=interval)
    changes = 0
    while not scene.purgatory.stats().purged:
        changes += 1
        key = Changing(changes)
        operation = scene.watched("x", key)
        key.value = -changes
        assert operation.cancel()
        scene.check()
    assert scene.purgatory.stats().purged == interval + 1 <= changes <= 10 * (interval + 1)
    assert scene.purgatory.purge() == 0


def test_all_of_an_operations_changed_keys_are_purged(build: Build) -> None:
    scene = Scene(build, purge_interval=1)
    keys = [Changing(i) for i in range(4)]
    operation = scene.watched("x", *keys)
    for key in keys:
        key.value += 100
    assert operation.cancel()
    scene.check()
    scene.purgatory.purge()
    scene.check()
    assert scene.counts() == (0, 0)
    assert not list(scene.purgatory._entries())


def test_a_purge_keeps_pending_operations_whose_keys_have_become_equal(build: Build) -> None:
    scene = Scene(build, shards=1)
    one, other = Changing(1), Changing(2)
    operations = [scene.watched("a", one), scene.watched("b", other)]
    one.value = 2
    assert scene.purgatory.purge() == 0
    scene.check()
    assert scene.counts() == (2, 2)
    assert len(scene.purgatory.close()) == len(operations)
    scene.check()
    assert scene.counts() == (0, 0)


# Keys that fail


class Touchy:
    """Refuses to be compared, or, once broken, to be hashed."""

    is_broken = False

    def __hash__(self) -> int:
        if self.is_broken:
            raise ArithmeticError("hashed")
        return 7

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("compared")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_key_that_fails_when_it_is_compared_leaves_nothing_watched(scene: Scene, place: int) -> None:
    scene.watched("x", Touchy())
    keys: list[Any] = ["k", "l"]
    keys.insert(place, Touchy())
    operation = scene.operation("y")
    with pytest.raises(ArithmeticError, match="compared"):
        scene.watch(operation, *keys)
    scene.check()
    assert (scene.counts(), operation.outcome) == ((1, 1), None)
    assert [scene.purgatory._watching(key) for key in "kl"] == [(), ()]


def test_a_key_that_fails_later_costs_no_outcome(scene: Scene) -> None:
    """The entry is out of reach, as if its key had changed; everything else takes its course."""
    key = Touchy()
    operation = scene.watched("x", key, "k")
    key.is_broken = True
    assert operation.force_complete()
    assert (operation.outcome, scene.told) == ("completed", ["x complete"])
    assert (scene.counts(), scene.purgatory._watching("k")) == ((0, 0), ())
    scene.check()
