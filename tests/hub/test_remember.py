"""A hub that remembers: signals from before a wait count as if they came with it. Some of them, for a while."""

from __future__ import annotations

from typing import Any

import pytest

from hub.scene import Scene
from sojourn import Rule, all_of, reached, seen, total

KEEP_MS = 50


@pytest.fixture
def scene(make_scene: Any) -> Scene:
    scene: Scene = make_scene(remember=f"{KEEP_MS} ms")
    return scene


def test_a_hub_forgets_by_default(make_scene: Any) -> None:
    scene = make_scene()
    scene.signal("k", "paid")
    assert not scene.wait("k").done()
    assert scene.hub.stats().remembered == 0


@pytest.mark.parametrize("until", ["paid", all_of("paid", "packed")], ids=str)
def test_a_wait_that_comes_after_its_signals_completes_at_once(scene: Scene, until: Any) -> None:
    scene.signal("k", "packed")
    scene.advance(10)
    scene.signal("k", "paid")
    scene.advance(10)
    wait = scene.wait("k", until, id="x")
    assert scene.told == [("x", "completed", 20)], "stamped like its opening"
    outcome = wait.result(0)
    assert (outcome.at, outcome.waited_ms, outcome.met_at, outcome.opened_at) == (20, 0, 20, 20)
    assert scene.counts() == (0, 1, 0, 0)


def test_a_wait_that_comes_between_its_signals_counts_both(scene: Scene) -> None:
    scene.signal("k", "ack", "one")
    scene.advance(20)
    wait = scene.wait("k", seen("ack", 3, "source"))
    assert scene.signal("k", "ack", "one") == 0
    assert scene.signal("k", "ack", "two") == 0
    assert scene.signal("k", "ack", "three") == 1
    assert wait.outcome == "completed"


def test_remembered_values_and_levels_count(scene: Scene) -> None:
    scene.signal("k", "sent", "x", 3)
    scene.signal("k", "sent", "y", 3)
    assert scene.wait("k", total("sent", at_least=6)).done()
    assert scene.wait("k", reached("sent", 3, by=2)).done()
    assert not scene.wait("k", reached("sent", 3, by=3)).done()


def test_only_signals_to_its_own_keys_are_recalled_in_the_order_of_time(scene: Scene) -> None:
    for key, source in [("l", "first"), ("k", "second"), ("m", "elsewhere"), ("l", "third")]:
        scene.signal(key, "ack", source)
        scene.advance(1)
    wait = scene.wait(["k", "l"], seen("ack", 4, "source"))
    scene.advance(1)
    assert scene.signal("k", "ack", "fourth") == 1
    assert "(first, second, third, fourth)" in wait.explain()


def test_one_signal_is_recalled_by_any_number_of_waits(scene: Scene) -> None:
    scene.signal("k", "paid")
    assert all(scene.wait("k").done() for _ in range(3))


def test_signals_are_remembered_so_long_and_no_longer(scene: Scene) -> None:
    scene.signal("k", "paid")
    scene.advance(KEEP_MS)
    assert scene.wait("k").done(), "to the very end"
    scene.advance(1)
    assert not scene.wait("k").done()
    assert scene.hub.stats().remembered == 0


@pytest.mark.parametrize("most", [0, 1, 3])
def test_no_more_than_so_many_are_remembered_the_oldest_going_first(make_scene: Any, most: int) -> None:
    scene = make_scene(remember=KEEP_MS, remember_most=most)
    for i in range(5):
        scene.signal(f"k{i % 2}", f"kind{i}")
        assert scene.hub.stats().remembered == min(i + 1, most)
    known = [i for i in range(5) if scene.wait(f"k{i % 2}", f"kind{i}", 1).done()]
    assert known == list(range(5))[5 - most :]


def test_nothing_is_left_of_what_is_forgotten(scene: Scene) -> None:
    for i in range(1_000):
        scene.hub.signal(i, "paid")
        scene.clock.advance(1)
    assert scene.hub.stats().remembered == len(scene.hub._waits._memory._by_key) == KEEP_MS + 1


def test_a_remembered_cancellation_cancels_unless_the_condition_is_met(scene: Scene) -> None:
    rule = Rule("r", "open", "paid", 20, cancels="stop")
    scene.signal("k", "stop")
    scene.signal("l", "stop")
    scene.advance(5)
    scene.signal("l", "paid")
    for key in ("k", "l"):
        scene.wait(key, rule=rule, id=key)
    scene.advance(1)
    assert scene.told == [("l", "completed", 5), ("k", "cancelled", 5)]


def test_a_remembered_beat_is_a_beat_at_the_opening(scene: Scene) -> None:
    scene.signal("k", "beat")
    scene.advance(5)
    scene.wait("k", rule=Rule("r", "open", within=10, keeps_alive="beat"), id="x")
    scene.advance(11)
    assert scene.told == [("x", "expired", 15)]


def test_a_wait_that_completes_at_once_is_not_in_anybodys_way(make_scene: Any) -> None:
    scene = make_scene(remember=KEEP_MS, max_pending=1)
    scene.signal("k", "paid")
    for _ in range(3):
        scene.wait("k")
    scene.wait("l")
    assert scene.counts() == (1, 3, 0, 0)


def test_an_early_value_that_makes_no_sense_keeps_nobody_from_waiting(scene: Scene) -> None:
    """It could not be an error for the one who signalled: nobody was there to say what makes sense. It is reported."""
    scene.signal("k", "sent", None, "no number")
    scene.signal("k", "sent", None, 2)
    wait = scene.wait("k", total("sent", at_least=5))
    assert scene.signal("k", "sent", None, 3) == 1
    assert wait.outcome == "completed"
    assert [(who, str(error)) for who, error in scene.errors] == [
        (wait, "signal 'sent' to 'k': value 'no number' of 'sent' is not a number")
    ]


def test_a_signal_that_is_refused_is_not_remembered(scene: Scene) -> None:
    scene.wait("k", total("sent", at_least=5))
    with pytest.raises(ValueError, match="not a number"):
        scene.hub.signal("k", "sent", None, "no number")
    assert scene.hub.stats().remembered == 0
