"""Callbacks are called once each, when the wait has ended and at once if it has; what they raise is reported."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import all_of

ENDS: dict[str, Callable[[Scene, Any], object]] = {
    "completed": lambda scene, wait: scene.hub.signal("k", "paid"),
    "expired": lambda scene, wait: scene.clock.advance(101),
    "cancelled": lambda scene, wait: scene.hub.cancel(wait),
}
each_end = pytest.mark.parametrize("end", ENDS)
each_count = pytest.mark.parametrize("count", [1, 2, 5])


def stumble(wait: Any) -> None:
    raise ZeroDivisionError("stumbled")


@each_end
@each_count
def test_callbacks_are_called_in_order_once_with_the_wait_that_has_ended(scene: Scene, end: str, count: int) -> None:
    called: list[tuple[int, Any, str]] = []
    wait = scene.wait(callback=None)
    for i in range(count):
        wait.add_done_callback(lambda wait, i=i: called.append((i, wait, wait.result(0).outcome)))
    ENDS[end](scene, wait)
    assert called == [(i, wait, end) for i in range(count)]
    scene.hub.signal("k", "paid")
    scene.advance(1_000)
    assert len(called) == count


@each_end
def test_the_callback_given_to_wait_goes_first(scene: Scene, end: str) -> None:
    called: list[str] = []
    wait = scene.wait(callback=lambda wait: called.append("first"))
    wait.add_done_callback(lambda wait: called.append("second"))
    ENDS[end](scene, wait)
    assert called == ["first", "second"]


@each_end
@pytest.mark.parametrize("had_one", [False, True])
def test_a_callback_added_after_the_end_is_called_at_once(scene: Scene, end: str, had_one: bool) -> None:
    wait, called = scene.wait(callback=scene.note if had_one else None), []
    ENDS[end](scene, wait)
    wait.add_done_callback(called.append)
    wait.add_done_callback(called.append)
    assert called == [wait, wait]


@each_end
def test_a_callback_added_by_a_callback_is_called_too(scene: Scene, end: str) -> None:
    called: list[str] = []
    wait = scene.wait(
        callback=lambda wait: wait.add_done_callback(lambda wait: called.append("second")) or called.append("first")
    )
    ENDS[end](scene, wait)
    assert sorted(called) == ["first", "second"]


@each_end
def test_what_a_callback_raises_is_reported_and_the_next_is_called(scene: Scene, end: str) -> None:
    wait, called = scene.wait(callback=stumble), []
    wait.add_done_callback(stumble)
    wait.add_done_callback(called.append)
    ENDS[end](scene, wait)
    assert called == [wait]
    assert [(who, str(error)) for who, error in scene.errors] == [(wait, "stumbled")] * 2
    assert wait.outcome == end
    scene.check()


def test_what_a_late_callback_raises_is_reported_not_raised(scene: Scene) -> None:
    wait = scene.wait()
    scene.signal("k", "paid")
    wait.add_done_callback(stumble)
    assert [who for who, _ in scene.errors] == [wait]


def test_a_callback_that_raises_keeps_no_other_wait_from_its_signal(scene: Scene) -> None:
    scene.wait(callback=stumble)
    scene.wait(until=all_of("paid"), callback=stumble)
    last = scene.wait(until=all_of("paid"))
    assert scene.signal("k", "paid") == 3
    assert (last.outcome, len(scene.errors)) == ("completed", 2)


def leave(wait: Any) -> None:
    raise SystemExit


@each_end
def test_an_exit_in_a_callback_goes_on_when_the_other_callbacks_have_been_called(scene: Scene, end: str) -> None:
    wait, called = scene.wait(callback=leave), []
    wait.add_done_callback(called.append)
    wait.add_done_callback(leave)
    wait.add_done_callback(called.append)
    with pytest.raises(SystemExit):
        ENDS[end](scene, wait)
    assert (called, wait.outcome, scene.errors) == ([wait, wait], end, [])


@pytest.mark.parametrize("end", ["signal", "close"])
def test_an_exit_in_a_callback_goes_on_when_the_other_waits_have_been_told(scene: Scene, end: str) -> None:
    for id, callback in enumerate([scene.note, leave, scene.note, leave, scene.note]):
        scene.wait("k", id=id, callback=callback)
    with pytest.raises(SystemExit):
        scene.hub.signal("k", "paid") if end == "signal" else scene.hub.close()
    assert sorted(id for id, _, _ in scene.told) == [0, 2, 4]
    scene.check()
    assert scene.hub.timer._is_open == (end == "signal")


def test_without_a_handler_errors_go_to_the_log(make_scene: Any, caplog: pytest.LogCaptureFixture) -> None:
    scene = make_scene(on_error=lambda wait, error: stumble(wait))
    scene.wait(callback=lambda wait: {}["missing"])
    scene.signal("k", "paid")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [KeyError, ZeroDivisionError]


@pytest.mark.parametrize("callback", [7, [print]], ids=repr)
def test_what_cannot_be_called_is_refused_at_the_door(scene: Scene, callback: Any) -> None:
    wait = scene.wait("l")
    for take in (lambda: scene.hub.wait("k", "paid", 9, callback=callback), lambda: wait.add_done_callback(callback)):
        with pytest.raises(TypeError, match="cannot be called; give a function that takes the wait"):
            take()
    scene.check()


def test_a_callback_may_wait_again_on_the_same_key(scene: Scene) -> None:
    again: list[Any] = []
    scene.wait(callback=lambda wait: again.append(scene.wait(id="second")))
    assert scene.signal("k", "paid") == 1
    assert not again[0].done()
    assert scene.signal("k", "paid") == 1
    assert scene.told == [("second", "completed", 0)]


def test_a_callback_may_signal_and_cancel_others(scene: Scene) -> None:
    other, third = scene.wait("l", id="other"), scene.wait("m", id="third")
    scene.wait(callback=lambda wait: (scene.signal("l", "paid"), scene.hub.cancel(third)))
    assert scene.signal("k", "paid") == 1
    assert (other.outcome, third.outcome) == ("completed", "cancelled")


def test_a_callback_may_close_the_hub(scene: Scene) -> None:
    other = scene.wait("l", id="other")
    scene.wait(callback=lambda wait: scene.hub.close())
    scene.hub.signal("k", "paid")
    assert other.outcome == "cancelled"


@each_end
def test_a_wait_that_has_ended_lets_go_of_its_callbacks(scene: Scene, end: str) -> None:
    class Callback:
        def __call__(self, wait: Any) -> None: ...

    callbacks = [Callback(), Callback()]
    seen = [weakref.ref(callback) for callback in callbacks]
    wait = scene.wait(callback=callbacks[0])
    wait.add_done_callback(callbacks[1])
    del callbacks
    ENDS[end](scene, wait)
    assert [ref() for ref in seen] == [None, None]
