"""An operation that has ended is held by nobody, nor are its keys; a dropped purgatory lets go of everything."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from purgatory.scene import ROOMS, Scene
from sojourn.testing import ManualClock
from support import Build


class Key:
    """Hashed by identity, and can be watched dying."""


ENDS: dict[str, Callable[[Scene, Any, Key], object]] = {
    "at once": lambda scene, operation, key: None,
    "signal": lambda scene, operation, key: scene.complete(operation, key),
    "force": lambda scene, operation, key: operation.force_complete(),
    "cancel": lambda scene, operation, key: operation.cancel(),
    "cancel for key": lambda scene, operation, key: scene.purgatory.cancel_for_key("k"),
    "expire": lambda scene, operation, key: scene.clock.advance(100),
    "close": lambda scene, operation, key: scene.purgatory.close(),
    "close, cancelling": lambda scene, operation, key: scene.purgatory.close(cancel_pending=True),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_operation_that_has_ended_is_held_by_nobody_nor_are_its_keys(scene: Scene, end: str) -> None:
    key, operation = Key(), scene.operation()
    operation.ready = end == "at once"
    seen = weakref.ref(operation), weakref.ref(key)
    scene.watch(operation, "k", key)
    ENDS[end](scene, operation, key)
    del operation, key
    assert [ref() for ref in seen] == [None, None]


@pytest.mark.parametrize("nth", [1, 2], ids=["first", "second"])
def test_an_operation_that_failed_on_the_way_in_is_held_by_nobody(scene: Scene, nth: int) -> None:
    key, operation = Key(), scene.operation(try_complete=lambda operation: operation.tries == nth and 1 / 0)
    seen = weakref.ref(operation), weakref.ref(key)
    with pytest.raises(ZeroDivisionError) as failure:
        scene.watch(operation, key)
    del operation, key, failure
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_a_pending_operation_is_held_by_its_purgatory_alone_if_need_be(scene: Scene) -> None:
    seen = weakref.ref(scene.watched())
    gc.collect()
    assert seen() is not None
    scene.advance(100)
    assert (seen(), scene.told) == (None, ["x complete", "x expiration"])


def test_an_operation_whose_key_has_changed_is_held_by_nobody_when_it_has_ended(scene: Scene) -> None:
    class Changing(Key):
        value = 1

        def __hash__(self) -> int:
            return self.value

    key = Changing()
    operation = scene.watched("x", key)
    seen = weakref.ref(operation), weakref.ref(key)
    key.value = 2
    operation.cancel()
    del operation, key
    assert [ref() for ref in seen] == [None, None]


@pytest.mark.parametrize("end", ["signal", "cancel", "expire"])
def test_an_operation_and_a_key_that_refer_to_each_other_are_collected_once_it_ended(scene: Scene, end: str) -> None:
    """As when somebody watches itself, and keeps the operation."""
    key, operation = Key(), scene.operation()
    key.operation = operation  # type: ignore[attr-defined]
    seen = weakref.ref(operation), weakref.ref(key)
    scene.watch(operation, "k", key)
    ENDS[end](scene, operation, key)
    del operation, key
    gc.collect()
    assert [ref() for ref in seen] == [None, None]


def test_keys_come_and_go_without_trace(scene: Scene) -> None:
    """Neither empty lists nor what once stood on them stays behind."""
    seen = []
    for i in range(1_000):
        key = Key()
        seen.append(weakref.ref(key))
        scene.purgatory.try_complete_else_watch(operation := scene.operation(), [i, str(i), ("t", i), key])
        operation.cancel()
    del key, operation
    assert not any(ref() for ref in seen)
    assert scene.counts() == (0, 0)
    scene.check()


def test_operations_with_several_keys_come_and_go_in_the_same_memory(scene: Scene) -> None:
    """Counted in blocks that the interpreter has handed out."""
    blocks = []
    for _ in range(3):
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        for i in range(2_000):
            operation = scene.operation()
            scene.purgatory.try_complete_else_watch(operation, [i, "k", ("t", i)])
            operation.cancel()
            scene.told.clear()
    assert blocks[2] <= blocks[1] + 10, blocks


def test_a_dropped_purgatory_and_timer_drop_their_operations(build: Build) -> None:
    scene = Scene(build)
    seen = [weakref.ref(scene.watched(name, name, Key())) for name in "abc"]
    del scene
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


@pytest.mark.parametrize("end", ["expire", "complete", "cancel", "extend"])
def test_operations_of_a_dropped_purgatory_are_still_in_the_timer_and_can_be_ended(build: Build, end: str) -> None:
    clock, told = ManualClock(), []
    timer = build.SystemTimer("survivor", clock=clock).start()
    operation = ROOMS[build].Noted("x", 100, told, {})
    ROOMS[build].Purgatory("dropped", timer=timer).try_complete_else_watch(operation, ["k", Key()])
    gc.collect()
    if end == "extend":
        assert operation.extend(50)
    elif end != "expire":
        assert operation.force_complete() if end == "complete" else operation.cancel()
    clock.advance(100)
    assert told[0] == ("x cancellation" if end == "cancel" else "x complete")
    assert timer.size == 0


PROGRAM = """
import gc
from sojourn import SystemTimer
from sojourn.purgatory import DelayedOperation, Purgatory

class Operation(DelayedOperation):
    pass

timer = SystemTimer("survivor")
purgatory = Purgatory("dropped", timer=timer)
gc.collect()  # from now on it is older than its operations, and would be cleared first
inside, outside = Operation(100), Operation(100)
inside.purgatory = purgatory
purgatory.try_complete_else_watch(inside, ["k"])
purgatory.try_complete_else_watch(outside, ["l"])
timer.close()
del inside, purgatory
gc.collect()
print(outside.cancel(), outside.outcome)
"""


@pytest.mark.parametrize("pure", ["", "1"], ids=["compiled", "pure"])
def test_a_purgatory_that_only_its_own_operations_refer_to_leaves_sound_operations_behind(pure: str) -> None:
    """Whether it is collected or not. In a process of its own, which a dangling pointer would end: there, freed memory
    is overwritten.
    """
    env = os.environ | {"SOJOURN_PURE": pure, "PYTHONMALLOC": "debug"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "True cancelled\n", "")
