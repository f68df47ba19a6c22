"""A closed purgatory hands back what is pending, or ends it, and takes nothing more. Its own timer ends with it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, ROOMS, Scene, check
from sojourn import ConfigError, TimerClosedError
from sojourn.errors import PurgatoryClosedError
from support import Build


def test_close_returns_what_is_pending_and_ends_none_of_it(scene: Scene) -> None:
    operations = [scene.watched("a", "k"), scene.watched("b", "k", "l"), scene.watched("c", 3)]
    scene.complete(scene.watched("done", "d"), "d")
    assert set(scene.purgatory.close()) == set(operations)
    scene.check()
    assert ({operation.outcome for operation in operations}, scene.told) == ({None}, ["done complete"])
    assert (scene.counts(), scene.timer.size, scene.advance(1_000)) == ((0, 0), 0, 0)


def test_close_may_end_what_is_pending_as_cancelled(scene: Scene) -> None:
    operations = [scene.watched("a"), scene.watched("b", "k", "l")]
    assert set(scene.purgatory.close(cancel_pending=True)) == set(operations)
    assert {operation.outcome for operation in operations} == {"cancelled"}
    assert sorted(scene.told) == ["a cancellation", "b cancellation"]
    assert scene.counts() == (0, 0)


def test_operations_that_close_ends_are_counted_as_cancelled(scene: Scene) -> None:
    scene.watched("a")
    scene.purgatory.close(cancel_pending=True)
    assert scene.purgatory.stats().cancelled == 1


def test_a_cancellation_that_raises_does_not_keep_close_from_ending_the_others(scene: Scene) -> None:
    operations = [scene.watched(name, on_cancellation=lambda operation: 1 / 0) for name in "abc"]
    assert len(scene.purgatory.close(cancel_pending=True)) == 3
    assert {operation.outcome for operation in operations} == {"cancelled"}
    assert len(scene.errors) == 3


def test_closing_again_goes_on_where_an_exit_interrupted(scene: Scene) -> None:
    def leave(operation: object) -> None:
        raise SystemExit

    first, rest = scene.watched("first", on_cancellation=leave), scene.watched("rest")
    with pytest.raises(SystemExit):
        scene.purgatory.close(cancel_pending=True)
    assert (first.outcome, rest.outcome) == ("cancelled", None)
    assert scene.purgatory.close(cancel_pending=True) == [rest]


def test_close_returns_only_what_it_ended_itself(scene: Scene) -> None:
    second: Any = None
    first = scene.watched("a", on_cancellation=lambda operation: second.force_complete())
    second = scene.watched("b")
    assert scene.purgatory.close(cancel_pending=True) == [first]
    assert scene.purgatory.stats()[2:5] == (1, 0, 1)


def test_a_signal_on_its_way_does_not_try_what_was_handed_back(scene: Scene) -> None:
    first = scene.watched("a", on_complete=lambda operation: scene.purgatory.close())
    second = scene.watched("b")
    second.ready = True
    assert scene.complete(first) == 1
    assert (second.outcome, second.tries) == (None, 2)


def test_closing_twice_is_closing_once(scene: Scene) -> None:
    operation = scene.watched()
    assert scene.purgatory.close() == [operation]
    assert scene.purgatory.close(cancel_pending=True) == []
    assert operation.outcome is None


def test_watching_after_close_is_a_clear_error_and_tries_nothing(scene: Scene) -> None:
    scene.purgatory.close()
    operation = scene.operation()
    with pytest.raises(PurgatoryClosedError, match="purgatory 'scene' is closed and would never end this"):
        scene.watch(operation, "k")
    assert (operation.tries, operation.outcome, scene.counts()) == (0, None, (0, 0))


def test_signals_after_close_find_nobody(scene: Scene) -> None:
    operation = scene.watched()
    operation.ready = True
    scene.purgatory.close()
    assert (scene.signal(), scene.purgatory.cancel_for_key("k")) == (0, [])


def test_what_was_handed_back_can_still_be_ended_by_hand(scene: Scene) -> None:
    forced, cancelled = scene.watched("f"), scene.watched("c")
    scene.purgatory.close()
    assert (forced.force_complete(), cancelled.cancel(), forced.extend(5)) == (True, True, False)
    assert scene.told == ["f complete", "c cancellation"]


def test_what_was_handed_back_may_be_watched_elsewhere(scene: Scene) -> None:
    operation = scene.watched()
    scene.purgatory.close()
    other = scene.room.Purgatory("other", timer=scene.timer)
    assert not other.try_complete_else_watch(operation, ["k"])
    scene.clock.advance(100)
    assert (operation.outcome, other.delayed) == ("expired", 0)


@pytest.mark.parametrize("nth", [1, 2], ids=["first", "second"])
@pytest.mark.parametrize("cancel_pending", [False, True])
def test_an_operation_on_its_way_in_while_the_purgatory_closes_is_refused_or_handed_back(
    scene: Scene, nth: int, cancel_pending: bool
) -> None:
    """Whichever it is, nothing of it remains."""
    left: list[Any] = []

    def close(operation: Any) -> bool:
        if operation.tries == nth:
            left.extend(scene.purgatory.close(cancel_pending=cancel_pending))
        return False

    operation = scene.operation(try_complete=close)
    try:
        scene.purgatory.try_complete_else_watch(operation, ["k"])
        assert left == [operation]
    except PurgatoryClosedError:
        assert left == [] or nth == 2
    assert (scene.counts(), scene.timer.size) == ((0, 0), 0)
    assert operation.outcome == ("cancelled" if cancel_pending and left else None)


def test_callbacks_may_close(scene: Scene) -> None:
    other = scene.watched("other", "l")
    operation = scene.watched("x", on_complete=lambda operation: scene.purgatory.close(cancel_pending=True))
    assert scene.complete(operation) == 1
    assert (other.outcome, scene.counts()) == ("cancelled", (0, 0))


def test_what_is_handed_back_while_its_timer_is_being_started_stays_where_it_is_watched_next(scene: Scene) -> None:
    timer = scene.build.SystemTimer("other", clock=scene.clock).start()
    other = scene.room.Purgatory("other", timer=timer)

    class Moving(scene.room.Noted):
        @property
        def delay_ms(self) -> int:
            """Asked for by the one who starts its timer, whom the end of the purgatory then overtakes."""
            if scene.purgatory.watched:
                [operation] = scene.purgatory.close()
                other.try_complete_else_watch(operation, ["k"])
            return 100

    operation = Moving("x", 0, scene.told, {})
    assert not scene.watch(operation, "k")
    check(other)
    assert (scene.counts(), other.delayed, scene.timer.size, timer.size) == ((0, 0), 1, 0, 1)
    scene.clock.advance(100)
    assert (operation.outcome, other.stats().expired) == ("expired", 1)


def test_a_with_block_closes(scene: Scene) -> None:
    with scene.purgatory as purgatory:
        assert purgatory is scene.purgatory
        scene.watched()
    assert scene.counts() == (0, 0)
    assert repr(purgatory) == "<Purgatory 'scene' closed, 0 delayed>"


def test_a_purgatory_prints_what_it_is(scene: Scene) -> None:
    scene.watched()
    assert repr(scene.purgatory) == "<Purgatory 'scene' open, 1 delayed>"


@pytest.mark.parametrize("options", [{"shards": 0}, {"shards": -1}], ids=repr)
def test_settings_that_make_no_sense_are_refused(scene: Scene, options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        scene.room.Purgatory("odd", timer=scene.timer, **options)


# Whose timer


def test_a_shared_timer_goes_on_after_close(scene: Scene) -> None:
    scene.watched("leaving")
    other = scene.room.Purgatory("other", timer=scene.timer)
    other.try_complete_else_watch(scene.operation("staying"), ["k"])
    scene.purgatory.close()
    scene.timer.schedule(100, scene.told.append, "task")
    scene.clock.advance(100)
    assert scene.told == ["staying complete", "staying expiration", "task"]


def test_a_purgatory_has_a_timer_of_its_own_unless_it_is_given_one(build: Build) -> None:
    with ROOMS[build].Purgatory("own") as purgatory:
        assert isinstance(purgatory.timer, build.SystemTimer)
        assert purgatory.timer.name == "own"
    with pytest.raises(TimerClosedError):
        purgatory.timer.schedule(1, str)


def reaper_of(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"sojourn-reaper-{name}"]


def test_the_reaper_of_its_own_timer_expires_operations_and_ends_with_it(build: Build) -> None:
    expired = threading.Event()
    told: list[str] = []
    with ROOMS[build].Purgatory("reaped") as purgatory:
        operation = ROOMS[build].Noted("x", 1, told, {"on_expiration": lambda operation: expired.set()})
        assert not purgatory.try_complete_else_watch(operation, ["k"])
        assert expired.wait(PATIENCE_S)
        assert len(reaper_of("reaped")) == 1
    assert told == ["x complete", "x expiration"]
    assert (operation.outcome, purgatory.delayed, reaper_of("reaped")) == ("expired", 0, [])


def test_the_reaper_may_close_the_purgatory(build: Build) -> None:
    closed = threading.Event()
    purgatory = ROOMS[build].Purgatory("suicidal")
    left: list[Any] = []

    def close(operation: Any) -> None:
        left.extend(purgatory.close())
        closed.set()

    pending = ROOMS[build].Noted("pending", 10**6, [], {})
    purgatory.try_complete_else_watch(pending, ["k"])
    purgatory.try_complete_else_watch(ROOMS[build].Noted("x", 1, [], {"on_expiration": close}), ["k"])
    assert closed.wait(PATIENCE_S)
    assert left == [pending]
    purgatory.close()
