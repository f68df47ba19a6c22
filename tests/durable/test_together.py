"""What many callers ask for at the same time: one record where it is alike, and an answer for each."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import sojourn as sj
from durable.scene import Scene
from sojourn.durable import _core, _gate
from sojourn.durable.commit import Request
from sojourn.durable.folder.inspection import inspect

GUARD_S = 10
GATES = pytest.mark.parametrize("build", [_gate, _core], ids=["pure", "compiled"])


def asked(scene: Scene, *waits: dict[str, Any], between: Callable[[], object] = lambda: None) -> list[Any]:
    """Have several callers open waits in one group: the ids of those opened, or the types of their errors."""
    requests = []
    for given in waits:
        arguments = {"key": "k", "until": "paid", "within": 100, "rule": None, "id": None, "payload": None, **given}
        requests.append(Request(scene.hub._verbs.wait(*arguments.values()), lambda requests: None))
        scene.hub._engine.committer.enqueue(requests[-1])
        between()
    scene.hub._engine.committer.lead()
    scene.check()
    return [type(request.error) if request.error else request.result[0].id for request in requests]


def records(scene: Scene) -> int:
    return inspect(scene.files).records.get("wait", 0)


def test_waits_that_are_alike_become_one_record() -> None:
    scene = Scene()
    assert asked(scene, {"key": "a"}, {"key": ["b", "c"], "payload": 7}, {"id": "x"}) == ["#1", "#2", "x"]
    assert records(scene) == 1
    assert [(wait.keys, wait.payload) for wait in scene.hub.list()] == [(("a",), None), (("b", "c"), 7), (("k",), None)]
    assert scene.hub.signal("c", "paid") == 1
    scene.clock.advance(200)
    assert [(told.number, told.operation_id) for told in scene.hub.outcomes()] == [(1, "#2"), (2, "#1"), (3, "x")]


@pytest.mark.parametrize(
    "other",
    [{"until": "packed"}, {"within": 101}, {"within": "100 ms"}, {"until": sj.seen("paid")}, {"until": None}],
)
def test_waits_that_differ_do_not(other: dict[str, Any]) -> None:
    scene = Scene()
    asked(scene, {}, other, {})
    assert records(scene) == 3


def test_waits_of_different_times_keep_their_times() -> None:
    scene = Scene()
    asked(scene, {}, {}, between=lambda: scene.clock.advance(1))
    first, second = scene.hub.list()
    assert (second.opened_at - first.opened_at, records(scene)) == (1, 2)


def test_what_is_between_two_waits_stays_between_them() -> None:
    scene = Scene()
    signalled = Request(scene.hub._verbs.signal_many([("k", "paid")], None, None), lambda requests: None)
    left = [signalled]
    asked(scene, {}, {}, between=lambda: left and scene.hub._engine.committer.enqueue(left.pop()))
    assert signalled.answer() == 1
    assert [wait.id for wait in scene.hub.list()] == ["#2"]


def test_one_that_is_refused_takes_nobody_along() -> None:
    scene = Scene(max_pending=4)
    scene.hub.wait("k", "paid", 100, id="taken")
    assert asked(
        scene, {"id": "a"}, {"key": "\ud800"}, {"id": "taken", "key": "other"}, {"id": "b"}, {"id": "a"}, {}, {}
    ) == ["a", sj.NotStorableError, sj.IdTakenError, "b", "a", "#4", sj.HubFullError]
    assert scene.hub.pending == 4


def test_if_they_fail_once_they_are_open_nothing_of_their_group_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(scene.hub._engine.state.waits, "make_all", fail, raising=False)
    assert asked(scene, {}, {}) == [MemoryError, MemoryError]
    assert (scene.hub.pending, records(scene)) == (0, 0)


@GATES
def test_whoever_waits_at_a_gate_goes_on_when_it_is_opened_before_or_after(build: Any) -> None:
    gates = [build.Gate() for _ in range(5)]
    threads = [threading.Thread(target=gate.wait, daemon=True) for gate in gates]
    for thread in threads[:3]:
        thread.start()
    build.open_all(gates)
    for thread in threads[3:]:
        thread.start()
    for thread in threads:
        thread.join(GUARD_S)
        assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such signal here")
@GATES
def test_an_interrupt_ends_waiting_at_a_gate(build: Any) -> None:
    def interrupt(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)  # again and again: one may come before anybody waits
        build.Gate().wait()

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        signal.signal(signal.SIGALRM, before)
