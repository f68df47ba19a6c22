"""Each outcome reaches each webhook that wants it: at least once, in order, over failures and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from service.webhooks.scene import DOWN, OK, URL, Receiver, Scene, scene_in
from sojourn.durable.folder.backup import backup
from sojourn.service.webhooks import courier, webhooks
from sojourn.service.webhooks.sender import Answer
from sojourn.service.webhooks.store import Store, copy_store

DAY_MS = 86_400_000
SHIPPED = sj.Rule("shipped", opens="order", until="packed", within="1 h")


def play(folder: Path, act: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), scene_in(folder, **options) as scene:
            await act(scene)

    asyncio.run(main())


def test_outcomes_arrive_in_the_order_of_their_numbers_each_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL)
        await scene.end(*map(str, range(250)))
        assert scene.receiver().numbers == list(range(1, 251))

    play(tmp_path, act)


def test_a_webhook_begins_with_what_comes_after_it_or_with_the_number_it_names(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.end("a", "b", "c")
        await scene.webhooks.add(URL)
        await scene.webhooks.add("https://example.org/all", after=1)
        await scene.end("d")
        assert scene.receiver().numbers == [4]
        assert scene.receiver("https://example.org/all").numbers == [2, 3, 4]

    play(tmp_path, act)


def test_only_what_is_wanted_is_sent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL, rule="shipped", outcomes=["expired"])
        await scene.end("a")
        await scene.end("b", rule=SHIPPED, kind="packed")
        scene.hub.wait("c", rule=SHIPPED)
        await scene.advance(2 * 3_600_000)
        assert [body["data"]["key"] for _, _, body in scene.receiver().got] == ["c"]
        assert (await scene.webhooks.standing(scene.webhooks.list()[0].id))["after"] == 3

    play(tmp_path, act)


def test_a_rule_alone_and_an_ending_alone_choose_too(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL, rule="shipped")
        await scene.webhooks.add("https://example.org/expired", outcomes=["expired"])
        await scene.end("a")
        await scene.end("b", rule=SHIPPED, kind="packed")
        scene.hub.wait("c", "paid", 10)
        await scene.advance(1_000)
        assert scene.receiver().numbers == [2]
        assert scene.receiver("https://example.org/expired").numbers == [3]

    play(tmp_path, act)


def test_what_was_delivered_is_not_sent_again_after_a_restart_and_what_came_meanwhile_is(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL)
        await scene.end("a", "b")
        await scene.webhooks.stop()
        scene.hub.wait("c", "paid", 10)
        scene.hub.close()
        scene.clock.advance(1_000)
        await scene.open()
        await scene.turn()
        assert scene.receiver().numbers == [1, 2, 3]

    play(tmp_path, act)


def test_a_failed_delivery_steps_aside_and_is_tried_again_on_a_plan_that_survives_a_restart(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().answers = [Answer(500), OK]
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a", "b")
        assert scene.receiver().numbers == [1, 2]
        (waiting,) = await scene.webhooks.deliveries(hook.id, "waiting")
        assert (waiting.number, waiting.attempts, waiting.last_error) == (1, 1, "answered 500")
        await scene.reopen()
        await scene.turn()
        assert scene.receiver().numbers == [1, 2]
        await scene.advance(10_000)
        assert scene.receiver().numbers == [1, 2, 1]
        assert await scene.webhooks.deliveries(hook.id, "waiting") == []

    play(tmp_path, act)


def test_the_id_of_a_message_stays_the_same_over_its_attempts_and_its_time_does_not(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().answers = [DOWN]
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a")
        await scene.advance(60_000)
        first, again = (headers for _, headers, _ in scene.receiver().got)
        assert first["webhook-id"] == again["webhook-id"] == f"msg_{hook.id}_1"
        assert int(first["webhook-timestamp"]) < int(again["webhook-timestamp"])

    play(tmp_path, act)


def test_attempts_go_on_for_days_with_growing_pauses_and_end_in_a_dead_letter(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().otherwise = DOWN
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a")
        await scene.advance(4 * DAY_MS)
        times = scene.receiver().times
        pauses = [later - earlier for earlier, later in pairwise(times)]
        assert len(times) == 18
        assert 2 * DAY_MS < times[-1] < 4 * DAY_MS
        assert 4_000 <= pauses[0] <= 6_000
        assert pauses[:6] == sorted(pauses[:6])
        assert max(pauses) <= 6 * 3_600_000 * 1.2
        assert len(set(pauses[-8:])) > 1  # jitter
        (dead,) = await scene.webhooks.deliveries(hook.id)
        assert (dead.status, dead.attempts, dead.last_error, dead.next_at) == ("dead", 18, "connection refused", None)

    play(tmp_path, act)


def test_a_dead_letter_is_sent_again_when_somebody_asks(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().otherwise = DOWN
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a")
        await scene.advance(4 * DAY_MS)
        scene.receiver().otherwise = OK
        scene.receiver().answers = [DOWN]
        before = len(scene.receiver().got)
        assert await scene.webhooks.retry(hook.id, 1) == 1
        await scene.turn()
        assert [one.status for one in await scene.webhooks.deliveries(hook.id)] == ["waiting"]  # as if it were new
        await scene.advance(10_000)
        assert scene.receiver().numbers[before:] == [1, 1]
        assert [one.status for one in await scene.webhooks.deliveries(hook.id)] == ["delivered"]
        assert await scene.webhooks.retry(hook.id, 1) == 0

    play(tmp_path, act)


def test_a_receiver_that_is_down_is_not_asked_for_every_outcome_and_gets_all_when_it_is_back(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().otherwise = DOWN
        hook, _ = await scene.webhooks.add(URL)
        await scene.end(*map(str, range(50)))
        assert len(scene.receiver().got) == courier.DOWN_AFTER
        standing = await scene.webhooks.standing(hook.id)
        assert standing == {"after": 3, "behind": 47, "is_down": True, "waiting": 3, "dead": 0}
        scene.receiver().otherwise = OK
        scene.receiver().got.clear()
        await scene.advance(60_000)
        assert sorted(scene.receiver().numbers) == list(range(1, 51))
        assert not (await scene.webhooks.standing(hook.id))["is_down"]

    play(tmp_path, act)


def test_a_slow_receiver_holds_up_nobody_else(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        slow = scene.receivers["https://slow.example.org/"] = Receiver()
        slow.is_open.clear()
        await scene.webhooks.add("https://slow.example.org/")
        hook, _ = await scene.webhooks.add(URL)
        for key in "abc":
            scene.hub.wait(key, "paid", "1 h")
            scene.hub.signal(key, "paid")
        await slow.reached.wait()
        while (await scene.webhooks.standing(hook.id))["behind"]:
            await scene.receiver().reached.wait()
        assert scene.receiver().numbers == [1, 2, 3]
        assert slow.numbers == [1]
        slow.is_open.set()
        await scene.webhooks.settled()
        assert slow.numbers == [1, 2, 3]

    play(tmp_path, act)


def test_retry_after_is_heeded(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().answers = [Answer(429, None, 600)]
        await scene.webhooks.add(URL)
        await scene.end("a")
        await scene.advance(599_000)
        assert len(scene.receiver().got) == 1
        await scene.advance(2_000)
        assert len(scene.receiver().got) == 2

    play(tmp_path, act)


def test_a_receiver_that_is_gone_is_asked_no_more_until_somebody_enables_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().answers = [Answer(410)]
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a", "b")
        await scene.advance(DAY_MS)
        assert scene.receiver().numbers == [1]
        await scene.reopen()
        assert scene.webhooks.list()[0].disabled == "the receiver answered 410 Gone"
        await scene.webhooks.change(hook.id, enabled=True)
        await scene.turn()
        assert sorted(scene.receiver().numbers) == [1, 1, 2]

    play(tmp_path, act)


def test_a_disabled_webhook_loses_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        hook, _ = await scene.webhooks.add(URL)
        await scene.webhooks.change(hook.id, enabled=False)
        await scene.end("a", "b")
        assert scene.receiver().got == []
        await scene.webhooks.change(hook.id, enabled=True, url="https://example.org/new")
        await scene.turn()
        assert scene.receiver("https://example.org/new").numbers == [1, 2]

    play(tmp_path, act)


def test_outcomes_that_left_the_log_too_soon_are_one_dead_letter_that_says_which(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for i in range(60):
            scene.hub.wait(str(i), "paid", 5)
            scene.clock.advance(100)
        await scene.reopen()
        hook, _ = await scene.webhooks.add(URL, after=0)
        await scene.turn()
        (gap,) = await scene.webhooks.deliveries(hook.id, "dead")
        assert gap.number > 1
        assert gap.last_error == f"outcomes 1 to {gap.number} were gone from the log before they could be sent"
        assert scene.receiver().numbers == list(range(gap.number + 1, 61))
        assert await scene.webhooks.retry(hook.id) == 0

    play(tmp_path, act, keep=1_000, segment_bytes=500)


def test_trouble_with_the_store_delays_and_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def act(scene: Scene) -> None:
        hook, _ = await scene.webhooks.add(URL)
        scene.receiver().answers = [DOWN]
        keep = scene.webhooks._store.keep
        scene.webhooks._store.keep = lambda *_: 1 / 0  # type: ignore[method-assign, assignment, return-value]
        await scene.end("a")
        assert "trouble of our own" in caplog.text
        scene.webhooks._store.keep = keep  # type: ignore[method-assign]
        await scene.advance(courier.TROUBLE_PAUSE_MS)
        assert scene.receiver().numbers == [1, 1]
        assert [one.status for one in await scene.webhooks.deliveries(hook.id)] == ["delivered"]

    play(tmp_path, act)


def test_a_crash_repeats_at_most_what_was_not_noted_down_and_loses_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL)
        await scene.end("first")
        scene.webhooks._store.move = lambda *_: None  # type: ignore[method-assign, assignment]
        await scene.end(*map(str, range(5)))
        await scene.reopen()
        await scene.turn()
        assert scene.receiver().numbers == [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6]

    play(tmp_path, act)


def test_a_log_from_an_older_backup_goes_on_from_its_own_end(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        hook, _ = await scene.webhooks.add(URL)
        await scene.webhooks._on_disk(scene.webhooks._store.rewind, hook.id, 1_000)
        await scene.reopen()
        await scene.end("a")
        assert scene.receiver().numbers == [1]

    play(tmp_path, act)


def test_a_removed_webhook_hears_no_more_and_its_deliveries_go_with_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.receiver().answers = [DOWN]
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a")
        await scene.webhooks.remove(hook.id)
        await scene.webhooks.remove(hook.id)
        await scene.advance(60_000)
        await scene.end("b")
        assert scene.receiver().numbers == [1]
        assert scene.webhooks._store.counts(hook.id) == {"waiting": 0, "dead": 0}

    play(tmp_path, act)


def test_stopping_waits_for_what_is_under_way_but_not_for_ever(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(webhooks, "STOP_S", 0)

    async def act(scene: Scene) -> None:
        await scene.webhooks.add(URL)
        scene.receiver().is_open.clear()
        scene.hub.wait("a", "paid", "1 h")
        scene.hub.signal("a", "paid")
        await scene.receiver().reached.wait()
        await scene.reopen()
        scene.receiver().is_open.set()
        await scene.webhooks.settled()
        assert scene.receiver().numbers == [1, 1]

    play(tmp_path, act)


def test_dead_letters_beyond_the_limit_go_oldest_first_and_the_log_says_so(
    tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sojourn.service.webhooks.store.MOST_DEAD", 2)
    monkeypatch.setattr("sojourn.service.webhooks.backoff.MOST_ATTEMPTS", 1)

    async def act(scene: Scene) -> None:
        scene.receiver().otherwise = DOWN
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a", "b", "c")
        assert [one.number for one in await scene.webhooks.deliveries(hook.id, "dead")] == [2, 3]
        assert "1 dead letters had to go" in caplog.text

    play(tmp_path, act)


def test_a_backup_has_the_webhooks_with_their_secrets_and_cursors(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        hook, _ = await scene.webhooks.add(URL)
        await scene.end("a")
        copy = tmp_path / "copy"
        backup(scene.folder, copy)
        assert copy_store(scene.folder, copy)
        with closing(Store(copy)) as store:
            (kept,) = store.webhooks()
        assert (kept.id, kept.secret, kept.cursor) == (hook.id, hook.secret, 1)
        assert (copy / "webhooks.sqlite").stat().st_mode & 0o077 == 0

    play(tmp_path / "data", act)


def test_a_folder_without_webhooks_has_none_to_copy(tmp_path: Path) -> None:
    assert not copy_store(tmp_path, tmp_path / "copy")


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        store._db.execute("PRAGMA user_version = 7")
    with pytest.raises(sj.FormatError, match="has version 7"):
        Store(tmp_path)
