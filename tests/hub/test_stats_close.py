"""What a hub counts, and how it ends: closing cancels what is pending, so that nobody hangs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hub.scene import GUARD_S, Scene
from sojourn import ConfigError, PurgatoryClosedError, RuleError, TimerClosedError, all_of
from support import Build


def test_stats_count_every_outcome_once(scene: Scene) -> None:
    for i in range(9):
        scene.wait(str(i), all_of("paid", "packed") if i % 2 else "paid", 100)
    assert scene.counts() == (9, 0, 0, 0)
    for i in range(4):
        scene.hub.signal_many([(str(i), "paid"), (str(i), "packed")])
    assert scene.counts() == (5, 4, 0, 0)
    scene.hub.cancel(scene.hub.list()[0])
    assert scene.counts() == (4, 4, 0, 1)
    scene.advance(101)
    assert scene.counts() == (0, 4, 4, 1)


def test_stats_tell_how_long_after_their_deadline_waits_were_told(build: Build) -> None:
    """A driver that comes late."""
    scene = Scene(build)
    timer = build.SystemTimer("by hand", clock=scene.clock)
    hub = scene.room.Hub(timer=timer)
    hub.wait("k", "paid", 10)
    hub.wait("k", "paid", 20)
    scene.clock.advance(40)
    timer.advance_clock()
    overdue = hub.stats().overdue
    assert (overdue.total, 28 <= overdue.max_ms <= 30) == (2, True)


def test_closing_cancels_whatever_is_pending_and_returns_it(scene: Scene) -> None:
    waits = [scene.wait(i, within=100 + i, id=i) for i in range(3)]
    scene.advance(5)
    left = scene.hub.close()
    assert sorted(wait.id for wait in left) == [0, 1, 2]
    assert [wait.result(0).outcome for wait in waits] == ["cancelled"] * 3
    assert sorted(scene.told) == [(i, "cancelled", 5) for i in range(3)]
    assert scene.hub.close() == []
    assert scene.clock.advance(1_000) == 0


def test_what_closing_cancels_is_counted(scene: Scene) -> None:
    scene.wait("k")
    scene.wait(["k", "l"])
    scene.hub.close()
    assert scene.counts() == (0, 0, 0, 2)


def test_closing_without_cancelling_returns_the_waits_as_they_are(scene: Scene) -> None:
    wait = scene.wait()
    assert scene.hub.close(cancel_pending=False) == [wait]
    assert (wait.done(), scene.told) == (False, [])
    assert wait.cancel()


def test_leaving_the_with_block_closes(scene: Scene) -> None:
    with scene.hub as hub:
        wait = hub.wait("k", "paid", 100)
    assert wait.outcome == "cancelled"


def test_a_closed_hub_refuses_to_wait_and_says_so(scene: Scene) -> None:
    scene.hub.close()
    for options in ({}, {"id": "x"}):
        with pytest.raises(PurgatoryClosedError, match="hub 'scene' is closed"):
            scene.hub.wait("k", "paid", 100, **options)
    assert scene.hub.get("x") is None
    assert scene.counts() == (0, 0, 0, 0)


def test_everything_else_on_a_closed_hub_is_in_vain(scene: Scene) -> None:
    wait = scene.wait(id="x")
    scene.hub.close()
    hub = scene.hub
    assert (hub.signal("k", "paid"), hub.signal_many([("k", "paid")]), hub.list(), hub.list("k")) == (0, 0, [], [])
    assert (hub.cancel(wait), hub.extend(wait, 5), wait.outcome) == (False, False, "cancelled")


def test_a_callback_that_raises_while_closing_is_reported_and_the_others_are_told(scene: Scene) -> None:
    scene.wait(callback=lambda wait: {}["missing"])
    scene.wait(id="x")
    scene.hub.close()
    assert [type(error) for _, error in scene.errors] == [KeyError]
    assert scene.told == [("x", "cancelled", 0)]


def test_a_shared_timer_is_shared_and_goes_on_when_a_hub_is_closed(build: Build) -> None:
    scene = Scene(build)
    timer = build.SystemTimer("shared", clock=scene.clock).start()
    one, other = (scene.room.Hub(name, timer=timer) for name in ("one", "other"))
    first, second, ran = one.wait("k", "paid", 10), other.wait("k", "paid", 10), []
    timer.schedule(10, ran.append, "task")
    assert timer.size == 3
    one.close()
    assert (first.outcome, second.outcome, timer.size) == ("cancelled", None, 2)
    assert scene.clock.advance(11) == 2
    assert (second.outcome, ran) == ("expired", ["task"])
    other.close()
    timer.close()


def test_a_shared_timer_that_is_closed_first_refuses_further_waits_and_leaves_no_trace(build: Build) -> None:
    scene = Scene(build)
    timer = build.SystemTimer("shared", clock=scene.clock).start()
    hub = scene.room.Hub(timer=timer)
    wait = hub.wait("k", "paid", 10)
    timer.close()
    with pytest.raises(TimerClosedError):
        hub.wait("l", "paid", 10)
    assert (hub.pending, hub._waits.watched) == (1, 1)
    assert hub.signal("k", "paid") == 1
    assert wait.outcome == "completed"


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ConfigError, {"shards": 0}),
        (RuleError, {"remember": "soon"}),
        (RuleError, {"remember": -1}),
        (ConfigError, {"remember": "1 s", "remember_most": -1}),
        (ConfigError, {"max_pending": -1}),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(build: Build, error: type[Exception], options: dict[str, Any]) -> None:
    with pytest.raises(error):
        Scene(build, **options)


def test_a_timer_and_a_clock_are_one_too_many(build: Build) -> None:
    scene = Scene(build)
    with pytest.raises(ConfigError, match="give one of the two"):
        scene.room.Hub(timer=scene.hub.timer, clock=scene.clock)


def test_a_hub_in_real_time_ends_its_waits_from_a_thread_of_its_own(build: Build) -> None:
    """No delay at all: the wait is due a millisecond later."""
    told: list[str] = []
    with Scene(build).room.Hub("real") as hub:
        outcome = hub.wait("k", "paid", 0, callback=lambda wait: told.append(threading.current_thread().name)).result(
            GUARD_S
        )
    assert (outcome.outcome, outcome.waited_ms, told) == ("expired", 0, ["sojourn-reaper-real"])
