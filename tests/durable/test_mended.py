"""What was wrong once: each of these was found by reading, or by programs with crashes."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from durable.faulty_files import Killed, disk_after, none_of_it
from durable.scene import WALL_MS, Scene, snapshot_at
from sojourn.durable import DurableHub, Reader
from sojourn.durable.async_hub import AsyncDurableHub, FutureRequest, _settle
from sojourn.durable.commit import Request
from sojourn.durable.log.files import DiskAppender, DiskFiles
from sojourn.durable.log.records import framed, json_bytes, records, start_of_records
from sojourn.durable.log.segments import headers, layout, segment_name
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.recovery.snapshot import read_snapshot
from sojourn.durable.state.state import State

GUARD_S = 30


def hub_in(folder: Path, **options: Any) -> DurableHub:
    hub = sj.Hub("mended", data=folder, **options)
    assert isinstance(hub, DurableHub)
    return hub


# Recovery


def test_what_a_dead_process_wrote_is_synced_before_anybody_relies_on_it(scene: Scene) -> None:
    scene.files.kill_after = 1  # the write is in the page cache, the sync did not happen
    with pytest.raises(Killed):
        scene.hub.wait("k", "paid", 1_000, id="w")
    scene.files.process_dies()
    scene.hub.timer.close()
    hub = scene.open()
    assert hub.wait("k", "paid", 1_000, id="w").seq == 1  # answered without a record: it is there
    state = recover(disk_after({}, scene.files.journal, none_of_it)).state
    assert list(state.ids) == ["w"]


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_a_snapshot_of_a_segment_that_was_started_anew_does_not_count(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000, id="first")
    scene.files.failing = {"sync": errno.EIO}
    with pytest.raises(sj.DiskError):
        scene.hub.wait("k", "paid", 1_000, id="second")
    scene.files.failing = {}
    scene.hub._engine.log.start_segment(WALL_MS, 1)
    snapshot_at(scene.files, headers(scene.files, layout(scene.files).segments)[-1])
    scene.crash()
    scene.files.remove(segment_name(2))  # its name was not synced; so what failed counts after all
    assert [wait.id for wait in scene.open().list()] == ["first", "second"]
    scene.crash()
    assert [wait.id for wait in scene.open().list()] == ["first", "second"]
    scene.check()


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_a_snapshot_keeps_the_order_in_which_ids_are_forgotten(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000, id="first")
    scene.hub.signal("k", "paid")
    scene.hub.wait("k", "paid", 1_000, id="second")
    scene.files.kill_after = 1
    with pytest.raises(Killed):
        scene.hub.signal("k", "paid")
    scene.crash()
    scene.files.process_dies()
    name = segment_name(1)
    data = scene.files.contents[name]
    told = max(record.offset for record in records(data, start_of_records(data, "LOG", name), len(data), name))
    scene.files.contents[name] = data[:told]  # the signal was written, and what it ended was not told
    scene.open().close()
    found = headers(scene.files, layout(scene.files).segments)
    state = State()
    snapshot_at(scene.files, found[1])
    read_snapshot(scene.files, 2, state)
    assert [wait.id for wait in state._ended_ids] == ["first"]
    scene.open()
    assert [wait.id for wait in scene.hub._engine.state._ended_ids] == ["first", "second"]


def test_a_record_of_an_unknown_type_is_of_a_later_version(scene: Scene) -> None:
    scene.crash()
    scene.files.contents[segment_name(1)] += framed(63, json_bytes([0]), 0)
    with pytest.raises(sj.FormatError, match=r"log-00000001\.sj, offset \d+: a record of type 63"):
        scene.open()
    scene.is_damaged = True


def test_drafts_of_snapshots_that_were_cut_off_do_not_pile_up() -> None:
    scene = Scene(segment_bytes=400)
    scene.files.contents["snapshot-00000001.sj.draft"] = b"half"
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    assert not [name for name in scene.files.names() if name.endswith(".draft")]


def test_a_snapshot_that_finds_no_room_leaves_none_of_it_behind() -> None:
    scene = Scene()
    scene.hub.wait_many([f"k{i}" for i in range(50)], "paid", 1_000)
    scene.reopen()
    scene.files.room = 200
    with pytest.raises(OSError, match="No space"):
        snapshot_at(scene.files, headers(scene.files, layout(scene.files).segments)[-1])
    assert not [name for name in scene.files.names() if name.endswith(".draft")]


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_a_reader_that_saw_what_failed_reads_again(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000)
    reader = Reader(scene.files, scene.clock)
    scene.files.failing = {"sync": errno.EIO}
    with pytest.raises(sj.DiskError):
        scene.hub.signal("k", "paid")
    assert reader.pending == 0  # it is written, and nobody knows yet that it does not count
    scene.files.failing = {}
    scene.clock.advance(2_000)
    assert [(outcome.number, outcome.outcome) for outcome in reader.outcomes()] == [(1, "expired")]


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_segments_that_go_while_somebody_reads_are_gone_and_not_missing(scene: Scene) -> None:
    for _ in range(3):
        scene.hub.wait("k", "paid", 1)
        scene.clock.advance(2)
        scene.reopen()
    listed = layout(scene.files).segments
    scene.files.remove(segment_name(1))
    assert [header.segment for header in headers(scene.files, listed)] == [2, 3, 4]


# A disk that fails


def test_a_grace_that_ends_on_a_full_disk_is_tried_again_in_a_second(scene: Scene) -> None:
    hub = scene.reopen(recover_grace=100)
    scene.files.room = 0
    scene.clock.advance(5_000)
    scene.files.room = None
    scene.clock.advance(1_000)
    assert hub._engine.state.grace_until is None


def test_a_full_disk_does_not_keep_the_lock_of_a_hub_that_could_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: DiskAppender, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DiskAppender, "write", full)
        with pytest.raises(sj.DiskError, match="is full"):
            hub_in(tmp_path)
    hub_in(tmp_path).close()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(sj.StorageError, match="data"):
        hub_in(tmp_path / "data")


def test_every_folder_that_is_made_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("sojourn.durable.log.files._sync_folder", synced.append)
    DiskFiles(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]


def test_closing_with_everything_cancelled_ends_on_a_full_disk() -> None:
    scene = Scene()
    scene.hub.wait_many([f"k{i}" for i in range(25_000)], "paid", 1_000)

    def fill(wait: Any) -> None:
        scene.files.room = 0

    scene.hub.get("#1").add_done_callback(fill)  # type: ignore[union-attr]
    assert len(scene.hub.close(cancel_pending=True)) == 25_000
    scene.files.room = None
    hub = scene.open()
    scene.clock.advance(0)
    assert hub.stats().cancelled == hub.stats().last_number == 25_000


# Time


def test_a_wait_is_not_late_when_the_clock_was_set_ahead_meanwhile(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 1_900)
    scene.clock.step_wall(1_500)
    scene.hub.signal("other", "paid")
    scene.clock.advance(401)
    assert wait.done()


def test_a_step_of_the_clock_on_a_full_disk_is_recorded_once_there_is_room(scene: Scene) -> None:
    scene.files.room = 0
    scene.clock.step_wall(-60_000)
    with pytest.raises(sj.DiskError):
        scene.hub.signal("k", "paid")
    scene.files.room = None
    scene.hub.signal("k", "paid")
    assert scene.hub.stats().clock_steps == 1
    scene.check()


def test_in_the_grace_a_remembered_signal_is_recalled_by_waits_that_follow() -> None:
    scene = Scene(remember=1_000)
    hub = scene.reopen(recover_grace=100)
    hub.signal("k", "paid")
    wait = hub.wait("k", "paid", 5_000)
    scene.clock.advance(100)
    assert (wait.outcome, wait.at) == ("completed", WALL_MS)
    scene.check()


# What is refused


@pytest.mark.parametrize("payload", [[[]] * 200, "x"])
def test_wide_payloads_are_kept(scene: Scene, payload: Any) -> None:
    scene.hub.wait("k", "paid", 1_000, id="w", payload=payload)
    assert scene.reopen().get("w").payload == payload  # type: ignore[union-attr]


@pytest.mark.parametrize("levels", [101, 900, 100_000])
def test_a_payload_that_a_later_start_might_not_be_able_to_read_is_refused(scene: Scene, levels: int) -> None:
    payload: Any = 1
    for _ in range(levels):
        payload = [payload]
    with pytest.raises(sj.NotStorableError, match="deep"):
        scene.hub.wait("k", "paid", 1_000, payload=payload)


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_value_beyond_every_float_is_refused_by_name(scene: Scene, digits: int) -> None:
    with pytest.raises(sj.NotStorableError, match="value"):
        scene.hub.signal("k", "coin", value=-(10**digits))


def test_a_source_of_too_many_digits_is_refused_by_name(scene: Scene) -> None:
    with pytest.raises(sj.NotStorableError, match="source"):
        scene.hub.signal("k", "coin", source=10**5_000)


# Growth


def test_conditions_that_nobody_waits_for_any_more_are_forgotten() -> None:
    scene = Scene(remember_ids=1_000, segment_bytes=5_000)
    for i in range(1, 200):
        scene.hub.wait("k", sj.seen("ack", i), 10, id=f"w{i}")
        scene.clock.advance(100)
    scene.hub.register(sj.Rule("kept", opens="o", until="paid", within=1))
    assert len(scene.hub._engine.state.plans) < 15
    scene.check()
    hub = scene.reopen()
    assert hub.wait("k", rule="kept").rule == "kept"
    hub.wait("k", sj.seen("ack", 1), 10, id="again")
    scene.check()


def test_a_wait_that_is_refused_leaves_no_rule_behind() -> None:
    scene = Scene(max_pending=0)
    with pytest.raises(sj.HubFullError):
        scene.hub.wait("k", "paid", 10)
    assert not scene.hub._engine.state.plans


def test_a_loop_that_asks_again_and_again_for_outcomes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with sj.AsyncHub("loop", data=tmp_path) as hub:
            assert isinstance(hub, AsyncDurableHub)
            for _ in range(3):
                assert [outcome async for outcome in hub.outcomes(timeout=0.001)] == []
            assert hub._engine.outcomes._awaiting == []

    asyncio.run(main())


# Ends


def test_whoever_waits_for_what_has_ended_but_is_not_told_hears_of_the_close(scene: Scene) -> None:
    waits = scene.hub.wait_many([f"k{i}" for i in range(25_000)], "paid", 1_000)
    scene.hub.cancel_where(key_prefix="k")
    assert not waits[-1].done()
    errors: list[BaseException] = []

    def sleep() -> None:
        try:
            waits[-1].result(timeout=GUARD_S)
        except sj.PurgatoryClosedError as error:
            errors.append(error)

    thread = threading.Thread(target=sleep)
    thread.start()
    while waits[-1]._callbacks is None:
        threading.Event().wait(0.001)
    scene.hub.close()
    thread.join()
    assert errors


def test_several_threads_may_close_a_hub(tmp_path: Path) -> None:
    hub = hub_in(tmp_path)
    errors: list[BaseException] = []
    start = threading.Barrier(8)

    def close() -> None:
        start.wait()
        try:
            hub.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    hub_in(tmp_path).close()


def test_a_second_close_does_not_let_go_of_the_folder_under_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(sync="os")
    wait = scene.hub.wait("k", "paid", 1_000)
    committer = scene.hub._engine.committer
    submit, requests, second = committer.submit, list[Request[Any]](), list[Any]()

    def overtaken(request: Request[Any]) -> Any:
        """The second close finds the hub open, but its request comes after that of the first; then it is quicker."""
        requests.append(request)
        if len(requests) == 1:
            second.append(scene.hub.close())
            return request.answer()
        submit(requests[0])
        return submit(request)

    monkeypatch.setattr(committer, "submit", overtaken)
    assert scene.hub.close() == [wait]
    assert (len(requests), second) == (2, [[]])
    synced = recover(disk_after({}, scene.files.journal, none_of_it)).state
    assert synced.pending == 1


def test_of_two_that_close_while_the_disk_fails_one_lets_go_of_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    wait = scene.hub.wait("k", "paid", 1_000)
    scene.files.failing = {"write": errno.EIO, "create": errno.EIO}
    with pytest.raises(sj.DiskError):
        scene.hub.signal("nobody", "paid")
    committer, second = scene.hub._engine.committer, list[Any]()
    submit = committer.submit

    def overtaken(request: Request[Any]) -> Any:
        monkeypatch.setattr(committer, "submit", submit)
        second.append(scene.hub.close())
        return submit(request)

    monkeypatch.setattr(committer, "submit", overtaken)
    assert (scene.hub.close(), second) == ([], [[wait]])
    scene.files.failing = {}
    assert scene.open().pending == 1


def test_a_program_that_ends_without_closing_leaves_what_it_was_answered(tmp_path: Path) -> None:
    program = (
        "import asyncio, sojourn as sj\n"
        f"sj.Hub('a', data={str(tmp_path / 'a')!r}).wait('k', 'paid', '1 day', id='w')\n"
        "async def main():\n"
        f"    await sj.AsyncHub('b', data={str(tmp_path / 'b')!r}).wait('k', 'paid', '1 day', id='w').opened()\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=GUARD_S, check=True)
    assert ended.stderr == ""
    for name in "ab":
        with hub_in(tmp_path / name) as hub:
            assert [wait.id for wait in hub.list()] == ["w"]


def test_a_loop_that_is_gone_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    hub = sj.AsyncHub("loop", data=tmp_path)
    assert isinstance(hub, AsyncDurableHub)
    committer = hub._engine.committer
    loop = asyncio.new_event_loop()
    gone: asyncio.Future[int] = loop.create_future()
    loop.close()

    async def main() -> int:
        assert committer.enqueue(FutureRequest(lambda stamp: stamp, gone))
        answer = hub.signal("k", "paid")  # in the same group
        hub._writer.submit(committer.lead)
        return await asyncio.wait_for(answer, GUARD_S)

    assert asyncio.run(main()) == 0
    hub.close()


def test_a_request_that_was_interrupted_is_an_error_for_those_who_await_it() -> None:
    async def main() -> None:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        _settle(answer, Request(lambda stamp: stamp))
        with pytest.raises(sj.StorageError, match="interrupted"):
            await answer

    asyncio.run(main())


# Forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_forked_child_does_not_keep_the_folder(tmp_path: Path, is_killed: bool) -> None:
    hub = hub_in(tmp_path)
    is_there, says_so = os.pipe()
    waits, may_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(may_end)
        os.write(says_so, b".")
        os.read(waits, 1)  # until the parent has closed the other end
        os._exit(0)
    try:
        assert os.read(is_there, 1) == b"."
        if is_killed:
            hub._engine._ownership.leave_behind()  # as the death of this process would
        hub.close()
        hub_in(tmp_path).close()
    finally:
        for end in (is_there, says_so, waits, may_end):
            os.close(end)
        os.waitpid(pid, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_refused_even_if_the_hub_was_at_work(tmp_path: Path) -> None:
    with hub_in(tmp_path) as hub:
        with hub._engine._lock:
            pid = fork_from_another_thread(hub)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def fork_from_another_thread(hub: DurableHub) -> int:
    """A child in which the thread that holds the lock is not there."""
    pids: list[int] = []

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            try:
                hub.list()
            except sj.ForkedError:
                os._exit(7 if hub.close() == [] else 2)  # closing is of no concern to the parent
            os._exit(1)
        pids.append(pid)

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    return pids[0]
