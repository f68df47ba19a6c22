"""Answers that get lost: what has an id is said again and counts once; what has none is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import sojourn as sj
from service.client.flaky import Flaky
from service.client.scene import RemoteScene
from sojourn.service.client import RemoteHub

GUARD_S = 30


@pytest.fixture
def hub(flaky: Flaky) -> Iterator[RemoteHub]:
    with sj.connect(flaky.url) as hub:
        yield hub


def posts(flaky: Flaky, path: str) -> int:
    return sum(line.startswith(f"POST {path} ") for line in flaky.seen)


def test_a_wait_whose_answer_was_lost_is_one_wait(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    flaky.plan = ["after", "before", "pass"]
    wait = hub.wait("k", "paid", 100)
    assert [one.id for one in scene.hub.list()] == [wait.id]
    assert posts(flaky, "/v1/waits") == 3


def test_a_signal_whose_answer_was_lost_counts_once(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    wait = scene.wait("k", sj.seen("ack", times=2))
    flaky.plan = ["after", "after", "pass"]
    assert hub.signal("k", "ack") == 0
    assert not wait.done()
    assert scene.signal("k", "ack") == 1


def test_many_at_once_whose_answer_was_lost_are_each_one(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    flaky.plan = ["after"]
    waits = hub.wait_many(["a", "b", "c"], "paid", 100)
    assert scene.hub.pending == 3
    flaky.plan = ["after"]
    assert hub.signal_many([("a", "paid"), ("b", "other")]) == 0  # it was carried out: the first answer said 1
    assert [wait.done() for wait in waits] == [True, False, False]


def test_many_at_once_said_again_after_a_restart_are_the_same(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    flaky.plan = ["after", "before", "busy", "after", "pass"]
    hub._transport._pause = lambda seconds: scene.restart()
    waits = hub.wait_many(["a", "b"], "paid", 100, payloads=[1, 2])
    assert posts(flaky, "/v1/batch?atomic=true") == 5
    assert [wait.id for wait in scene.hub.list()] == [wait.id for wait in waits]


def test_a_busy_service_is_asked_again(flaky: Flaky, hub: RemoteHub) -> None:
    flaky.plan = ["busy", "busy"]
    assert hub.signal("k", "paid") == 0
    assert posts(flaky, "/v1/signals") == 3


@pytest.mark.parametrize("is_shift", [True, False])
def test_what_has_no_id_is_not_said_twice_once_it_may_have_arrived(
    scene: RemoteScene, flaky: Flaky, hub: RemoteHub, is_shift: bool
) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    flaky.plan = ["after"]
    with pytest.raises(sj.UnreachableError, match="may have been carried out"):
        hub.shift(key_prefix="k", by=50) if is_shift else hub.cancel_where(key_prefix="k")
    assert sum("waits:" in line for line in flaky.seen) == 1
    asked = scene.hub.get(wait.id)
    assert asked is not None
    assert (asked.deadline, asked.done()) == ((150, False) if is_shift else (100, True))


def test_what_only_counts_may_be_said_twice(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    scene.hub.wait("k", "paid", 100)
    flaky.plan = ["after"]
    assert hub.shift(key_prefix="k", by=50, dry_run=True) == 1


def test_a_cancellation_whose_answer_was_lost_does_not_say_whose_it_was(
    scene: RemoteScene, flaky: Flaky, hub: RemoteHub
) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    flaky.plan = ["after"]
    with pytest.raises(sj.UnreachableError, match="whether by this call nobody knows"):
        hub.cancel(wait.id)
    assert wait.outcome == "cancelled"


def test_a_cancellation_that_never_arrived_is_said_again(scene: RemoteScene, flaky: Flaky, hub: RemoteHub) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    hub.stats()  # so that there is a connection, which is then cut
    flaky.plan = ["before"]
    assert hub.cancel(wait.id) is True


def test_a_service_that_stays_away_is_given_up_and_the_error_says_what_is_known(scene: RemoteScene) -> None:
    url = scene.local.url
    scene.local.stop()
    try:
        with sj.connect(url, retry=0) as hub, pytest.raises(sj.UnreachableError, match="it was not carried out"):
            hub.signal("k", "paid")
    finally:
        scene.local.start()


def test_pauses_grow_and_end_with_the_time_that_was_given(scene: RemoteScene) -> None:
    now_s, pauses = [0.0], []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        now_s[0] += seconds

    scene.local.stop()
    with sj.connect(scene.local.url, retry="10s") as hub:
        hub._transport._now_s, hub._transport._pause = lambda: now_s[0], pause
        with pytest.raises(ConnectionError, match=r"asked \d+ times"):
            hub.signal("k", "paid")
    scene.local.start()
    assert len(pauses) > 5
    assert 7 < sum(pauses) <= 10
    assert pauses[0] <= 0.05
    assert max(pauses) <= 2


def test_outcomes_go_on_where_they_were_when_the_stream_is_cut(
    scene: RemoteScene, flaky: Flaky, hub: RemoteHub
) -> None:
    told: list[str] = []
    ended = threading.Semaphore(0)

    def note(wait: Any) -> None:
        told.append(wait.key)
        ended.release()

    for key in "abc":
        hub.wait(key, "paid", 100, callback=note)
    for key in "abc":
        flaky.cut()
        scene.signal(key, "paid")
        assert ended.acquire(timeout=GUARD_S)
    assert told == ["a", "b", "c"]


def test_a_restart_of_the_service_goes_unnoticed(scene: RemoteScene) -> None:
    wait = scene.wait("k", "paid", 100, id="w")
    scene.local.stop()
    scene.local.start()
    assert scene.signal("k", "paid") == 1
    assert wait.result(GUARD_S).outcome == "completed"
    assert scene.told == [("w", "completed", 0)]


def test_outcomes_that_left_the_log_before_the_stream_was_back_are_asked_for(scene: RemoteScene) -> None:
    waits = [scene.wait(key, "paid", 100, id=key) for key in "ab"]
    scene.hub._verbs.events._skip_to(7)
    assert [wait._is_live for wait in waits] == [True, True]  # asked for again, and followed
    assert scene.signal("a", "paid") == 1
    scene.hub._verbs.events.cursor = 0
    assert scene.hub.get("a").outcome == "completed"  # type: ignore[union-attr]


def test_a_full_hub_is_said_at_once(tmp_path: Any) -> None:
    scene = RemoteScene(tmp_path, max_pending=1)
    try:
        scene.wait("a")
        scene.hub._transport._pause = lambda seconds: pytest.fail("it would be asked again")
        with pytest.raises(sj.HubFullError, match="max_pending allows 1"):
            scene.wait("b")
    finally:
        scene.close()
