"""Group commit: who leads, who waits, and what becomes of those who are interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from sojourn.durable.commit import Committer, Request
from sojourn.errors import StorageError

GUARD_S = 10


class Disk:
    """Carries groups out one by one, when told to."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.afterwards: list[str] = []
        self.go = threading.Semaphore(0)
        self.busy = threading.Semaphore(0)
        self.error: BaseException | None = None
        self.time = 0
        self.committer = Committer(self.commit, self.now_ms, 100, gathers=False)

    def now_ms(self) -> int:
        self.time += 1
        return self.time

    def commit(self, group: list[Request[Any]], known_to: int) -> Callable[[], object]:
        self.groups.append([request.stamp for request in group])
        self.busy.release()
        assert self.go.acquire(timeout=GUARD_S)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        for request in group:
            assert request.stamp <= known_to
            request.result = request.perform(request.stamp)
        return lambda: self.afterwards.append("called")

    def start(self, results: list[Any], kind: type[Request[Any]] = Request) -> threading.Thread:
        def work() -> None:
            try:
                results.append(self.committer.submit(kind(lambda stamp: stamp)))
            except BaseException as error:
                results.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread


def test_a_group_knows_nothing_beyond_the_first_request_that_has_to_wait() -> None:
    """Else a wait would be told to have expired while a signal stamped in its time is still in the queue."""
    stamps, known = iter((5, 7, 9, 11)), []

    def commit(group: list[Request[Any]], known_to: int) -> Callable[[], object]:
        known.append(([request.stamp for request in group], known_to))
        return lambda: None

    committer = Committer(commit, lambda: next(stamps), 1, gathers=False)
    assert committer.enqueue(Request(lambda stamp: None, lambda request: None))
    committer.enqueue(Request(lambda stamp: None, lambda request: None))
    committer.lead()
    assert known == [([5], 7), ([7], 9)]


def until_queued(disk: Disk, count: int) -> None:
    while len(disk.committer._queue) < count:
        threading.Event().wait(0.001)


def test_those_who_come_while_the_disk_is_busy_are_one_group() -> None:
    disk, results = Disk(), list[Any]()
    threads = [disk.start(results)]
    assert disk.busy.acquire(timeout=GUARD_S)
    threads += [disk.start(results) for _ in range(5)]
    until_queued(disk, 5)
    disk.go.release(2)
    for thread in threads:
        thread.join(GUARD_S)
    assert [len(group) for group in disk.groups] == [1, 5]
    assert sorted(results) == sorted(stamp for group in disk.groups for stamp in group)
    assert disk.afterwards == ["called"] * 2
    assert not disk.committer._is_led


def test_a_leader_that_is_interrupted_hands_on_and_its_group_is_told() -> None:
    disk, results = Disk(), list[Any]()
    threads = [disk.start(results)]
    assert disk.busy.acquire(timeout=GUARD_S)
    threads += [disk.start(results) for _ in range(2)]
    until_queued(disk, 2)
    disk.error = KeyboardInterrupt()
    disk.go.release(2)
    for thread in threads:
        thread.join(GUARD_S)
    assert [type(result) for result in results if not isinstance(result, int)] == [KeyboardInterrupt]
    assert len(results) == 3
    assert not disk.committer._is_led


def test_what_an_interrupted_leader_leaves_behind_is_led_by_whoever_asks_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an asyncio hub: no thread waits for these, so none could lead."""
    answered: list[Request[Any]] = []
    committer = Committer(commit_all, lambda: 0, 100, gathers=False)
    left, asked = (Request(lambda stamp: stamp, answered.extend) for _ in range(2))
    assert committer.enqueue(left)
    with monkeypatch.context() as patch:
        patch.setattr(committer, "_gather", interrupted)
        with pytest.raises(KeyboardInterrupt):
            committer.lead()
    assert committer.enqueue(asked), "nobody leads"
    committer.lead()
    assert answered == [left, asked]
    assert not committer._is_led


def commit_all(group: list[Request[Any]], known_to: int) -> Callable[[], object]:
    for request in group:
        request.result = request.perform(request.stamp)
    return lambda: None


def interrupted() -> None:
    raise KeyboardInterrupt


def test_one_that_has_gone_is_not_made_the_leader() -> None:
    disk, results = Disk(), list[Any]()
    thread = disk.start(results)
    assert disk.busy.acquire(timeout=GUARD_S)
    gone = Interrupted(lambda stamp: stamp)
    with pytest.raises(KeyboardInterrupt):
        disk.committer.submit(gone)
    disk.go.release(2)
    thread.join(GUARD_S)
    assert gone.is_answered
    assert not disk.committer._is_led


@pytest.mark.parametrize("interrupted", [{1}, {2, 3}, {5}, {1, 2, 3, 4, 5}])
def test_whoever_is_interrupted_when_it_is_woken_wakes_the_others(interrupted: set[int]) -> None:
    disk, results = Disk(), list[Any]()
    threads = [disk.start(results)]
    assert disk.busy.acquire(timeout=GUARD_S)
    for number in range(1, 6):
        threads.append(disk.start(results, InterruptedAtLast if number in interrupted else Request))
        until_queued(disk, number)
    disk.go.release(7)
    for thread in threads:
        thread.join(GUARD_S)
    assert sorted(map(str, map(type, results))) == sorted(
        [str(KeyboardInterrupt)] * (len(interrupted - {1})) + [str(int)] * (6 - len(interrupted - {1}))
    )
    assert not disk.committer._is_led


def test_a_request_without_an_answer_says_so() -> None:
    with pytest.raises(StorageError, match="interrupted"):
        Request(lambda stamp: stamp).answer()


def test_callbacks_may_ask_for_more() -> None:
    seen: list[int] = []
    left = iter(range(3))

    def commit(group: list[Request[Any]], known_to: int) -> Callable[[], object]:
        for request in group:
            request.result = request.perform(0)
        return lambda: [seen.append(committer.submit(Request(lambda stamp: 7))) for _ in islice(left, 1)]

    committer = Committer(commit, lambda: 0, 10, gathers=True)
    assert committer.submit(Request(lambda stamp: 1)) == 1
    assert seen == [7, 7, 7]


class Interrupted(Request[int]):
    def wait(self) -> None:
        raise KeyboardInterrupt


class InterruptedAtLast(Request[int]):
    """Woken, and interrupted before it can do anything; one that is to lead is not."""

    def wait(self) -> None:
        super().wait()
        if not self.is_leader:
            raise KeyboardInterrupt
