"""What is pending when a hub is closed: all of it, however much, and wherever it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import sojourn as sj
from durable.scene import SHIPPED, Scene
from sojourn.durable.state.wait import Wait

COUNT = 60
KEYS = [f"k{i}" for i in range(COUNT)]


@pytest.fixture(params=[None, 0, 5_000], ids=["all in memory", "all in the index", "some in the index"])
def scene(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """With many waits that nobody has looked at since the start: more than are made when a hub is closed."""
    options = {} if request.param is None else {"memory": request.param}
    scene = Scene(segment_bytes=1_000, **options)
    scene.hub.register(SHIPPED)
    for place, key in enumerate(KEYS):
        scene.hub.wait(key, rule="shipped", id=f"w{place}" if place % 3 == 0 else None, payload=place)
        scene.clock.advance(1)
    scene.hub.shift(key_prefix="k1", by=500)
    scene.hub.signal("k7", "paid")
    scene.reopen()
    monkeypatch.setattr("sojourn.durable.owned_folder.BRING_IN_MOST", 10)
    return scene


def in_order(waits: Sequence[Wait]) -> list[int]:
    return [wait.payload for wait in waits]


EXPECTED = sorted(range(COUNT), key=lambda place: (place + 500 * str(place).startswith("1"), place))


def test_all_that_is_pending_is_returned_soonest_first(scene: Scene) -> None:
    held = scene.hub.get("w33")
    left = scene.hub.close()
    assert not isinstance(left, list)
    assert len(left) == COUNT
    assert in_order(left) == in_order(left) == EXPECTED
    assert held in list(left)
    assert not any(wait.done() for wait in left)
    assert next(wait for wait in left if wait.payload == 7).explain().endswith("missing packed")
    with pytest.raises(sj.PurgatoryClosedError):
        left[0].cancel()
    assert "60 waits left" in repr(left)


def test_it_is_a_sequence(scene: Scene) -> None:
    left = scene.hub.close()
    assert in_order([left[0], left[4], left[-1]]) == [EXPECTED[0], EXPECTED[4], EXPECTED[-1]]
    assert in_order(left[50:40:-3]) == EXPECTED[50:40:-3]
    assert left[5:5] == []
    with pytest.raises(IndexError):
        left[COUNT]


def test_what_is_cancelled_when_a_hub_is_closed_has_ended(scene: Scene) -> None:
    held = scene.hub.get("w33")
    left = scene.hub.close(cancel_pending=True)
    assert not isinstance(left, list)
    assert len(left) == len(list(left)) == COUNT
    assert {wait.outcome for wait in left} == {"cancelled"}
    assert held in list(left)
    told = {outcome.number: outcome for outcome in scene.open().outcomes()}
    assert sorted(wait.result(0).number for wait in left) == list(range(1, COUNT + 1))
    assert all(wait.result(0) == told[wait.result(0).number] for wait in left)
    assert scene.hub.pending == 0


def test_it_is_as_it_was_then_though_the_folder_has_been_opened_since(scene: Scene) -> None:
    left = scene.hub.close()
    scene.open().cancel_where(key_prefix="k2")
    scene.clock.advance(100)
    assert in_order(left) == EXPECTED
    assert not any(wait.done() for wait in left)


def test_what_the_folder_has_let_go_of_is_an_error_and_not_left_out(scene: Scene) -> None:
    left = scene.hub.close()
    scene.open(keep=0)
    for _ in range(200):
        scene.hub.wait("other", "paid", 5)
        scene.clock.advance(10)
    with pytest.raises(sj.StorageError, match=r"the 60 waits that were pending .* are not to be read"):
        list(left)
    assert len(left) == COUNT


def test_few_are_a_list(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.durable.owned_folder.BRING_IN_MOST", COUNT)
    left = scene.hub.close()
    assert isinstance(left, list)
    assert in_order(left) == EXPECTED


def test_what_has_ended_and_is_not_told_yet_is_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.durable.engine.TELL_MOST", 1)
    monkeypatch.setattr("sojourn.durable.engine.TELL_MOST_AT_ONCE", 1)
    scene = Scene()
    waits = scene.hub.wait_many(KEYS[:10], "paid", 1_000)
    assert scene.hub.cancel_where(key_prefix="k") == 10
    left = scene.hub.close()
    assert left == [wait for wait in waits if not wait.done()]
    assert len(left) > 5
