"""Every row of the design's table "reference / ours": a known weakness of the reference that ours must not have."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, Scene
from sojourn.purgatory import Purgatory
from sojourn.purgatory._watchers import Watchers
from support import PURE, Build

# an operation completed through one key stays on its other keys' lists until purged: memory grows
# | it leaves all its keys when it completes, whatever comes between: there is nothing to purge


@pytest.mark.parametrize("others", [0, 1, 2], ids=["alone", "one beside it", "two beside it"])
def test_an_operation_leaves_all_its_keys_when_it_completes(scene: Scene, others: int) -> None:
    operation = scene.watched("x", *"abc")
    beside = [scene.watched("o", *"abc") for _ in range(others)]
    assert scene.complete(operation, "b") == 1
    assert scene.counts() == (3 * others, others)
    assert [scene.purgatory._watching(key) for key in "abc"] == [tuple(beside)] * 3


def test_memory_does_not_grow_on_keys_that_are_never_signalled(scene: Scene) -> None:
    seen = []
    for i in range(100):
        operation = scene.watched("x", "never signalled", i)
        scene.complete(operation, i)
        seen.append(weakref.ref(operation))
    del operation
    assert not any(ref() for ref in seen)


def test_there_is_nothing_to_purge_even_if_ctrl_c_comes_while_it_leaves() -> None:
    """Between any two lines of leaving its lists. Only the plain build has such lines; the compiled step is one."""
    interrupts = 0
    while True:
        scene = Scene(PURE)
        operation, other = scene.watched("x", *"abc"), scene.watched("o", *"bcd")
        with interrupted_at(interrupts, Watchers._drop, Watchers._drop_all) as is_interrupted:
            operation.cancel()
        assert (operation.outcome, scene.counts()) == ("cancelled", (3, 1))
        assert [scene.purgatory._watching(key) for key in "abcd"] == [(), (other,), (other,), (other,)]
        scene.purgatory._check_all()
        if not is_interrupted:
            break
        interrupts += 1
    assert interrupts > 10


@contextmanager
def interrupted_at(nth: int, *functions: Any) -> Iterator[list[bool]]:
    """Ctrl-C before the nth line of these functions, once; says whether it came to that."""
    import sys  # noqa: PLC0415

    codes = {function.__code__ for function in functions}
    lines = itertools.count()
    came: list[bool] = []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if event == "line" and frame.f_code in codes and not came and next(lines) == nth:
            came.append(True)
            raise KeyboardInterrupt
        return trace if event != "call" or frame.f_code in codes else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(KeyboardInterrupt):
            yield came
    finally:
        sys.settrace(before)


# an exception in one operation aborts the sweep over the others | isolated, reported, the rest of the sweep runs


def test_an_exception_in_one_operation_is_isolated_and_reported_and_the_rest_of_the_sweep_runs(scene: Scene) -> None:
    scene.watched("a", try_complete=lambda operation: operation.tries > 2 and 1 / 0)
    scene.watched("b", try_complete=lambda operation: operation.tries > 2, on_complete=lambda operation: 1 / 0)
    scene.watched("c", try_complete=lambda operation: operation.tries > 2)
    assert scene.signal() == 2
    assert [(operation.name, type(exception)) for operation, exception in scene.errors] == [
        ("a", ZeroDivisionError),
        ("b", ZeroDivisionError),
    ]
    assert scene.told == ["b complete", "c complete"]


# `cancel_for_key` leaves operations that never time out | they end, as cancelled


def test_cancel_for_key_ends_operations_as_cancelled(scene: Scene) -> None:
    operations = [scene.watched(name, "k", name) for name in "ab"]
    assert scene.purgatory.cancel_for_key("k") == operations
    assert [operation.outcome for operation in operations] == ["cancelled"] * 2
    assert scene.told == ["a cancellation", "b cancellation"]
    assert (scene.counts(), scene.timer.size, scene.signal("a")) == ((0, 0), 0, 0)


# the gauge of watched operations walks every list | O(1), exact


def test_the_gauge_of_watched_operations_is_exact(scene: Scene) -> None:
    operations = [scene.watched("x", *range(i, i + 5)) for i in range(20)]
    for left, operation in reversed(list(enumerate(operations))):
        assert scene.counts() == (5 * (left + 1), left + 1)
        operation.cancel()
    assert scene.counts() == (0, 0)


def test_the_gauge_of_watched_operations_looks_at_no_list(scene: Scene) -> None:
    """O(1): it asks no key for its hash, and costs as many steps with a thousand lists as with none."""
    hashed: list[object] = []

    class Counted:
        def __hash__(self) -> int:
            hashed.append(self)
            return id(self)

    few = steps_of(lambda: scene.purgatory.watched)
    for _ in range(1_000):
        scene.purgatory.try_complete_else_watch(scene.operation(), [Counted()])
    hashed.clear()
    assert scene.purgatory.watched == 1_000
    assert (hashed, steps_of(lambda: scene.purgatory.watched)) == ([], few)


def steps_of(act: Any) -> int:
    """How many lines of Python it takes."""
    import sys  # noqa: PLC0415

    steps = 0

    def count(*_: object) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        act()
    finally:
        sys.settrace(before)
    return steps


# shutdown forgets pending operations | they are returned, or ended as cancelled, as the caller asked


@pytest.mark.parametrize("cancel_pending", [False, True])
def test_shutdown_returns_pending_operations_or_ends_them_as_the_caller_asked(
    scene: Scene, cancel_pending: bool
) -> None:
    operations = [scene.watched(name, name, "k") for name in "abc"]
    left = scene.purgatory.close(cancel_pending=cancel_pending)
    assert sorted(operation.name for operation in left) == ["a", "b", "c"]
    assert {operation.outcome for operation in operations} == {"cancelled" if cancel_pending else None}
    assert len(scene.told) == (3 if cancel_pending else 0)
    assert (scene.counts(), scene.timer.size) == ((0, 0), 0)


# a caller that holds a lock needed by `try_complete` can deadlock
# | documented, and no lock of ours is held while user code runs, beyond the operation's own


def test_the_lock_rule_for_callers_is_documented() -> None:
    documented = " ".join((Purgatory.__doc__ or "").split())
    assert "Do not call it while holding a lock that this code needs" in documented


class Candid:
    """A key that says when it is hashed or compared."""

    def __init__(self, says: dict[str, Any]) -> None:
        self.says = says

    def __hash__(self) -> int:
        self.says.get("hash", str)()
        return 7

    def __eq__(self, other: object) -> bool:
        self.says.get("compare", str)()
        return isinstance(other, Candid)


CALLBACKS = ["try_complete", "on_complete", "on_expiration", "on_cancellation"]


@pytest.mark.parametrize("where", [*CALLBACKS, "on_error", "hash", "compare"])
def test_no_lock_of_ours_is_held_while_user_code_runs(build: Build, where: str) -> None:
    """Meanwhile another thread does everything there is to do, on the same keys and on the same operation."""
    finished: list[bool] = []

    def meanwhile(*_: object) -> bool:
        if not finished:
            finished.append(False)
            thread = threading.Thread(target=everything, daemon=True)
            thread.start()
            thread.join(PATIENCE_S)
            finished.append(not thread.is_alive())
        return False

    def everything() -> None:
        other = scene.operation("other")
        scene.purgatory.try_complete_else_watch(other, ["k", Candid(says)])
        scene.purgatory.check_and_complete("k")
        scene.purgatory.check_and_complete(Candid(says))
        other.extend(5)
        other.cancel()
        operation.extend(200)
        scene.purgatory.stats()

    says = {where: meanwhile}
    scene = Scene(build, **({"on_error": meanwhile} if where == "on_error" else {}))
    operation = scene.operation("x", **({where: meanwhile} if where in CALLBACKS else {}))
    if where == "on_error":
        operation.says["try_complete"] = lambda operation: operation.tries > 2 and 1 / 0
    scene.purgatory.try_complete_else_watch(operation, ["k", Candid(says)])
    scene.purgatory.check_and_complete("k")
    scene.purgatory.check_and_complete(Candid(says))
    if where == "on_cancellation":
        operation.cancel()
    scene.clock.advance(300)
    assert finished == [False, True], "nobody had to wait"
    assert scene.counts() == (0, 0)
    scene.check()


def test_a_signal_never_waits_for_a_try_that_is_under_way(scene: Scene) -> None:
    """Two callers, each inside the try of an operation that the other one signals: the reference deadlocks here."""
    barrier = threading.Barrier(2)

    def cross(key: str) -> Any:
        def try_complete(operation: Any) -> bool:
            if operation.tries == 3:
                barrier.wait(PATIENCE_S)
                scene.purgatory.check_and_complete(key)
                barrier.wait(PATIENCE_S)
            return operation.tries > 3

        return try_complete

    operations = [scene.watched("a", "k", try_complete=cross("l")), scene.watched("b", "l", try_complete=cross("k"))]
    threads = [threading.Thread(target=scene.purgatory.check_and_complete, args=[key], daemon=True) for key in "kl"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    assert [operation.outcome for operation in operations] == ["completed"] * 2
    assert sorted(scene.told) == ["a complete", "b complete"]
