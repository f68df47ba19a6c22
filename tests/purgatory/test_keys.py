"""Keys are whatever a dict takes; equal keys are one key."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from purgatory.scene import Scene
from support import Build


@dataclass(frozen=True)
class Partition:
    """Hashed and compared in Python."""

    topic: str
    number: int


class TopicPartition(NamedTuple):
    topic: str
    number: int


class Topic(enum.StrEnum):
    ORDERS = "orders"


class Level(enum.IntEnum):
    ONE = 1


class Text(str):
    pass


SORTS: list[tuple[Any, Any]] = [
    ("orders", "".join(["ord", "ers"])),
    ("", ""),
    (b"orders", bytes(bytearray(b"orders"))),
    (10**30, 10**30 + 1 - 1),
    (-1, -1),
    (("t", 0), ("t", int("0"))),
    ((), ()),
    (("t", ("p", 0)), ("t", ("p", int("0")))),
    (None, None),
    (2.5, 5 / 2),
    (frozenset("ab"), frozenset("ba")),
    (Partition("t", 0), Partition("t", 0)),
    (("t", Partition("t", 0)), ("t", Partition("t", 0))),
    (TopicPartition("t", 0), TopicPartition("t", 0)),
    (Topic.ORDERS, Topic.ORDERS),
    (int, int),
]
TWINS: list[tuple[Hashable, Hashable]] = [
    (1, True),
    (1, 1.0),
    (0, False),
    (1, Level.ONE),
    (3, Fraction(3)),
    (3, Decimal(3)),
    ("orders", Topic.ORDERS),
    ("orders", Text("orders")),
    (("t", 0), TopicPartition("t", 0)),
    ((1, 2), (1, 2.0)),
    (("orders",), (Topic.ORDERS,)),
    ((1, (2, 3)), (True, (2.0, 3))),
]


@pytest.mark.parametrize(("key", "equal"), SORTS, ids=lambda key: repr(key)[:40])
def test_keys_of_all_sorts(scene: Scene, key: Hashable, equal: Hashable) -> None:
    first, second = scene.watched("a", key), scene.watched("b", "other", equal)
    assert scene.counts() == (3, 2)
    first.ready = True
    assert scene.signal(equal) == 1
    assert scene.purgatory.cancel_for_key(key) == [second]
    assert scene.counts() == (0, 0)


@pytest.mark.parametrize(("one", "other"), TWINS, ids=repr)
def test_keys_of_different_types_that_are_equal_are_one_key(scene: Scene, one: Hashable, other: Hashable) -> None:
    assert one == other
    assert hash(one) == hash(other)
    first, second = scene.watched("a", one), scene.watched("b", other)
    assert scene.complete(first, other) == 1
    assert scene.complete(second, one) == 1
    third = scene.watched("c", one, other)
    assert scene.counts() == (1, 1)
    assert scene.purgatory.cancel_for_key(other) == [third]


def test_a_key_given_twice_counts_once(scene: Scene) -> None:
    operation = scene.watched("x", "k", "l", "k", "k")
    assert scene.counts() == (2, 1)
    scene.signal()
    assert operation.tries == 3
    assert operation.cancel()
    assert scene.counts() == (0, 0)


@pytest.mark.parametrize("keys", [(), [], set(), "", iter(())], ids=["tuple", "list", "set", "text", "iterator"])
def test_no_keys_are_an_error(scene: Scene, keys: Any) -> None:
    operation = scene.operation()
    with pytest.raises(ValueError, match="keys"):
        scene.purgatory.try_complete_else_watch(operation, keys)
    assert (operation.tries, scene.counts()) == (0, (0, 0))


def test_one_text_for_a_list_of_keys_is_an_error(scene: Scene) -> None:
    operation = scene.operation()
    with pytest.raises(ValueError, match=r"keys='orders' is one text; give a list of keys, as in \['orders'\]"):
        scene.purgatory.try_complete_else_watch(operation, "orders")
    assert (operation.tries, scene.counts()) == (0, (0, 0))


def test_bytes_for_a_list_of_keys_are_an_error_too(scene: Scene) -> None:
    with pytest.raises(ValueError, match="give a list of keys"):
        scene.purgatory.try_complete_else_watch(scene.operation(), b"orders")


@pytest.mark.parametrize("how", [list, tuple, set, iter, dict.fromkeys, lambda keys: (key for key in keys)])
def test_keys_come_in_any_iterable(scene: Scene, how: Any) -> None:
    operation = scene.operation()
    assert not scene.purgatory.try_complete_else_watch(operation, how(["k", "l", 3]))
    scene.check()
    assert scene.counts() == (3, 1)
    assert scene.complete(operation, 3) == 1


@pytest.mark.parametrize("keys", [([],), ("k", []), ([], "k"), (("t", []),)], ids=repr)
def test_a_key_that_cannot_be_hashed_is_refused_before_anything_is_tried(scene: Scene, keys: Any) -> None:
    operation = scene.operation()
    with pytest.raises(TypeError, match="unhashable"):
        scene.watch(operation, *keys)
    scene.check()
    assert (operation.tries, scene.counts()) == (0, (0, 0))
    with pytest.raises(TypeError, match="unhashable"):
        scene.signal(keys[0] if keys[0] != "k" else keys[1])


def test_keys_that_are_all_in_one_shard_are_still_told_apart(build: Build) -> None:
    scene = Scene(build, shards=1)
    operations = [scene.watched(str(i), i, f"k{i}", Partition("t", i)) for i in range(50)]
    assert scene.counts() == (150, 50)
    for i, operation in enumerate(operations):
        assert scene.complete(operation, [i, f"k{i}", Partition("t", i)][i % 3]) == 1
    assert scene.counts() == (0, 0)


class Clash:
    """Many to one hash."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clash) and self.value == other.value


def test_keys_with_equal_hashes_are_told_apart(scene: Scene) -> None:
    operations = [scene.watched(str(i), Clash(i)) for i in range(20)]
    assert scene.complete(operations[7], Clash(7)) == 1
    assert scene.counts() == (19, 19)
