"""`signal` and `signal_many`: who hears of it, what is returned, and what is an error for the one who signals."""

from __future__ import annotations

import re
from math import inf, nan
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import Event, RuleError, all_of, any_of, reached, seen, total


def test_a_signal_that_nobody_waits_for_returns_0(scene: Scene) -> None:
    assert scene.signal("unknown key", "paid") == 0
    scene.wait("k")
    scene.wait("k", all_of("a", "b"))
    assert scene.signal("unknown key", "paid") == scene.signal("k", "unknown kind") == 0
    assert scene.told == []


def test_a_signal_that_completes_nobody_yet_returns_0(scene: Scene) -> None:
    scene.wait("k", all_of("a", "b"))
    assert (scene.signal("k", "a"), scene.signal("k", "b"), scene.signal("k", "b")) == (0, 1, 0)


def test_signal_many_signals_each_and_adds_up_whom_that_completed(scene: Scene) -> None:
    scene.wait("k", id="1")
    scene.wait("l", seen("ack", 2, "source"), id="2")
    scene.wait("m", total("sent", at_least=5), id="3")
    signals = [
        ("k", "paid"),
        ("l", "ack", "x"),
        ("l", "ack", "x"),
        ("l", "ack", "y"),
        ("m", "sent", None, 5),
        ("n", "o"),
    ]
    assert scene.hub.signal_many(signals) == 3
    scene.check()
    assert [id for id, _, _ in scene.told] == ["1", "2", "3"]


def test_signal_many_takes_any_iterable_and_none_is_none(scene: Scene) -> None:
    scene.wait("k")
    assert scene.hub.signal_many(iter([])) == 0
    assert scene.hub.signal_many(("k", kind) for kind in ("a", "paid")) == 1


def test_signal_many_takes_events_which_are_stamped_now_as_any_signal(scene: Scene) -> None:
    wait = scene.wait("k", all_of(total("sent", at_least=5), seen("sent", 2, "source")))
    scene.advance(7)
    assert scene.hub.signal_many([Event("k", "sent", 3, "x", 2), Event("k", "sent", 1, "y", 3)]) == 1
    assert wait.at == 7


def test_further_columns_of_events_count(scene: Scene) -> None:
    scene.wait("k", total("sent", of="bytes", at_least=5))
    events = [Event("k", "sent", 0, columns={"bytes": size}) for size in (3, 2)]
    assert scene.hub.signal_many(events) == 1


@pytest.mark.parametrize("signal", ["ab", 5, ("k",), ("k", "paid", "x", 1, 2), None], ids=repr)
def test_what_is_no_signal_is_refused_by_name(scene: Scene, signal: Any) -> None:
    wait = scene.wait("a", "b")
    form = re.escape(f"signal={signal!r} is neither an Event nor (key, kind[, source[, value]])")
    with pytest.raises(TypeError, match=form):
        scene.hub.signal_many([signal])
    assert not wait.done()


BAD_VALUES = {
    "none": (total("a", at_least=5), None, "no value on 'a'"),
    "text": (total("a", at_least=5), "5", "value '5' of 'a' is not a number"),
    "negative": (total("a", at_least=5), -1, "cannot be added up"),
    "infinite": (total("a", at_least=5), inf, "cannot be added up"),
    "not a number": (total("a", at_least=5), nan, "is not a number"),
    "a truth": (reached("a", 1), True, "is not a number"),
    "no level": (reached("a", 1), None, "no value on 'a'"),
    "inside a group": (any_of("b", all_of("c", total("a", at_least=5))), "5", "is not a number"),
}


@pytest.mark.parametrize("remember", [None, "1 s"], ids=["forgetful", "remembering"])
@pytest.mark.parametrize(("until", "value", "reason"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_value_that_makes_no_sense_is_an_error_for_the_one_who_signals(
    make_scene: Any, until: Any, value: Any, reason: str, remember: str | None
) -> None:
    scene = make_scene(remember=remember)
    innocent, wait = scene.wait("k", "a"), scene.wait("k", until)
    with pytest.raises(RuleError, match=reason) as failure:
        scene.hub.signal("k", "a", "x", value)
    assert "signal 'a' to 'k'" in str(failure.value)
    scene.check()
    assert (innocent.done(), wait.done(), scene.errors) == (False, False, []), "nobody has heard of it"
    assert scene.signal("k", "a", "x", 5) >= 1
    assert innocent.done()


def test_a_value_that_nobody_reads_may_be_anything(scene: Scene) -> None:
    scene.wait("k", all_of("a", total("b", at_least=1)))
    assert scene.signal("k", "a", value="anything") == 0
    assert scene.signal("k", "b", value=1) == 1


@pytest.mark.parametrize("source", [["x"], ("x",), 1.5], ids=repr)
def test_a_source_that_is_neither_text_nor_a_whole_number_is_an_error_for_the_one_who_signals(
    scene: Scene, source: Any
) -> None:
    scene.wait("k", seen("a", 3, "source"))
    scene.signal("k", "a", 7)
    with pytest.raises(RuleError, match="source"):
        scene.hub.signal("k", "a", source)
    assert scene.errors == []


def test_an_unhashable_key_is_an_error_for_the_one_who_signals(scene: Scene) -> None:
    with pytest.raises(TypeError):
        scene.hub.signal({}, "a")


def test_a_signal_from_inside_a_callback_reaches_waits_on_the_same_key(scene: Scene) -> None:
    scene.wait("k", "a", callback=lambda wait: scene.hub.signal("k", "b"))
    other = scene.wait("k", all_of("a", "b"))
    third = scene.wait("k", seen("b", 2))
    scene.signal("k", "a")
    assert (other.outcome, third.outcome) == ("completed", None)
    scene.signal("k", "b")
    assert third.outcome == "completed"
