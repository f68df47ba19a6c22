"""Keys that change or fail while they are watched: an operation leaves them all the same."""

from __future__ import annotations

from collections.abc import Callable
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


def test_an_operation_whose_keys_have_changed_leaves_them_all_when_it_ends(scene: Scene) -> None:
    keys = [Changing(i) for i in range(4)]
    operation = scene.watched("x", *keys, "k")
    for key in keys:
        key.value += 100
    scene.check()
    assert operation.force_complete()
    scene.check()
    assert (scene.counts(), scene.told, list(scene.purgatory._entries())) == ((0, 0), ["x complete"], [])


@pytest.mark.parametrize("gone", [0, 1, 2], ids=["the first", "the second", "the last"])
def test_others_on_a_key_that_has_changed_stay(scene: Scene, gone: int) -> None:
    key = Changing(1)
    operations = [scene.watched(name, key, Changing(3), "k") for name in "abc"]
    key.value = 2
    assert operations.pop(gone).cancel()
    scene.check()
    assert scene.counts() == (6, 2)
    assert [*scene.purgatory._watching(Changing(3))] == operations
    assert [scene.complete(operation, Changing(3)) for operation in operations] == [1, 1]
    assert scene.counts() == (0, 0)


def test_a_key_that_has_changed_is_out_of_reach_until_it_is_itself_again(scene: Scene) -> None:
    """As in a dict. The operation still has its other keys and its deadline."""
    key = Changing(1)
    operation = scene.watched("x", key)
    key.value = 2
    assert [scene.purgatory._watching(Changing(value)) for value in (1, 2)] == [(), ()]
    key.value = 1
    assert scene.complete(operation, Changing(1)) == 1


def test_keys_that_have_become_equal_are_left_each_by_its_own_operation(build: Build) -> None:
    scene = Scene(build, shards=1)
    one, other = Changing(1), Changing(2)
    first, second = scene.watched("a", one), scene.watched("b", other)
    one.value = 2
    assert scene.complete(second, Changing(2)) == 1
    assert (scene.counts(), first.outcome) == ((1, 1), None)
    assert scene.purgatory.close() == [first]
    assert scene.counts() == (0, 0)


def test_keys_that_change_leave_nothing_behind(scene: Scene) -> None:
    for value in range(10):
        key = Changing(value)
        operation = scene.watched("x", key)
        key.value = -1
        operation.cancel()
    assert (scene.counts(), scene.purgatory._entries()) == ((0, 0), [])


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
    key = Touchy()
    operation = scene.watched("x", key, "k")
    key.is_broken = True
    assert operation.force_complete()
    assert (operation.outcome, scene.told) == ("completed", ["x complete"])
    assert (scene.counts(), scene.purgatory._watching("k")) == ((0, 0), ())
    scene.check()


# Keys that do something when they are compared


class Acting:
    """Equal by value; the first comparison sets something off."""

    def __init__(self, value: int, act: Callable[[], object] = lambda: None) -> None:
        self.value = value
        self.act = act

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        act, self.act = self.act, lambda: None
        act()
        return isinstance(other, Acting) and self.value == other.value


@pytest.mark.parametrize("others", [(), ("k", "l")], ids=["one key", "three keys"])
def test_an_operation_that_ends_while_its_key_is_compared_is_not_watched(build: Build, others: tuple[str, ...]) -> None:
    scene = Scene(build)
    operation = scene.operation("x")
    scene.watched("w", Acting(1, operation.cancel))
    scene.watch(operation, Acting(2), *others)
    scene.check()
    assert (scene.counts(), operation.outcome) == ((1, 1), "cancelled")
    assert [scene.purgatory._watching(key) for key in ("k", "l", Acting(2))] == [(), (), ()]


def test_who_leaves_while_its_key_is_compared_is_not_taken_for_who_is_there(build: Build) -> None:
    scene = Scene(build)

    def change_places() -> None:
        leaver.cancel()
        comer.append(scene.watched("y", Acting(1)))

    comer: list[Any] = []
    leaver = scene.watched("w", Acting(1, change_places))
    assert scene.purgatory._watching(Acting(1)) in ((), tuple(comer))  # who has come meanwhile looks for itself
    assert (scene.counts(), leaver.outcome, len(comer)) == ((1, 1), "cancelled", 1)
    assert scene.complete(comer[0], Acting(1)) == 1
