"""Incidents: clocks stopped and resumed, shifts undone. Every test ends with a replay under the law (conftest)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import sojourn as sj
from durable.scene import SHIPPED, WALL_MS, Scene
from sojourn.durable import DurableHub
from sojourn.durable.state.incidents import FAR
from sojourn.errors import ConfigError, RuleError
from sojourn.testing import ManualClock


@pytest.fixture
def shop(scene: Scene) -> Scene:
    scene.hub.register(SHIPPED)
    return scene


def endings(scene: Scene) -> dict[str, tuple[str, int]]:
    return {told.operation_id: (told.outcome, told.at) for told in scene.hub.outcomes()}


def shifted(hub: DurableHub) -> None:
    hub.wait("a", rule="shipped")
    hub.shift(rule="shipped", by=1)


def test_a_stopped_clock_lets_nothing_expire_and_gives_all_their_time_back(shop: Scene) -> None:
    start = shop.hub.now_ms()
    shop.hub.wait("a", rule="shipped", id="a")
    shop.clock.advance(400)
    act = shop.hub.stop_clock("shipped", "the courier is down")
    assert (act.act, act.rule, act.waits, act.note) == ("stop", "shipped", 1, "the courier is down")
    shop.clock.advance(50_000)
    assert shop.hub.pending == 1
    shop.hub.resume_clock("shipped")
    shop.clock.advance(600)
    assert shop.hub.pending == 1
    shop.clock.advance(1)
    assert endings(shop) == {"a": ("expired", start + 51_000)}


def test_a_wait_opened_while_the_clock_stands_has_all_its_time_when_it_goes_on(shop: Scene) -> None:
    shop.hub.stop_clock("shipped")
    shop.clock.advance(5_000)
    wait = shop.hub.wait("a", rule="shipped", id="a")
    shop.clock.advance(70_000)
    assert not wait.done()
    shop.hub.resume_clock("shipped")
    assert wait.deadline == shop.hub.now_ms() + 1_000
    shop.check()


def test_a_wait_extended_while_the_clock_stands_has_that_time_when_it_goes_on(shop: Scene) -> None:
    wait = shop.hub.wait("a", rule="shipped", id="a")
    shop.hub.stop_clock("shipped")
    shop.clock.advance(5_000)
    assert shop.hub.extend(wait, 7_000)
    shop.clock.advance(70_000)
    shop.hub.resume_clock("shipped")
    assert wait.deadline == shop.hub.now_ms() + 7_000


def test_signals_count_while_the_clock_stands(shop: Scene) -> None:
    wait = shop.hub.wait("a", rule="shipped", id="a")
    shop.hub.stop_clock("shipped")
    shop.clock.advance(9_000)
    shop.hub.signal("a", "paid")
    shop.hub.signal("a", "packed")
    assert wait.outcome == "completed"


def test_what_was_overdue_when_the_clock_was_stopped_expires_at_its_deadline() -> None:
    scene = Scene(recover_grace=500)
    scene.hub.register(SHIPPED)
    scene.hub.wait("a", rule="shipped", id="a")
    deadline = scene.hub.now_ms() + 1_000
    scene.reopen(down_ms=2_000)
    assert scene.hub.stop_clock("shipped").waits == 0
    scene.clock.advance(500)
    assert endings(scene) == {"a": ("expired", deadline)}


def test_the_last_instant_is_kept_over_a_stop(shop: Scene) -> None:
    wait = shop.hub.wait("a", rule="shipped", id="a")
    shop.clock.advance(1_000)
    assert shop.hub.stop_clock("shipped").waits == 1
    shop.clock.advance(10_000)
    shop.hub.resume_clock("shipped")
    assert wait.deadline == shop.hub.now_ms()
    shop.hub.signal("a", "paid")
    shop.hub.signal("a", "packed")
    assert wait.outcome == "completed"


def test_a_clock_stays_stopped_over_a_restart_and_a_snapshot(shop: Scene) -> None:
    shop.hub.wait("a", rule="shipped", id="a")
    shop.clock.advance(300)
    shop.hub.stop_clock("shipped")
    shop.reopen(down_ms=9_000, segment_bytes=1)
    for i in range(5):
        shop.hub.signal(f"nobody-{i}", "paid")  # each a segment, and a snapshot of what was before
    shop.reopen()
    shop.check()
    wait = shop.hub.wait("b", rule="shipped", id="b")
    shop.clock.advance(9_000)
    shop.hub.resume_clock("shipped")
    assert wait.deadline == shop.hub.now_ms() + 1_000
    assert shop.hub.get("a").deadline == shop.hub.now_ms() + 700  # type: ignore[union-attr]
    assert [act.act for act in shop.hub.incidents()] == ["stop", "resume"]


def test_only_the_rule_that_is_stopped_stands_still(shop: Scene) -> None:
    shop.hub.register(sj.Rule("other", opens="order", until="paid", within=500))
    shop.hub.stop_clock("shipped")
    shop.hub.wait("a", rule="shipped", id="a")
    shop.hub.wait("a", rule="other", id="b")
    shop.clock.advance(60_000)
    assert [told.operation_id for told in shop.hub.outcomes()] == ["b"]


def test_undoing_a_shift_moves_back_those_that_it_had_moved_and_no_others(shop: Scene) -> None:
    first = shop.hub.wait("a", rule="shipped", id="a")
    assert shop.hub.shift(rule="shipped", by="2 h", note="night") == 1
    second = shop.hub.wait("b", rule="shipped", id="b")
    before = first.deadline, second.deadline
    (act,) = shop.hub.incidents()
    undone = shop.hub.undo(act.number)
    assert (undone.act, undone.of, undone.waits, act.note) == ("undo", act.number, 1, "night")
    assert (first.deadline, second.deadline) == (before[0] - 7_200_000, before[1])
    shop.check()
    shop.clock.advance(1_001)
    assert endings(shop) == {"a": ("expired", first.deadline), "b": ("expired", second.deadline)}


def test_what_an_undone_shift_leaves_no_time_expires_then_and_not_before(shop: Scene) -> None:
    shop.hub.wait("a", rule="shipped", id="a")
    shop.hub.shift(rule="shipped", by="2 h")
    shop.clock.advance(60_000)
    shop.hub.signal("a", "paid")
    now = shop.hub.now_ms()
    shop.hub.undo(1)
    shop.clock.advance(1)
    assert endings(shop) == {"a": ("expired", now)}


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda hub: hub.stop_clock("unknown"), "not registered"),
        (lambda hub: hub.resume_clock("shipped"), "not stopped"),
        (lambda hub: hub.undo(7), "no incident 7"),
        (lambda hub: (hub.stop_clock("shipped"), hub.stop_clock("shipped")), "stopped already"),
        (lambda hub: (hub.stop_clock("shipped"), hub.undo(1)), "resume it instead"),
        (lambda hub: (shifted(hub), hub.undo(1), hub.undo(1)), "already"),
        (lambda hub: (shifted(hub), hub.undo(1), hub.undo(2)), "only a shift"),
        (lambda hub: hub.stop_clock("alive"), "kept alive"),
        (lambda hub: hub.stop_clock("shipped", note=7), "text"),
    ],
)
def test_what_makes_no_sense_is_refused(shop: Scene, act: object, what: str) -> None:
    shop.hub.register(sj.Rule("alive", opens="join", until=sj.never(), within=500, keeps_alive="beat"))
    with pytest.raises((ConfigError, RuleError), match=what):
        act(shop.hub)  # type: ignore[operator]


def test_an_incident_that_is_not_there_is_refused_with_those_that_are(shop: Scene) -> None:
    with pytest.raises(ConfigError, match=r"there is no incident 5, or no longer; there are none$"):
        shop.hub.undo(5)
    shifted(shop.hub)
    with pytest.raises(ConfigError, match=r"there is no incident 5, or no longer; known are 1 and later$"):
        shop.hub.undo(5)


@pytest.mark.parametrize("seed", range(15))
def test_whatever_is_done_the_law_agrees_and_no_time_is_lost(seed: int) -> None:
    """Each wait has its own ledger of the time that passed while its clock went; it expires when that is used up."""
    rng = random.Random(seed)
    scene = Scene(segment_bytes=400)
    scene.hub.register(SHIPPED)
    left: dict[str, int] = {}
    stopped = False
    for step in range(120):
        draw = rng.random()
        if draw < 0.3:
            scene.hub.wait(f"k{step}", rule="shipped", id=f"w{step}")
            left[f"w{step}"] = 1_000
        elif draw < 0.45:
            _ = scene.hub.resume_clock("shipped") if stopped else scene.hub.stop_clock("shipped")
            stopped = not stopped
        elif draw < 0.5:
            scene.reopen()
        elif draw < 0.6 and left:
            chosen = rng.choice(list(left))
            assert scene.hub.extend(chosen, 300)
            left[chosen] = 300
        else:
            passed = rng.choice([1, 100, 250, 999])
            scene.clock.advance(passed)
            if not stopped:
                left = {name: ms - passed for name, ms in left.items() if ms >= passed}
        assert {wait.id for wait in scene.hub.list()} == set(left)
    stop = scene.hub._engine.state.stopped.get("shipped")
    clock = scene.hub.now_ms() if stop is None else stop.at + FAR
    assert {wait.id: wait.deadline - clock for wait in scene.hub.list()} == left
    scene.check()


def test_waits_that_are_only_on_the_disk_stand_still_too_and_go_on_in_time(tmp_path: Path) -> None:
    clock = ManualClock(wall_ms=WALL_MS)
    hub = DurableHub("cold", data=tmp_path, clock=clock, memory=0, segment_bytes=4_000)
    with hub:
        hub.register(SHIPPED)
        hub.wait_many([f"before-{i}" for i in range(50)], rule="shipped", ids=[f"before-{i}" for i in range(50)])
        brought_forward(hub)
        clock.advance(400)
        assert hub.stop_clock("shipped").waits == 50
        clock.advance(60_000)
        hub.wait_many([f"while-{i}" for i in range(50)], rule="shipped", ids=[f"while-{i}" for i in range(50)])
        brought_forward(hub)
        clock.advance(60_000)
        assert hub.pending == 100
        assert hub.resume_clock("shipped").waits == 100
        brought_forward(hub)
        clock.advance(600)
        assert hub.pending == 100
        clock.advance(1)
        assert hub.pending == 50
        assert {told.operation_id.split("-")[0] for told in hub.outcomes()} == {"before"}
        assert hub.shift(rule="shipped", by=10_000) == 50
        brought_forward(hub)
        hub.undo(3)
        clock.advance(399)
        assert hub.pending == 50
        clock.advance(1)
        assert hub.pending == 0


def brought_forward(hub: DurableHub) -> None:
    """Have the index know everything, and memory hold as little as it may."""
    for i in range(60):
        hub.signal(f"nobody-{i}", "paid")
