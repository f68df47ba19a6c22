"""A wait ends when its condition is met, by signals on any of its keys, and tells so once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from hub.scene import Scene
from sojourn import Rule, RuleError, all_of, any_of, column, n_of, never, reached, seen, total, until_column
from support import Build


class Case(NamedTuple):
    """Signals that do not complete a wait yet, and the one that does: kind, source, value."""

    until: Any
    before: list[tuple[Any, ...]]
    last: tuple[Any, ...]
    decided_by: str


CASES = {
    "the name of a kind": Case("a", [("b",)], ("a",), "a"),
    "seen": Case(seen("a"), [("b",)], ("a",), "a"),
    "seen thrice": Case(seen("a", 3), [("a",), ("b",), ("a",)], ("a",), "a"),
    "seen from two sources": Case(seen("a", 2, "source"), [("a", "x"), ("a", "x")], ("a", None), "a"),
    "total": Case(total("a", at_least=10), [("a", None, 4), ("a", None, 0), ("a", "x", 5.5)], ("a", None, 0.5), "a"),
    "total of decimals": Case(
        total("a", at_least=417.05),
        [("a", None, Decimal("82.72")), ("a", None, 334)],
        ("a", None, Decimal("0.33")),
        "a",
    ),
    "reached by a decimal": Case(
        reached("a", 417.05), [("a", "x", Decimal("417.0499999999999999"))], ("a", "z", Decimal("417.05")), "a"
    ),
    "reached": Case(reached("a", 10), [("a", "x", 9), ("a", "y", 9.5)], ("a", "z", 10), "a"),
    "reached by two": Case(
        reached("a", 10, by=2), [("a", "x", 12), ("a", "x", 11), ("a", "y", 9)], ("a", "y", 10), "a"
    ),
    "all of": Case(all_of("a", "b"), [("b",), ("b",)], ("a",), "a"),
    "any of": Case(any_of("a", seen("b", 2)), [("b",), ("c",)], ("b",), "b"),
    "n of": Case(n_of(2, "a", "b", "c"), [("c",), ("c",)], ("a",), "a"),
    "nested": Case(all_of(any_of("a", "b"), total("c", at_least=2)), [("b",), ("c", None, 1)], ("c", None, 1), "c"),
}

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
def test_a_wait_is_pending_until_its_condition_is_met_and_completes_there_and_then(scene: Scene, case: Case) -> None:
    wait = scene.wait("k", case.until, id="x")
    for signal in case.before:
        scene.advance(1)
        assert scene.signal("k", *signal) == 0
        assert (wait.done(), wait.outcome, wait.at, scene.told) == (False, None, None, [])
    scene.advance(1)
    assert scene.signal("k", *case.last) == 1
    at = len(case.before) + 1
    assert (wait.done(), wait.outcome, wait.at, scene.told) == (True, "completed", at, [("x", "completed", at)])
    outcome = wait.result(0)
    assert (outcome.outcome, outcome.at, outcome.waited_ms, outcome.met_at) == ("completed", at, at, at)
    assert (outcome.decided_by, outcome.missing, outcome.deadline) == (case.decided_by, None, 100)
    assert (outcome.operation_id, outcome.rule, outcome.key) == ("x", "wait", "k")


@each_case
def test_a_wait_that_never_gets_its_last_signal_expires_once(scene: Scene, case: Case) -> None:
    wait = scene.wait("k", case.until, id="x")
    for signal in case.before:
        scene.signal("k", *signal)
    assert scene.advance(100) == 0
    assert scene.advance(1) == 1
    assert (wait.outcome, wait.at, scene.told) == ("expired", 100, [("x", "expired", 100)])
    outcome = wait.result(0)
    assert (outcome.at, outcome.waited_ms, outcome.met_at, outcome.decided_by) == (100, 100, None, "deadline")
    assert outcome.missing
    assert scene.signal("k", *case.last) == 0
    assert wait.result(0) == outcome


@each_case
def test_signals_to_any_of_its_keys_count_and_to_no_other(scene: Scene, case: Case) -> None:
    wait = scene.wait(["k", "l"], case.until)
    for i, signal in enumerate(case.before):
        scene.signal("kl"[i % 2], *signal)
    assert scene.signal("m", *case.last) == 0
    assert not wait.done()
    assert scene.signal("l", *case.last) == 1
    assert wait.outcome == "completed"
    assert wait.key == "k"


@each_case
def test_one_signal_completes_every_wait_that_it_is_the_last_for(scene: Scene, case: Case) -> None:
    waits = [scene.wait("k", case.until, id=str(i)) for i in range(3)]
    for signal in case.before:
        assert scene.signal("k", *signal) == 0
    other = scene.wait("k", never(), id="other")
    assert scene.signal("k", *case.last) == 3
    assert [wait.outcome for wait in waits] == ["completed"] * 3
    assert scene.told == [(str(i), "completed", 0) for i in range(3)]
    assert not other.done()


@pytest.mark.parametrize("untils", [("a", "a"), ("a", "b"), ("a", all_of("a", "b")), (all_of("a", "b"), "a")], ids=str)
def test_waits_of_different_kinds_share_a_key(scene: Scene, untils: tuple[Any, Any]) -> None:
    waits = [scene.wait("k", until) for until in untils]
    done = [until == "a" for until in untils]
    assert scene.signal("k", "a") == sum(done)
    assert [wait.done() for wait in waits] == done


def test_only_the_deadline_ends_a_wait_for_nothing(scene: Scene) -> None:
    wait = scene.wait("k", never(), 5)
    assert scene.signal("k", "a") == 0
    scene.advance(6)
    assert (wait.outcome, wait.at, wait.result(0).missing) == ("expired", 5, None)


def test_a_wait_within_no_time_takes_signals_of_its_own_instant(scene: Scene) -> None:
    one, other = scene.wait("k", "a", 0), scene.wait("l", "a", 0)
    scene.advance(0.9)
    assert scene.signal("k", "a") == 1
    scene.advance(0.1)
    assert (one.outcome, other.outcome, other.at) == ("completed", "expired", 0)


@pytest.mark.parametrize("key", ["k", 7, b"k", ("k", 7), 2.5, None, frozenset("kl"), ("k", ("l",))], ids=repr)
def test_anything_hashable_is_a_key(scene: Scene, key: Any) -> None:
    wait = scene.wait(key)
    assert wait.key == key
    assert scene.signal(key, "paid") == 1
    assert wait.outcome == "completed"


def test_a_key_named_twice_is_one_key(scene: Scene) -> None:
    wait = scene.wait(["k", "l", "k"], seen("a", 2))
    assert scene.watched() == 2
    scene.signal("k", "a")
    assert not wait.done()


def test_a_wait_leaves_all_its_keys_when_it_ends(scene: Scene) -> None:
    scene.wait(["k", "l", "m"])
    scene.signal("l", "paid")
    assert (scene.watched(), scene.signal("k", "paid"), scene.signal("m", "paid")) == (0, 0, 0)


def test_times_are_of_the_epoch_but_run_on_the_monotonic_clock(build: Build) -> None:
    scene = Scene(build, start_ms=50, wall_ms=1_000_000)
    wait = scene.wait("k", "a", 10)
    assert (wait.opened_at, wait.deadline, scene.hub.now_ms()) == (1_000_000, 1_000_010, 1_000_000)
    scene.clock.step_wall(-500_000)
    scene.advance(10)
    assert not wait.done()
    scene.advance(1)
    assert wait.at == 1_000_010


@pytest.mark.parametrize("within", [column("allowed"), until_column("due")], ids=str)
def test_a_rule_whose_deadline_stands_on_an_opening_event_is_refused(scene: Scene, within: Any) -> None:
    with pytest.raises(RuleError, match="a wait has no opening event"):
        scene.hub.wait("k", rule=Rule("r", "open", "a", within))
    scene.check()


@pytest.mark.parametrize("beside", [{"until": "b"}, {"within": "1 s"}, {"until": "b", "within": "1 s"}], ids=str)
def test_a_rule_with_a_condition_or_a_duration_beside_it_is_refused(scene: Scene, beside: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="beside rule 'fines', which says both itself: leave them out"):
        scene.hub.wait("k", rule=Rule("fines", "fine", "paid", "30 s"), **beside)
    scene.check()


def test_what_is_no_rule_is_refused(scene: Scene) -> None:
    with pytest.raises(TypeError, match="rule='fines' is not a Rule; give one, or until and within instead"):
        scene.hub.wait("k", rule="fines")


BAD_WAITS = {
    "no duration": (RuleError, ("k", "a")),
    "a negative duration": (RuleError, ("k", "a", -1)),
    "a broken number of milliseconds": (RuleError, ("k", "a", 1.5)),
    "no condition": (RuleError, ("k", 7, "1 s")),
    "no key": (ValueError, ([], "a", "1 s")),
    "an unhashable key": (TypeError, ({}, "a", "1 s")),
    "an unhashable key among several": (TypeError, (["k", {}], "a", "1 s")),
    "a duration beyond the clock": (ValueError, ("k", "a", 2**62 - 1)),
    "several keys and a duration beyond the clock": (ValueError, (["k", "l"], all_of("a", "b"), 2**62 - 1)),
}


@pytest.mark.parametrize(("error", "arguments"), BAD_WAITS.values(), ids=BAD_WAITS)
def test_a_wait_that_makes_no_sense_is_refused_and_leaves_no_trace(
    scene: Scene, error: type[Exception], arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(error):
        scene.hub.wait(*arguments, callback=scene.note)
    scene.check()
    assert (scene.counts(), scene.watched(), scene.told) == ((0, 0, 0, 0), 0, [])
    scene.wait("k", "a")
    assert scene.signal("k", "a") == 1
