"""The log as a data set: sealed segments as Parquet, whole or not there, and never twice."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", exc_type=ImportError)

import pyarrow as pa
import pyarrow.parquet as pq

import sojourn as sj
from durable.faulty_files import FaultyFiles, disk_after, none_of_it, some_of_it
from durable.program import run
from durable.scene import SHIPPED, WALL_MS, Scene
from sojourn.durable import verify
from sojourn.durable.dataset import archive, parquet
from sojourn.durable.dataset.parquet import convert_sealed
from sojourn.durable.dataset.past import Past, read_past
from sojourn.durable.folder.compaction import compact
from sojourn.durable.log.segments import headers, layout
from sojourn.pipeline import local
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.schema import OUTCOMES
from sojourn.testing import ManualClock
from support import open_files


def told(scene: Scene) -> list[int]:
    return [outcome.number for outcome in scene.hub.outcomes()]


def rows(past: Past) -> list[Any]:
    return [table.to_pylist() for table in (past.events, past.outcomes, past.changes)]


def test_a_row_has_what_the_pipelines_read_and_what_only_a_log_knows() -> None:
    scene = Scene()
    scene.hub.register(SHIPPED)
    scene.hub.wait(["a", "b"], rule="shipped", id="w", payload={"n": 1})
    scene.hub.signal("a", "paid", 7, 2.5, id="s")
    scene.clock.advance(5)
    scene.hub.signal("b", "packed", "7")
    past = read_past(scene.files)
    opened, paid, packed = past.events.to_pylist()
    assert (opened["key"], opened["kind"], opened["keys"], opened["wait"]) == ("a", "order", ["a", "b"], 1)
    assert (opened["id"], opened["payload"], opened["rule"], opened["within_ms"]) == ("w", '{"n":1}', "shipped", 1_000)
    assert (paid["source"], paid["source_type"], paid["value"], paid["value_type"]) == ("7", "int", "2.5", "float")
    assert (paid["id"], paid["wait"], packed["source_type"]) == ("s", None, "text")
    (outcome,) = past.outcomes.to_pylist()
    assert list(outcome)[:11] == OUTCOMES.names
    assert (outcome["number"], outcome["operation_id"], outcome["outcome"]) == (1, "w", "completed")
    assert int(outcome["at"].timestamp() * 1_000) == WALL_MS + 5


@pytest.mark.parametrize("seed", range(6))
def test_a_converted_log_says_what_the_log_says(seed: int) -> None:
    scene = Scene(segment_bytes=1_000, remember=40)
    run(scene, seed, 40)
    before, verified = rows(read_past(scene.files)), verify(scene.files)
    sealed = [header.segment for header in headers(scene.files, layout(scene.files).segments)[:-1]]
    assert convert_sealed(scene.files) == sealed
    assert convert_sealed(scene.files) == []
    for number in sealed:
        scene.files.remove(f"log-{number:08}.sj")
    assert rows(read_past(scene.files)) == before, f"seed {seed}"
    assert verify(scene.files) == verified


@pytest.mark.parametrize("seed", range(3))
def test_whoever_converts_may_be_cut_off_anywhere(seed: int) -> None:
    """Every file that has its name is whole; and doing it again leaves nothing double."""
    scene = Scene(segment_bytes=1_500)
    run(scene, seed, 25)
    before, base = rows(read_past(scene.files)), dict(scene.files.contents)
    files = FaultyFiles(base)
    convert_sealed(files)
    for ops in range(len(files.journal) + 1):
        cut = disk_after(base, files.journal[:ops], some_of_it(1_000 * seed + ops))
        for folder in archive.FOLDERS:
            for name in cut.names_below(folder):
                if name.endswith(".parquet"):
                    pq.read_table(io.BytesIO(cut.read(name)))
        assert rows(read_past(cut)) == before, f"seed {seed}, after {ops} operations"
        convert_sealed(cut)
        assert rows(read_past(cut)) == before, f"seed {seed}, after {ops} operations, done again"


def test_what_is_converted_lasts_before_a_segment_may_go() -> None:
    scene = Scene(segment_bytes=600, keep=10, archive=True)
    for i in range(40):
        scene.hub.wait(f"k{i}", "paid", 5)
        scene.clock.advance(20)
    assert layout(scene.files).segments[0] > 1
    for ops in range(0, len(scene.files.journal) + 1, 7):
        past = read_past(disk_after({}, scene.files.journal[:ops], none_of_it))
        assert past.began_with is None, f"after {ops} operations"


@pytest.mark.parametrize(("wanted", "leaves"), [(None, False), (True, True), (False, True)])
def test_in_a_folder_with_a_data_set_retention_removes_what_was_converted(wanted: bool | None, leaves: bool) -> None:
    scene = Scene(segment_bytes=500)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 5)
    convert_sealed(scene.files)
    converted = max(archive.parts(scene.files))
    scene.reopen(keep=10, archive=wanted)
    for i in range(30):
        scene.clock.advance(20)
        scene.hub.wait(f"l{i}", "paid", 5)
    assert layout(scene.files).segments[0] > 1
    assert (layout(scene.files).segments[0] > converted + 1) == leaves
    if wanted is False:  # then some of the past is in neither
        scene.is_damaged = True
        with pytest.raises(sj.DamagedError, match="is neither in the log of memory nor in its data set"):
            verify(scene.files)


def test_without_a_data_set_retention_is_as_before() -> None:
    scene = Scene(segment_bytes=500, keep=10)
    for i in range(30):
        scene.hub.wait(f"k{i}", "paid", 50)
        scene.clock.advance(20)
    assert layout(scene.files).segments[0] > 1
    verified = verify(scene.files)
    assert verified.is_same
    assert verified.checked < verified.checked + verified.unchecked == verified.told


def test_an_archive_needs_arrow_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "find_spec", lambda name: None)
    with pytest.raises(sj.ConfigError, match=r"archive=True needs .*pip install 'sojourn\[pipeline\]'"):
        Scene(archive=True)


def test_one_converts_at_a_time() -> None:
    scene = Scene(segment_bytes=500, archive=True)
    with archive.converting(scene.files):
        for i in range(10):
            scene.hub.wait(f"k{i}", "paid", 1_000)
        assert archive.parts(scene.files) == {}
        with pytest.raises(sj.OwnedError):
            convert_sealed(scene.files)
    for i in range(10):
        scene.hub.wait(f"l{i}", "paid", 1_000)
    assert archive.parts(scene.files)


def test_compact_beside_the_owner_converts_what_is_sealed_and_says_who_has_the_rest() -> None:
    scene = Scene(segment_bytes=500)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    done = compact(scene.files, keep=0)
    assert done.owner is not None
    assert "hub 'scene'" in done.owner
    assert done.converted == layout(scene.files).segments[:-1]
    assert done.removed == []


@pytest.mark.usefixtures("in_memory")  # it says which segments there are
def test_compact_without_an_owner_converts_all_and_removes_what_is_old() -> None:
    scene = Scene(segment_bytes=500)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 1_000, id=f"w{i}")
    scene.hub.close()
    last = layout(scene.files).segments[-1]
    done = compact(scene.files, keep=0)
    assert done.owner is None
    assert done.converted[-1] == last
    assert done.removed == done.converted[:-1]
    assert compact(scene.files, keep=0).converted == []
    hub = scene.open()
    assert sorted(wait.id for wait in hub.list()) == sorted(f"w{i}" for i in range(10))
    hub.signal("k3", "paid")
    assert told(scene) == [1]


def test_a_compaction_that_fails_lets_go_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sj.Hub("live", data=tmp_path).close()

    def fail(files: Any) -> list[int]:
        raise sj.StorageError("it cannot be converted")

    monkeypatch.setattr(parquet, "convert_sealed", fail)
    with pytest.raises(sj.StorageError, match="cannot be converted"):
        compact(tmp_path)
    assert open_files(tmp_path) == []
    sj.Hub("again", data=tmp_path).close()


def test_the_pipelines_read_the_folder_while_the_hub_runs(tmp_path: Path) -> None:
    clock = ManualClock(wall_ms=WALL_MS)
    with sj.Hub("live", data=tmp_path, clock=clock, segment_bytes=2_000, archive=True) as hub:  # type: ignore[call-arg]
        for i in range(60):
            hub.wait(f"k{i}", rule=SHIPPED)
            clock.advance(3_600_000 if i == 30 else 10)
            hub.signal(f"k{i}", "paid")
            hub.signal(f"k{i}", "packed")
        events = Source.of(tmp_path / "events").read().events
        outcomes = Source.of(tmp_path / "outcomes").read().events
        result = local.outcomes(events, SHIPPED)
        assert len(result.quarantine) == 0
        days = pa.compute.unique(events["day"]).to_pylist()
        assert [str(day) for day in days] == ["2023-11-14"]
        assert {"completed", "expired"} <= set(result.outcomes["outcome"].to_pylist())
        assert len(outcomes) > 30
        expired = [row["key"] for row in result.outcomes.to_pylist() if row["outcome"] == "expired"]
        assert expired == ["k30"]
        assert verify(tmp_path).is_same
