"""A signal tries whoever watches the key, in the order they came, and says how many it completed."""

from __future__ import annotations

from typing import Any

from purgatory.scene import Scene, owed_tries


def named(operations: list[Any]) -> list[str]:
    return [operation.name for operation in operations]


def test_a_key_that_nobody_watches_completes_nobody(scene: Scene) -> None:
    scene.watched("x", "k")
    assert (scene.signal("l"), scene.purgatory.cancel_for_key("l")) == (0, [])
    assert scene.counts() == (1, 1)


def test_every_watcher_of_the_key_is_tried_once_in_the_order_they_came(scene: Scene) -> None:
    tried: list[str] = []
    operations = [scene.watched(name, try_complete=lambda operation: tried.append(operation.name)) for name in "abcde"]
    tried.clear()
    assert scene.signal() == 0
    assert tried == list("abcde")
    assert {operation.tries for operation in operations} == {3}


def test_the_order_holds_after_others_have_left(scene: Scene) -> None:
    operations = {name: scene.watched(name) for name in "abcd"}
    operations["a"].cancel()
    operations["c"].cancel()
    operations |= {name: scene.watched(name) for name in "ef"}
    scene.told.clear()
    for operation in operations.values():
        operation.ready = True
    assert scene.signal() == 4
    assert scene.told == [f"{name} complete" for name in "bdef"]


def test_it_counts_those_that_this_call_completed(scene: Scene) -> None:
    ready = [scene.watched(name) for name in "abc"]
    waiting = scene.watched("w")
    for operation in ready:
        operation.ready = True
    assert (scene.signal(), scene.signal()) == (3, 0)
    assert (scene.counts(), waiting.tries) == ((1, 1), 4)


def test_only_watchers_of_the_key_are_tried(scene: Scene) -> None:
    here, there, both = scene.watched("h", "k"), scene.watched("t", "l"), scene.watched("b", "k", "l")
    scene.signal("k")
    assert [operation.tries for operation in (here, there, both)] == [3, 2, 3]


def test_an_operation_that_completes_leaves_all_its_keys_at_once(scene: Scene) -> None:
    operation = scene.watched("x", *"abc")
    assert scene.counts() == (3, 1)
    assert scene.complete(operation, "b") == 1
    assert scene.counts() == (0, 0)
    assert [scene.purgatory._watching(key) for key in "abc"] == [()] * 3


def test_others_stay_on_the_keys_that_one_leaves(scene: Scene) -> None:
    leaving, staying, alone = scene.watched("x", "k", "l"), scene.watched("y", "k", "l"), scene.watched("z", "l")
    scene.complete(leaving, "l")
    assert scene.counts() == (3, 2)
    assert scene.purgatory._watching("k") == (staying,)
    assert scene.purgatory._watching("l") == (staying, alone)


def test_cancel_for_key_ends_every_watcher_of_the_key_and_returns_them_in_order(scene: Scene) -> None:
    for name in "abc":
        scene.watched(name, "k", name)
    other = scene.watched("o", "l")
    assert named(scene.purgatory.cancel_for_key("k")) == ["a", "b", "c"]
    scene.check()
    assert scene.told == ["a cancellation", "b cancellation", "c cancellation"]
    assert (other.outcome, scene.counts(), scene.purgatory.cancel_for_key("k")) == (None, (1, 1), [])


def test_cancel_for_key_returns_only_those_that_it_ended_itself(scene: Scene) -> None:
    second: Any = None
    scene.watched("a", on_cancellation=lambda operation: second.force_complete())
    second = scene.watched("b")
    scene.watched("c")
    assert named(scene.purgatory.cancel_for_key("k")) == ["a", "c"]
    assert second.outcome == "completed"


def test_a_sweep_passes_over_those_that_were_ended_on_its_way(scene: Scene) -> None:
    second: Any = None
    first = scene.watched("a", on_complete=lambda operation: second.cancel())
    second = scene.watched("b")
    second.ready = True
    assert scene.complete(first) == 1
    assert (second.outcome, second.tries) == ("cancelled", 2)


def test_what_is_watched_during_a_sweep_waits_for_the_next_signal(scene: Scene) -> None:
    late = scene.operation("late")
    first = scene.watched(on_complete=lambda operation: scene.purgatory.try_complete_else_watch(late, ["k"]))
    assert scene.complete(first) == 1
    assert (late.tries, scene.counts()) == (2, (1, 1))


# One thing leads to another


def test_completions_may_set_off_others_on_other_keys(scene: Scene) -> None:
    """A chain: each one, completed, meets the condition of the next."""
    inner: list[int] = []
    chain = [scene.watched(str(i), i) for i in range(50)]
    for i, operation in enumerate(chain[:-1]):
        operation.says["on_complete"] = lambda _, i=i: inner.append(scene.complete(chain[i + 1], i + 1))
    assert scene.complete(chain[0], 0) == 1, "the others were completed by other calls"
    assert inner == [1] * 49
    assert scene.told == [f"{i} complete" for i in range(50)]


def test_on_complete_may_signal_its_own_key(scene: Scene) -> None:
    inner: list[int] = []
    first = scene.watched("a", on_complete=lambda operation: inner.append(scene.signal()))
    second = scene.watched("b")
    second.ready = True
    assert scene.complete(first) == 1
    assert (inner, scene.told) == ([1], ["a complete", "b complete"])


def test_every_callback_may_signal_watch_and_cancel(scene: Scene) -> None:
    def act(operation: Any) -> None:
        scene.signal("k")
        scene.watched("new", "n")
        scene.purgatory.cancel_for_key("n")

    for end in ("force_complete", "cancel"):
        getattr(scene.watched("x", on_complete=act, on_cancellation=act), end)()
    scene.watched("x", on_complete=act, on_expiration=act)
    scene.advance(100)
    assert scene.told.count("new cancellation") == 4
    assert scene.counts() == (0, 0)


def test_try_complete_may_signal_other_keys(scene: Scene) -> None:
    helped = scene.watched("helped", "l")

    def helpful(operation: Any) -> bool:
        helped.ready = operation.tries > 2
        return scene.purgatory.check_and_complete("l") == 1

    scene.watched("helpful", "k", try_complete=helpful)
    assert scene.signal() == 1
    assert scene.told == ["helped complete", "helpful complete"]


def test_a_signal_of_its_own_key_from_inside_try_complete_leads_to_another_try(scene: Scene) -> None:
    """It may have come after the condition was looked at."""

    def look_too_early(operation: Any) -> bool:
        held = operation.ready
        if operation.tries == 3:
            operation.ready = True
            assert scene.purgatory.check_and_complete("k") == 0
        return held

    operation = scene.watched(try_complete=look_too_early)
    assert scene.signal() == 1
    assert (operation.tries, operation.outcome, scene.told) == (4, "completed", ["x complete"])


def test_a_signal_that_was_left_as_word_does_not_lead_to_yet_another_try(scene: Scene) -> None:
    operation = scene.watched(
        try_complete=lambda operation: operation.tries == 3 and scene.purgatory.check_and_complete("k")
    )
    scene.signal()
    assert operation.tries == 4
    scene.signal()
    assert operation.tries == 5


def test_two_operations_that_signal_each_other_come_to_rest(scene: Scene) -> None:
    def poke(key: str, limit: int) -> Any:
        return lambda operation: operation.tries < limit and scene.purgatory.check_and_complete(key) > 5

    first, second = (
        scene.watched("a", "k", try_complete=poke("l", 20)),
        scene.watched("b", "l", try_complete=poke("k", 20)),
    )
    scene.signal("k")
    scene.advance(0)
    assert (first.outcome, second.outcome, owed_tries(scene.timer)) == (None, None, [])
    first.says["try_complete"] = second.says["try_complete"] = lambda operation: True
    assert scene.signal("k") + scene.signal("l") == 2


def test_an_operation_may_be_ended_by_what_its_own_try_sets_off(scene: Scene) -> None:
    def set_off(operation: Any) -> bool:
        if operation.tries > 2:
            scene.purgatory.cancel_for_key("k")
        return operation.tries > 2

    operation = scene.watched(try_complete=set_off)
    assert scene.signal() == 0
    assert (operation.outcome, scene.told) == ("cancelled", ["x cancellation"])
