"""Keys, ids, kinds, sources and values run code of their own: never while a lock of the hub's is held."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from hub.scene import GUARD_S, ROOMS, Scene
from sojourn import IdTakenError, Rule, RuleError, all_of, reached, seen, total
from support import Build

CALLED: set[str] = set()
HOOK: list[Callable[[], object]] = []
TIMES = 100


def called(what: str) -> None:
    CALLED.add(what)
    for hook in HOOK:
        hook()


class Key:
    """Equal by name, which takes a while to find out."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        called("hash")
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        called("eq")
        return isinstance(other, Key) and self.name == other.name

    def __repr__(self) -> str:
        called("repr")
        return f"Key({self.name})"


class Text(str):
    def __hash__(self) -> int:
        called("hash")
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        called("eq")
        return str(self) == other

    def __repr__(self) -> str:
        called("repr")
        return super().__repr__()


class Number(int):
    def __ge__(self, other: Any) -> bool:
        called("ge")
        return int(self) >= other

    def __hash__(self) -> int:
        called("hash")
        return int(self)


class Amount(Decimal):
    def __ge__(self, other: Any) -> bool:
        called("ge")
        return Decimal(self) >= other

    def as_integer_ratio(self) -> tuple[int, int]:
        called("ratio")
        return super().as_integer_ratio()


@pytest.fixture(params=[None, "1 s"], ids=["forgetful", "remembering"])
def hub(build: Build, request: pytest.FixtureRequest) -> Any:
    return Scene(build, remember=request.param).hub


@pytest.fixture(autouse=True)
def no_hooks() -> Any:
    CALLED.clear()
    yield
    HOOK.clear()


def others_get_in(hub: Any) -> None:
    """Whatever is called from now on finds that another thread can use the hub meanwhile.

    Not without end: a thread that comes between at each comparison makes the first one look again each time.
    """
    is_inside, left = threading.local(), [TIMES]

    def other() -> None:
        is_inside.here = True
        hub.wait("other", all_of("a", "b"), 9, id=("other", threading.get_ident()))
        hub.signal_many([("other", "a"), ("other", "b")])

    def let_another_in() -> None:
        if getattr(is_inside, "here", False) or not left[0]:
            return
        left[0] -= 1
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        thread.join(GUARD_S)
        assert not thread.is_alive(), "a lock is held"

    HOOK.append(let_another_in)


@pytest.mark.parametrize("until", ["a", all_of("a", "b")], ids=str)
def test_keys_and_ids_are_compared_with_no_lock_held(hub: Any, until: Any) -> None:
    others_get_in(hub)
    waits = [hub.wait([Key("k"), Key("l")], until, 100, id=Key(id)) for id in ("one", "two")]
    hub.wait(Key("k"), until, 100)
    assert hub.wait([Key("k"), Key("l")], until, 100, id=Key("one")) is waits[0]
    with pytest.raises(IdTakenError, match=r"id=Key\(one\) belongs to another wait: on Key\(k\) and Key\(l\)"):
        hub.wait(Key("elsewhere"), until, 100, id=Key("one"))
    assert (hub.get(Key("two")), len(hub.list(Key("k")))) == (waits[1], 3)
    assert hub.extend(Key("two"), 200)
    assert hub.signal(Key("k"), "b") + hub.signal(Key("l"), "a") == 2
    assert hub.cancel(waits[1]) is False
    assert hub.signal(Key("k"), "a") == 1
    hub.wait([Key("k"), Key("l")], until, 100, id=Key("one"))
    assert {"hash", "eq"} <= CALLED
    HOOK.clear()
    hub.close()


def test_what_a_signal_carries_is_read_with_no_lock_held(hub: Any) -> None:
    others_get_in(hub)
    waits = [
        hub.wait("k", all_of("ack", reached("ack", 5), seen("ack", 2, "source")), 100),
        hub.wait("k", rule=Rule("r", "open", "ack", 9, cancels="stop")),
    ]
    assert hub.signal("k", Text("ack"), Text("one"), Number(7)) == 1
    assert hub.signal("k", Text("ack"), Number(2), Number(7)) == 1
    assert [wait.result().decided_by for wait in waits] == ["ack", "ack"]
    assert "hash" not in CALLED, "what was read was the text and the number, without the methods of their classes"


def test_a_decimal_is_read_without_the_methods_of_its_class(hub: Any) -> None:
    others_get_in(hub)
    wait = hub.wait("k", all_of(total("sent", at_least=0.3), reached("sent", 0.2)), 100)
    assert hub.signal("k", "sent", None, Amount("0.1")) == 0
    assert hub.signal("k", "sent", None, Amount("0.2")) == 1
    assert (wait.done(), CALLED) == (True, set())


def test_the_text_of_a_refusal_is_written_with_no_lock_held(hub: Any) -> None:
    others_get_in(hub)
    hub.wait(Key("k"), total("sent", at_least=5), 100)
    with pytest.raises(RuleError, match=r"signal 'sent' to Key\(k\): value Key\(v\) of 'sent' is not a number"):
        hub.signal(Key("k"), "sent", None, Key("v"))
    assert "repr" in CALLED


def test_the_text_of_an_early_signal_that_cannot_be_used_is_written_with_no_lock_held(build: Build) -> None:
    scene = Scene(build, remember="1 s")
    others_get_in(scene.hub)
    scene.hub.signal(Key("k"), "sent", None, Key("v"))
    scene.hub.wait(Key("k"), total("sent", at_least=5), 100)
    assert [str(error) for _, error in scene.errors] == [
        "signal 'sent' to Key(k): value Key(v) of 'sent' is not a number"
    ]


def test_two_threads_that_take_a_lock_of_their_own_in_a_comparison_and_around_a_signal_do_not_meet_in_a_deadlock(
    build: Build,
) -> None:
    """One compares keys, and needs the lock for that; the other has it, and signals."""
    hub = ROOMS[build].Hub()
    lock, has_lock, compares = threading.Lock(), threading.Event(), threading.Event()
    hub.wait(Key("k"), all_of("a", "b"), "1 h")
    hub.wait("l", all_of("a", "b"), "1 h")

    def compare() -> None:
        if threading.current_thread() is signaller:
            compares.set()
            has_lock.wait(GUARD_S)
            with lock:
                pass

    def signal_with_the_lock() -> None:
        compares.wait(GUARD_S)
        with lock:
            has_lock.set()
            hub.signal("l", "a")

    signaller = threading.Thread(target=hub.signal, args=(Key("k"), "a"), daemon=True)
    other = threading.Thread(target=signal_with_the_lock, daemon=True)
    HOOK.append(compare)
    for thread in (signaller, other):
        thread.start()
    for thread in (signaller, other):
        thread.join(GUARD_S)
        assert not thread.is_alive(), "a deadlock"
    HOOK.clear()
    hub.close()


def once(act: Callable[[], object]) -> None:
    """Act at the next call of a key's own code, and not while acting."""

    def hook() -> None:
        HOOK.clear()
        act()

    HOOK.append(hook)


def test_a_wait_that_comes_while_a_signal_compares_keys_hears_of_it_or_recalls_it(build: Build) -> None:
    scene = Scene(build, remember="1 s")
    first = scene.hub.wait(Key("k"), "a", 100)
    came: list[Any] = []
    key = Key("k")

    def come() -> None:
        first.cancel()
        came.append(scene.hub.wait(Key("k"), "a", 100))

    once(lambda: once(come))  # the hash, then the comparison
    scene.hub.signal(key, "a")
    assert [wait.outcome for wait in (first, *came)] == ["cancelled", "completed"]


def test_a_signal_is_remembered_though_its_key_was_forgotten_while_it_was_compared(build: Build) -> None:
    scene = Scene(build, remember="1 s", remember_most=2)
    scene.hub.signal(Key("k"), "a")

    def forget_and_begin_again() -> None:
        scene.hub.signal_many([("x", "a"), ("y", "a"), (Key("k"), "c")])

    once(lambda: once(lambda: once(forget_and_begin_again)))  # two hashes, then the comparison
    scene.hub.signal(Key("k"), "b")
    assert scene.hub.wait(Key("k"), all_of("b", "c"), 100).done()
