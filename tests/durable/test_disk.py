"""A real folder: files, one owner, threads, processes, and looking at it from beside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

import sojourn as sj
from durable.kills import run as kill_often
from sojourn.durable import DurableHub
from sojourn.durable.log.files import DiskFiles
from sojourn.testing import ManualClock

GUARD_S = 30


def hub_in(folder: Path, **options: object) -> DurableHub:
    hub = sj.Hub("real", data=folder, **options)  # type: ignore[call-arg]
    assert isinstance(hub, DurableHub)
    return hub


def test_files_do_what_the_interface_says(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path / "new" / "folder")
    file = files.append("a")
    file.write(b"hello")
    file.sync()
    file.close()
    file.close()
    again = files.append("a")
    again.write(b" you")
    again.close()
    assert (files.read("a"), files.read("a", 6), files.read("a", 1, 3), files.size("a")) == (
        b"hello you",
        b"you",
        b"ell",
        9,
    )
    files.rename("a", "b")
    files.sync_folder()
    assert files.names() == ["b"]
    files.remove("b")
    assert files.names() == []


def test_a_folder_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(sj.StorageError, match="there is no folder"):
        sj.read(tmp_path / "nowhere")


@pytest.mark.parametrize("place", ["a", "a/b"])
def test_a_file_is_no_data_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "a").write_text("here")
    with pytest.raises(sj.StorageError, match="a' is a file; name another place"):
        hub_in(tmp_path / place)


def test_two_hubs_of_one_process_cannot_own_a_folder(tmp_path: Path) -> None:
    with hub_in(tmp_path), pytest.raises(sj.OwnedError, match=f"hub 'real' of process {os.getpid()}"):
        hub_in(tmp_path)
    hub_in(tmp_path).close()


def test_somebody_who_only_looks_at_the_lock_for_a_moment_keeps_nobody_from_taking_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    files = DiskFiles(tmp_path)
    files.lock("lock", {}).close()
    with open(tmp_path / "lock", "rb") as look:
        fcntl.flock(look, fcntl.LOCK_SH)  # as `owner` does
        monkeypatch.setattr(time, "sleep", lambda seconds: fcntl.flock(look, fcntl.LOCK_UN))
        files.lock("lock", {}).close()


def test_a_lock_that_stays_taken_is_asked_for_a_few_times_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    files = DiskFiles(tmp_path)
    lock = files.lock("lock", {"name": "first"})
    with pytest.raises(sj.OwnedError, match="hub 'first'"):
        files.lock("lock", {"name": "second"})
    lock.close()
    assert 0 < len(pauses) < 10


def test_another_process_is_refused_and_told_who_has_the_folder(tmp_path: Path) -> None:
    program = f"import sojourn as sj; sj.Hub('second', data={str(tmp_path)!r})"
    with hub_in(tmp_path):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"OwnedError: data folder {str(tmp_path)!r} is owned by hub 'real' of process {os.getpid()}" in ended.stderr


def test_a_killed_process_leaves_what_it_was_answered(tmp_path: Path) -> None:
    program = (
        f"import os, signal, sojourn as sj; hub = sj.Hub('victim', data={str(tmp_path)!r})\n"
        "hub.wait_many(['a', 'b'], 'paid', '1 day', ids=['x', 'y']); hub.signal('a', 'paid', id='s')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False)
    assert ended.returncode == -9
    with hub_in(tmp_path) as hub:
        assert [wait.id for wait in hub.list()] == ["y"]
        assert [outcome.operation_id for outcome in hub.outcomes()] == ["x"]
        assert hub.signal("a", "paid", id="s") == 0


def test_many_threads_are_each_answered_once(tmp_path: Path) -> None:
    with hub_in(tmp_path, segment_bytes=20_000) as hub:
        completed: list[int] = []

        def work(n: int) -> None:
            for i in range(20):
                wait = hub.wait(f"{n}-{i}", "paid", "1 h", id=f"{n}-{i}")
                completed.append(hub.signal(f"{n}-{i}", "paid"))
                assert wait.result(timeout=GUARD_S).outcome == "completed"

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert completed == [1] * 160
        hub._engine.state.check()
        assert sorted(outcome.number for outcome in hub.outcomes()) == list(range(1, 161))
    assert [outcome.number for outcome in sj.read(tmp_path).outcomes()] == list(range(1, 161))


def test_a_thread_that_waits_is_told_when_the_hub_closes(tmp_path: Path) -> None:
    hub = hub_in(tmp_path)
    wait = hub.wait("k", "paid", "1 h")
    errors: list[BaseException] = []

    def sleep() -> None:
        try:
            wait.result(timeout=GUARD_S)
        except sj.PurgatoryClosedError as error:
            errors.append(error)

    thread = threading.Thread(target=sleep)
    thread.start()
    while wait._callbacks is None:
        threading.Event().wait(0.001)
    hub.close()
    thread.join()
    assert "goes on when that is opened" in str(errors[0])


def test_outcomes_are_waited_for(tmp_path: Path) -> None:
    with hub_in(tmp_path) as hub:
        hub.wait("k", "paid", "1 h")
        threading.Timer(0.01, hub.signal, ("k", "paid")).start()
        assert next(hub.outcomes(timeout=GUARD_S)).key == "k"
        assert list(hub.outcomes(after=1)) == []


def test_a_reader_sees_what_the_owner_has_written_so_far(tmp_path: Path) -> None:
    clock = ManualClock(wall_ms=1_700_000_000_000)
    with hub_in(tmp_path, clock=clock, segment_bytes=2_000, keep=1_000) as hub:
        hub.wait("k", sj.all_of("paid", "packed"), 1_000_000, id="w")
        reader = sj.read(tmp_path)
        assert reader.explain("w").endswith("missing paid and packed")
        hub.signal("k", "paid")
        assert reader.explain("w").endswith("missing packed")
        assert (reader.pending, reader.stats().pending, [wait.id for wait in reader.list("k")]) == (1, 1, ["w"])
        with pytest.raises(sj.StorageError, match="only to be looked at"):
            reader.get("w").cancel()  # type: ignore[union-attr]
        hub.signal("k", "packed")
        assert reader.explain("w").startswith("completed by")
        for i in range(60):  # until retention has taken away what the reader would have read next
            hub.wait(f"k{i}", "paid", 5)
            clock.advance(100)
        assert reader.stats()[:4] == hub.stats()[:4]
        assert [outcome.number for outcome in reader.outcomes(after=55)] == [56, 57, 58, 59, 60, 61]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    with hub_in(tmp_path) as hub:
        pid = os.fork()
        if pid == 0:
            try:
                hub.signal("k", "paid")
            except sj.ForkedError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert hub.signal("k", "paid") == 0


def test_data_none_is_a_hub_in_memory_and_subclasses_have_no_folder() -> None:
    class Mine(sj.Hub):
        pass

    with sj.Hub("here", data=None) as hub:
        assert not isinstance(hub, DurableHub)
    with pytest.raises(sj.ConfigError, match="only Hub and AsyncHub themselves"):
        Mine("mine", data="x")


@pytest.mark.parametrize("kind", [sj.Hub, sj.AsyncHub])
def test_an_option_of_another_kind_of_hub_says_what_it_needs(kind: Any) -> None:
    with pytest.raises(sj.ConfigError, match="sync: only a hub with data= has this option; give data= too"):
        kind("m", sync="os")
    with pytest.raises(sj.ConfigError, match="token: only a hub with url= has this option"):
        kind("m", token="secret")
    with pytest.raises(TypeError, match="sink: a hub has no such option"):
        kind("m", sink="os")


def test_a_dozen_processes_under_load_are_killed_and_nothing_answered_is_lost(tmp_path: Path) -> None:
    """More of them with `make kills`."""
    seed = SystemRandom().randrange(10**6)
    try:
        kill_often(12, seed, str(tmp_path))
    except AssertionError as failure:
        raise AssertionError(f"seed {seed}: {failure}") from failure


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits on the size of files are for POSIX")
def test_a_real_disk_without_room_refuses_writes_until_there_is_some(tmp_path: Path) -> None:
    """The operating system refuses files beyond a size."""
    program = f"""
import resource, sojourn as sj
from sojourn.testing import ManualClock
clock = ManualClock(wall_ms=1_700_000_000_000)
hub = sj.Hub("full", data={str(tmp_path)!r}, clock=clock)
hub.wait("k", "paid", 100, id="kept")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, most))
for i in range(3):
    try:
        hub.wait("k", "paid", "1 day")
    except sj.DiskError as error:
        assert "what was acknowledged before is safe" in str(error), error
    else:
        raise AssertionError("there was room")
assert [wait.id for wait in hub.list()] == ["kept"]
clock.advance(5_000)
assert hub.get("kept").done() is False, "told without room"
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
clock.advance(1_000)
assert hub.get("kept").result().at == 1_700_000_000_100
assert hub.wait("again", "paid", "1 day", id="again").id == "again"
hub.close()
again = sj.Hub("full", data={str(tmp_path)!r}, clock=clock)
assert [wait.id for wait in again.list()] == ["again"]
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
