"""A data folder from outside: looked at, copied while its owner runs, and mended."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import weakref
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from durable.faulty_files import FaultyFiles
from durable.program import run
from durable.scene import SHIPPED, WALL_MS, Scene, check_verified
from sojourn.durable.folder.backup import backup
from sojourn.durable.folder.inspection import inspect
from sojourn.durable.folder.salvage import LIST, salvage
from sojourn.durable.log.files import DiskAppender, DiskFiles
from sojourn.durable.log.records import WAIT
from sojourn.durable.log.scan import scan
from sojourn.durable.log.segments import layout, segment_name
from sojourn.durable.recovery.recovery import recover
from sojourn.testing import ManualClock


def on_disk(files: FaultyFiles, folder: Path) -> Path:
    folder.mkdir()
    for name, data in files.contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


# Inspection


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_a_folder_is_described(scene: Scene) -> None:
    scene.hub.register(SHIPPED)
    scene.hub.wait_many(["a", "b"], rule="shipped")
    scene.clock.advance(5)
    scene.hub.wait("c", "paid", 10)
    scene.hub.signal("c", "paid")
    found = inspect(scene.files)
    assert found.records == {"start": 1, "rule": 2, "wait": 2, "signal": 1, "told": 1}
    assert [part.number for part in found.segments] == [1]
    assert (found.is_owned, found.damages, found.torn_bytes) == (True, [], 0)
    assert found.owner is not None
    assert "hub 'scene'" in found.owner
    standing = found.standing
    assert standing is not None
    assert (standing.pending, standing.by_rule, standing.last_number) == (2, {"shipped": 2}, 1)
    assert (standing.oldest, standing.next_due, standing.last_stamp) == (WALL_MS, WALL_MS + 1_000, WALL_MS + 5)
    scene.hub.close()
    assert not inspect(scene.files).is_owned


def test_a_torn_tail_is_no_damage(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100)
    scene.crash()
    scene.files.contents[segment_name(1)] += b"\xf5\xfa\x03\x01half a rec"
    found = inspect(scene.files)
    assert (found.torn_bytes, found.damages) == (14, [])


def test_damage_is_named_with_its_place(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100)
    scene.reopen()
    scene.hub.close()
    at = scene.files.contents[segment_name(1)].index(b'"k"')
    scene.files.flip(segment_name(1), at)
    scene.is_damaged = True
    found = inspect(scene.files)
    assert found.standing is None
    assert len(found.damages) == 1
    assert found.damages[0].startswith("log-00000001.sj is damaged at offset ")
    assert found.records["close"] == 2


def test_a_missing_segment_and_a_broken_snapshot_are_damage() -> None:
    scene = Scene(segment_bytes=400)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 100)
    scene.hub.close()
    scene.is_damaged = True
    snapshot = f"snapshot-{layout(scene.files).snapshots[-1]:08}.sj"
    scene.files.flip(snapshot, 40)
    del scene.files.contents[segment_name(2)]
    damages = inspect(scene.files).damages
    assert "log-00000002.sj is missing" in damages
    assert any(damage.startswith(snapshot) for damage in damages)


@pytest.mark.parametrize("ask", [inspect, sj.durable.verify, lambda folder: backup(folder, folder / "to"), sj.read])
def test_what_is_no_data_folder_is_refused(ask: Any, tmp_path: Path) -> None:
    with pytest.raises(sj.StorageError, match="is no data folder: there is no log in it"):
        ask(tmp_path)
    with pytest.raises(sj.StorageError, match="there is no folder"):
        ask(tmp_path / "nowhere")


def test_the_folder_of_a_hub_that_was_just_made_can_be_looked_at(tmp_path: Path) -> None:
    with sj.Hub("new", data=tmp_path):
        assert sj.read(tmp_path).pending == 0


# Backups


def test_a_backup_is_made_while_the_owner_runs_and_opens_as_a_hub(tmp_path: Path) -> None:
    clock = ManualClock(wall_ms=WALL_MS)
    with sj.Hub("live", data=tmp_path / "data", clock=clock, segment_bytes=700) as hub:  # type: ignore[call-arg]
        for i in range(20):
            hub.wait(f"k{i}", "paid", 50, id=f"w{i}")
            clock.advance(10)
        made = backup(tmp_path / "data", tmp_path / "copy")
        numbers = hub.stats().last_number  # type: ignore[attr-defined]
        assert (made.pending, made.last_number) == (hub.pending, numbers)
        hub.signal("k19", "paid")
        with sj.Hub("copy", data=tmp_path / "copy", clock=clock) as copy:
            assert copy.pending == made.pending
            clock.advance(1_000)
            assert [outcome.number for outcome in copy.outcomes()] == list(range(1, 21))  # type: ignore[attr-defined]
    assert not list(tmp_path.glob("**/*.draft"))


def test_a_backup_never_overwrites(tmp_path: Path) -> None:
    with sj.Hub("live", data=tmp_path / "data"):
        (tmp_path / "copy").mkdir()
        backup(tmp_path / "data", tmp_path / "copy")
        with pytest.raises(sj.StorageError, match="is there already"):
            backup(tmp_path / "data", tmp_path / "copy")


@pytest.mark.parametrize("to", ["data/copy", "data/deep/copy", "elsewhere/../data/copy"])
def test_a_folder_is_not_copied_into_itself(tmp_path: Path, to: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    sj.Hub("live", data=tmp_path / "data").close()
    before = sorted(os.listdir(tmp_path / "data"))
    with pytest.raises(sj.StorageError, match=r"copy' is inside the data folder .*data'; name one elsewhere"):
        backup(tmp_path / "data", tmp_path / to)
    assert sorted(os.listdir(tmp_path / "data")) == before


def test_a_backup_that_finds_no_room_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sj.Hub("live", data=tmp_path / "data").close()

    def full(self: DiskAppender, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DiskAppender, "write", full)
        with pytest.raises(OSError, match="No space"):
            backup(tmp_path / "data", tmp_path / "copy")
    assert os.listdir(tmp_path) == ["data"]


def test_a_backup_to_where_no_folder_can_be_made_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sj.Hub("live", data=tmp_path / "data").close()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for to in (".", "..", "new/.."):
        with pytest.raises(sj.StorageError, match=re.escape(repr(to))):
            backup(tmp_path / "data", to)
    assert os.listdir() == []


class Forgetful(DiskFiles):
    """A folder whose owner removes a segment just before it is copied, so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(folder)
        self._times = times

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name == segment_name(1) and length is None and self._times:
            self._times -= 1
            raise FileNotFoundError(name)
        return super().read(name, offset, length)


def test_a_backup_begins_again_when_retention_is_quicker(tmp_path: Path) -> None:
    for _ in range(2):
        sj.Hub("live", data=tmp_path / "data").close()
    assert backup(Forgetful(tmp_path / "data", 2), tmp_path / "copy").files == 2
    with pytest.raises(sj.StorageError, match="removed again and again"):
        backup(Forgetful(tmp_path / "data", 99), tmp_path / "another")
    assert not (tmp_path / "another").exists()


# Repairs


def test_a_whole_folder_needs_no_repair(tmp_path: Path) -> None:
    sj.Hub("live", data=tmp_path / "data").close()
    with pytest.raises(sj.StorageError, match="is whole: there is nothing to repair"):
        salvage(tmp_path / "data", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_what_is_whole_behind_the_damage_is_salvaged_and_the_rest_listed(scene: Scene, tmp_path: Path) -> None:
    scene.hub.wait("a", "paid", 1_000, id="first")
    scene.hub.wait("b", "paid", 1_000, id="lost")
    scene.hub.wait("c", "paid", 1_000, id="third")
    scene.hub.signal("a", "paid")
    scene.clock.advance(10)
    scene.hub.wait("d", "paid", 1_000, id="fourth")
    scene.hub.close()
    scene.files.flip(segment_name(1), scene.files.contents[segment_name(1)].index(b'"lost"'))
    scene.is_damaged = True
    damaged = on_disk(scene.files, tmp_path / "data")
    before = {path.name: path.read_bytes() for path in damaged.iterdir()}
    made = salvage(damaged, tmp_path / "new")
    assert {path.name: path.read_bytes() for path in damaged.iterdir()} == before
    assert (made.pending, made.lost_waits, made.lost_outcomes, made.unreadable_outcomes) == (2, [(2, 2)], [], 1)
    listed = json.loads((tmp_path / "new" / LIST).read_text())
    assert [outcome["operation_id"] for outcome in listed["outcomes"]] == ["first"]
    with sj.Hub("new", data=tmp_path / "new", clock=scene.clock) as hub:
        assert [wait.id for wait in hub.list()] == ["third", "fourth"]
        with pytest.raises(sj.OutcomesGoneError, match="outcomes 1 to 1 are lost"):
            list(hub.outcomes())  # type: ignore[attr-defined]
        hub.signal("d", "paid")
        assert [outcome.number for outcome in hub.outcomes(after=1)] == [2]  # type: ignore[attr-defined]
        assert hub.wait("a", "paid", 1_000, id="first").done()
    for path in damaged.iterdir():
        path.unlink()


def test_a_log_without_its_beginning_and_without_a_snapshot_is_salvaged_too(tmp_path: Path) -> None:
    scene = Scene(segment_bytes=400, keep=10)
    scene.hub.register(SHIPPED)
    for i in range(20):
        scene.hub.wait(f"k{i}", "paid", 500, id=f"w{i}")
        scene.clock.advance(20)
    scene.hub.close()
    scene.is_damaged = True
    there = layout(scene.files)
    assert there.segments[0] > 1
    for number in there.snapshots:
        scene.files.flip(f"snapshot-{number:08}.sj", 40)
    whole = {record for one in scan(scene.files) for record in one.records if record.type == WAIT}
    made = salvage(scene.files, tmp_path / "new")
    assert made.pending == 0 < len(whole), "no rule is known any more"
    assert recover(DiskFiles(tmp_path / "new")).state.last_stamp == WALL_MS + 400


def test_the_data_set_of_the_time_before_the_damage_is_salvaged_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", exc_type=ImportError)
    scene = Scene(segment_bytes=400, keep=10, archive=True)
    for i in range(20):
        scene.hub.wait(f"k{i}", "paid", 30)
        scene.clock.advance(20)
    scene.hub.close()
    scene.is_damaged = True
    last = segment_name(layout(scene.files).segments[-1])
    scene.files.flip(last, len(scene.files.contents[last]) - 60)
    assert salvage(scene.files, tmp_path / "new").damages
    verified = sj.durable.verify(tmp_path / "new")
    assert verified.is_same
    assert verified.checked > 10


def test_a_rule_from_behind_the_damage_is_known_when_the_rest_is_verified(tmp_path: Path) -> None:
    scene = Scene()
    scene.hub.wait("a", "paid", 1_000, id="lost")
    scene.hub.wait("b", "packed", 1_000)
    scene.hub.close()
    scene.files.flip(segment_name(1), scene.files.contents[segment_name(1)].index(b'"lost"'))
    scene.is_damaged = True
    salvage(scene.files, tmp_path / "new")
    with sj.Hub("new", data=tmp_path / "new", clock=scene.clock) as hub:
        hub.wait("c", "packed", 10)  # the same condition: no record has to say it again
    check_verified(tmp_path / "new")


@pytest.mark.parametrize("seed", range(3))
def test_wherever_a_bit_is_flipped_the_rest_goes_on(seed: int, tmp_path: Path) -> None:
    scene = Scene(segment_bytes=700)
    run(scene, seed, 15)
    whole = recover(scene.files).state
    files = FaultyFiles(scene.files.contents)
    names = [name for name in files.names() if name.endswith(".sj")]
    for place, name in enumerate(names):
        for offset in range(20 + seed, files.size(name) - 1, 151):
            files.flip(name, offset, offset % 8)
            to = tmp_path / f"{place}-{offset}"
            if inspect(files).damages:
                made = salvage(files, to)
                state = recover(DiskFiles(to)).state
                assert state.next_number <= whole.next_number, f"seed {seed}, {name}, offset {offset}"
                listed = {n for first, last in made.lost_waits for n in range(first, last + 1)}
                unknown = {n for n in whole.waits.keys() - state.waits.keys() - listed if n < state.next_seq}
                assert not unknown, f"seed {seed}, {name}, offset {offset}"
                with sj.Hub("mended", data=to, clock=scene.clock) as hub:
                    hub.wait("k", "paid", 10)
                check_verified(to)
            files.flip(name, offset, offset % 8)


def test_a_hub_that_is_closed_is_let_go_of_with_all_that_it_held() -> None:
    """Something is due in it: the timer that was to wake it must not keep it."""
    scene = Scene()
    scene.hub.register(SHIPPED)
    scene.hub.wait("a", rule="shipped")
    clock = weakref.ref(scene.clock)
    scene.hub.close()
    Scene.made.remove(scene)
    del scene
    gc.collect()
    assert clock() is None
