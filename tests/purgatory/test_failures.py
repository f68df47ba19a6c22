"""What an operation's own code raises neither stops the others nor disappears."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, Scene
from support import Build


def fail(what: str = "failed") -> Any:
    raise ArithmeticError(what)


def failing_at(nth: int, what: str = "failed") -> Callable[[Any], bool]:
    """A `try_complete` that raises at its nth call."""
    return lambda operation: fail(what) if operation.tries == nth else operation.ready


def in_another_thread(act: Callable[[], object]) -> None:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "nobody has to wait"


def reported(scene: Scene) -> list[tuple[str, str]]:
    return [(operation.name, str(exception)) for operation, exception in scene.errors]


@pytest.mark.parametrize("nth", [1, 2], ids=["first", "second"])
def test_what_a_try_raises_on_the_way_in_comes_to_the_caller_and_nothing_is_watched(scene: Scene, nth: int) -> None:
    operation = scene.operation(try_complete=failing_at(nth))
    with pytest.raises(ArithmeticError):
        scene.watch(operation, "k", "l")
    scene.check()
    assert (operation.outcome, scene.counts(), scene.told, scene.errors) == (None, (0, 0), [], [])
    assert scene.signal() == 0
    assert operation.tries == nth


@pytest.mark.parametrize("nth", [1, 2], ids=["first", "second"])
def test_an_operation_that_failed_on_the_way_in_may_be_given_again(scene: Scene, nth: int) -> None:
    operation = scene.operation(try_complete=failing_at(nth))
    with pytest.raises(ArithmeticError):
        scene.watch(operation, "k", "l")
    assert not scene.watch(operation, "m")
    assert scene.complete(operation, "m") == 1


@pytest.mark.parametrize("exit_type", [KeyboardInterrupt, SystemExit])
def test_an_exit_on_the_way_in_leaves_nothing_watched_either(scene: Scene, exit_type: type[BaseException]) -> None:
    def leave(operation: object) -> bool:
        raise exit_type

    with pytest.raises(exit_type):
        scene.watch(scene.operation(try_complete=leave), "k")
    scene.check()
    assert scene.counts() == (0, 0)


def test_a_try_that_raises_in_a_sweep_is_reported_and_the_rest_of_the_sweep_runs(scene: Scene) -> None:
    first, broken, last = scene.watched("a"), scene.watched("b", try_complete=failing_at(3)), scene.watched("c")
    first.ready = last.ready = True
    assert scene.signal() == 2
    assert reported(scene) == [("b", "failed")]
    assert (scene.told, broken.outcome, scene.counts()) == (["a complete", "c complete"], None, (1, 1))


def test_an_operation_that_failed_in_a_sweep_still_waits_and_may_complete_or_expire(scene: Scene) -> None:
    completes, expires = (scene.watched(name, try_complete=failing_at(3)) for name in "ab")
    assert scene.signal() == 0
    assert scene.complete(completes) == 1
    scene.advance(100)
    assert (completes.outcome, expires.outcome) == ("completed", "expired")


@pytest.mark.parametrize("end", ["signal", "cancel for key", "expire"])
def test_a_callback_that_raises_is_reported_and_the_operation_has_ended(scene: Scene, end: str) -> None:
    callback = "on_cancellation" if end == "cancel for key" else "on_complete"
    operation, other = scene.watched("a", **{callback: lambda operation: fail()}), scene.watched("b")
    operation.ready = other.ready = True
    if end == "signal":
        assert scene.signal() == 2
    elif end == "expire":
        assert scene.advance(100) == 2
    else:
        assert scene.purgatory.cancel_for_key("k") == [operation, other]
    assert reported(scene) == [("a", "failed")]
    assert (operation.is_completed, other.is_completed, scene.counts()) == (True, True, (0, 0))


def test_on_expiration_that_raises_is_reported(scene: Scene) -> None:
    scene.watched("a", on_expiration=lambda operation: fail())
    scene.advance(100)
    assert reported(scene) == [("a", "failed")]


def test_when_both_callbacks_of_an_expiry_raise_neither_failure_disappears(scene: Scene) -> None:
    scene.watched("a", on_complete=lambda operation: fail("first"), on_expiration=lambda operation: fail("second"))
    scene.advance(100)
    [(_, exception)] = scene.errors
    assert (str(exception), str(exception.__context__)) == ("second", "first")


@pytest.mark.parametrize("end", ["force_complete", "cancel"])
def test_whoever_ends_an_operation_by_hand_hears_what_its_callback_raises(scene: Scene, end: str) -> None:
    operation = scene.watched(on_complete=lambda operation: fail(), on_cancellation=lambda operation: fail())
    with pytest.raises(ArithmeticError):
        getattr(operation, end)()
    scene.check()
    assert (operation.is_completed, scene.counts(), scene.errors, len(scene.told)) == (True, (0, 0), [], 1)
    assert not getattr(operation, end)()


@pytest.mark.parametrize("nth", [1, 2], ids=["first", "second"])
def test_a_completion_on_the_way_in_whose_callback_raises_has_happened(scene: Scene, nth: int) -> None:
    operation = scene.operation(
        try_complete=lambda operation: operation.tries == nth, on_complete=lambda operation: fail()
    )
    with pytest.raises(ArithmeticError):
        scene.watch(operation, "k")
    scene.check()
    assert (operation.outcome, scene.told, scene.counts()) == ("completed", ["x complete"], (0, 0))
    assert scene.purgatory.stats().completed == 1


def test_a_try_that_forces_and_then_raises_counts_as_completed(scene: Scene) -> None:
    scene.watched(try_complete=lambda operation: operation.tries > 2 and operation.force_complete() and fail())
    assert scene.signal() == 1
    assert (reported(scene), scene.told) == ([("x", "failed")], ["x complete"])


def test_a_try_that_cancels_and_then_raises_does_not_count_as_completed(scene: Scene) -> None:
    operation = scene.watched(try_complete=lambda operation: operation.tries > 2 and operation.cancel() and fail())
    assert scene.signal() == 0
    assert (operation.outcome, reported(scene)) == ("cancelled", [("x", "failed")])


def test_a_failed_try_that_somebody_left_word_for_is_reported_and_tried_again(scene: Scene) -> None:
    def busy(operation: Any) -> bool:
        if operation.tries == 3:
            in_another_thread(lambda: scene.purgatory.check_and_complete("k"))
            fail()
        return operation.tries == 4

    scene.watched(try_complete=busy)
    assert scene.signal() == 1
    assert (reported(scene), scene.told) == ([("x", "failed")], ["x complete"])


def test_an_exit_is_not_swallowed_because_somebody_left_word(scene: Scene) -> None:
    def interrupted(operation: Any) -> bool:
        if operation.tries == 3:
            scene.purgatory.check_and_complete("k")
            raise KeyboardInterrupt
        return False

    operation = scene.watched(try_complete=interrupted)
    with pytest.raises(KeyboardInterrupt):
        scene.signal()
    scene.check()
    assert scene.complete(operation) == 0
    assert operation.tries > 3, "nobody is at it any more"


def test_neither_failure_disappears_when_a_try_and_what_is_told_after_it_both_raise(scene: Scene) -> None:
    def ended_meanwhile(operation: Any) -> bool:
        if operation.tries == 3:
            in_another_thread(operation.cancel)
            fail("try")
        return False

    scene.watched(try_complete=ended_meanwhile, on_cancellation=lambda operation: fail("told"))
    assert scene.signal() == 0
    assert scene.told == ["x cancellation"]
    failures = [exception for _, exception in scene.errors]
    failures += [exception.__cause__ or exception.__context__ for exception in failures]
    assert {"try", "told"} <= {str(failure) for failure in failures}


def test_an_exit_from_the_error_handler_does_not_leave_an_operation_that_nobody_can_try(build: Build) -> None:
    def interrupted(operation: object, exception: BaseException) -> None:
        raise KeyboardInterrupt

    def busy(operation: Any) -> bool:
        if operation.tries == 3:
            scene.purgatory.check_and_complete("k")
            fail()
        return operation.ready

    scene = Scene(build, on_error=interrupted)
    operation = scene.watched(try_complete=busy)
    with pytest.raises(KeyboardInterrupt):
        scene.signal()
    assert scene.complete(operation) == 1


def test_a_driver_that_fails_to_be_woken_leaves_nothing_watched(build: Build) -> None:
    class Sleepy(build.SystemTimer):
        def _wake(self) -> None:
            fail("the driver")

    scene = Scene(build)
    timer = Sleepy("sleepy", clock=scene.clock)
    purgatory = scene.room.Purgatory("sleepy", timer=timer)
    timer.nap_ns()
    with pytest.raises(ArithmeticError, match="the driver"):
        purgatory.try_complete_else_watch(scene.operation(), ["k"])
    assert (purgatory.stats()[:2], timer.size) == ((0, 0), 0)


# The handler


def test_without_a_handler_failures_go_to_the_log(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(build)
    purgatory = scene.room.Purgatory("plain", timer=scene.timer)
    operation = scene.operation(try_complete=failing_at(3, "in the log"))
    purgatory.try_complete_else_watch(operation, ["k"])
    assert purgatory.check_and_complete("k") == 0
    [record] = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == (
        "sojourn.purgatory",
        logging.ERROR,
        f"{operation!r} failed",
    )
    assert "in the log" in caplog.text


def test_a_handler_that_raises_is_logged_with_what_it_was_given(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(build, on_error=lambda operation, exception: fail("the handler"))
    scene.watched("a", try_complete=failing_at(3, "the operation"))
    second = scene.watched("b")
    assert scene.complete(second) == 1
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["the operation", "the handler"]


def test_an_exit_from_the_handler_goes_on_and_what_it_was_given_is_logged(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(operation: object, exception: BaseException) -> None:
        raise KeyboardInterrupt

    scene = Scene(build, on_error=interrupted)
    scene.watched(try_complete=failing_at(3, "the operation"))
    with pytest.raises(KeyboardInterrupt):
        scene.signal()
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["the operation"]


def test_a_handler_that_cannot_be_called_is_refused(build: Build) -> None:
    with pytest.raises(TypeError, match="on_error=None cannot be called; leave it out"):
        Scene(build, on_error=None)


@pytest.mark.parametrize(("exits", "fails"), [(3, 4), (4, 3)])
def test_an_exit_goes_before_another_failure_and_that_is_reported(scene: Scene, exits: int, fails: int) -> None:
    def stumble(operation: Any) -> bool:
        if operation.tries == 3:
            scene.purgatory.check_and_complete("k")
        if operation.tries == exits:
            raise KeyboardInterrupt
        return fail(f"try {operation.tries}") if operation.tries > 2 else False

    scene.watched(try_complete=stumble)
    with pytest.raises(KeyboardInterrupt):
        scene.signal()
    assert reported(scene) == [("x", f"try {fails}")]
    assert scene.counts() == (1, 1)


def test_a_failure_at_the_deadline_reaches_the_purgatory_and_not_the_timer(scene: Scene) -> None:
    scene.watched("a", on_complete=lambda operation: fail())
    scene.clock.advance(100)
    assert (reported(scene), scene.timer_errors) == ([("a", "failed")], [])


def test_a_handler_may_signal_and_watch(build: Build) -> None:
    scene = Scene(build, on_error=lambda operation, exception: scene.watched("new", "n") and scene.signal("l"))
    helped = scene.watched("h", "l")
    helped.ready = True
    scene.watched("x", "k", try_complete=failing_at(3))
    scene.signal("k")
    assert (helped.outcome, scene.counts()) == ("completed", (2, 2))


def test_an_operation_that_the_handler_completes_is_counted_once(build: Build) -> None:
    """By the signal that the handler sends, and not by the one that failed."""
    counted: list[int] = []
    scene = Scene(build, on_error=lambda operation, exception: counted.append(scene.complete(operation)))
    scene.watched("x", try_complete=failing_at(3))
    assert scene.signal() == 0
    assert (counted, scene.told) == ([1], ["x complete"])
