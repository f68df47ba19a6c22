"""The index is disposable: missing, stale or damaged, it is made anew, and the log is always right."""

from __future__ import annotations

import gc
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import sojourn as sj
from durable.scene import WALL_MS
from sojourn.durable import DurableHub
from sojourn.durable.index import rows
from sojourn.durable.index.filter import Filter
from sojourn.durable.index.index import Index, Mark
from sojourn.durable.state.where import Where, end_of_prefix
from sojourn.testing import ManualClock

NAME = "index.db"


def hub_in(folder: Path, **options: object) -> DurableHub:
    hub = sj.Hub("real", data=folder, **{"memory": 0, "clock": ManualClock(wall_ms=WALL_MS)} | options)  # type: ignore[call-arg]
    assert isinstance(hub, DurableHub)
    return hub


def fill(folder: Path, key: str = "k", **options: object) -> None:
    with hub_in(folder, **options) as hub:
        hub.wait_many([f"{key}{i}" for i in range(50)], "paid", 1_000, ids=[f"w{i}" for i in range(50)])
        hub.signal(f"{key}7", "paid")
        hub.extend("w8", 5_000)


def check(folder: Path) -> None:
    with hub_in(folder) as hub:
        hub._engine.state.check()
        assert hub.pending == 49
        assert hub.signal_many([(f"k{i}", "paid") for i in range(50)]) == 49
        assert len({outcome.operation_id for outcome in hub.outcomes()}) == 50


def about(folder: Path, name: str, value: object) -> None:
    (folder / f"{NAME}-sum").unlink()  # as if it had not been closed
    with sqlite3.connect(folder / NAME) as db:
        assert db.execute("UPDATE about SET value = ? WHERE name = ?", (value, name)).rowcount == 1
    db.close()


def test_an_index_that_was_closed_is_used_again(tmp_path: Path) -> None:
    fill(tmp_path)
    index = Index(str(tmp_path / NAME))
    assert index.mark is not None
    index.close()
    check(tmp_path)


def test_a_missing_index_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / NAME).unlink()
    check(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"), [("boot", "another"), ("format", 99), ("mark", "[1, 2"), ("filter", "{}"), ("bits", b"odd")]
)
def test_an_index_of_another_boot_or_format_is_made_anew(tmp_path: Path, name: str, value: object) -> None:
    fill(tmp_path)
    about(tmp_path, name, value)
    index = Index(str(tmp_path / NAME))
    assert index.mark is None
    index.close()
    check(tmp_path)


def test_an_index_of_another_log_is_made_anew(tmp_path: Path) -> None:
    """Such as a folder that was restored from a backup, except for the index."""
    fill(tmp_path / "here")
    fill(tmp_path / "there", "other", clock=ManualClock(wall_ms=WALL_MS + 1))
    for name in (NAME, f"{NAME}-sum"):
        (tmp_path / "there" / name).rename(tmp_path / "here" / name)
    check(tmp_path / "here")


def test_an_index_ahead_of_the_log_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path)
    index = Index(str(tmp_path / NAME))
    assert index.mark is not None
    far = index.mark._replace(offset=10**9)
    with index.transaction():
        index.finish(far, index.parts(), [])
    index.close()
    check(tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_index_is_noticed_and_made_anew(tmp_path: Path, seed: int) -> None:
    fill(tmp_path)
    path, random = tmp_path / NAME, Random(seed)
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    check(tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_damage_while_it_was_open_is_an_error_at_most(tmp_path: Path, seed: int) -> None:
    fill(tmp_path)
    (tmp_path / f"{NAME}-sum").unlink()
    path, random = tmp_path / NAME, Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(200):
        data[random.randrange(100, len(data))] ^= 0x55
    path.write_bytes(data)
    hub = hub_in(tmp_path)
    for i in range(50):
        with suppress(sj.StorageError):
            hub.signal(f"k{i}", "paid")
    hub.close()
    assert len(list(sj.read(tmp_path).outcomes())) <= 50


def change_rows(folder: Path) -> None:
    (folder / f"{NAME}-sum").unlink()  # as if it had not been closed
    with sqlite3.connect(folder / NAME) as db:
        assert db.execute("UPDATE waits SET row = replace(row, '\"k9\"', '\"k0\"')").rowcount == 49
    db.close()


def test_an_index_that_failed_is_not_asked_again(tmp_path: Path) -> None:
    fill(tmp_path)
    change_rows(tmp_path)
    with hub_in(tmp_path) as hub:
        with pytest.raises(sj.StorageError, match="is made anew from the log: ask again"):
            hub.wait("k9", "paid", 1_000, id="w9")
        assert hub.wait("k9", "paid", 1_000, id="w9").id == "w9"
        assert hub.pending == 49


def test_a_changed_row_is_noticed_and_the_log_believed(tmp_path: Path) -> None:
    fill(tmp_path)
    change_rows(tmp_path)
    hub = hub_in(tmp_path)
    with pytest.raises(sj.StorageError, match="is made anew from the log: ask again"):
        hub.signal("k9", "paid")
    assert hub.signal("k9", "paid") == 1
    assert hub.signal("k0", "paid") == 1
    hub.close()


@pytest.mark.parametrize("column", ["seq", "plan", "opened_at", "deadline", "within_ms"])
def test_a_changed_entry_of_a_plain_wait_is_noticed_too(tmp_path: Path, column: str) -> None:
    with hub_in(tmp_path) as hub:
        hub.wait_many(["a", "b"], "paid", 1_000)
    (tmp_path / f"{NAME}-sum").unlink()  # as if it had not been closed
    with sqlite3.connect(tmp_path / NAME) as db:
        assert db.execute(f"UPDATE by_key SET {column} = {column} + 8 WHERE key = 'b'").rowcount == 1
    db.close()
    with hub_in(tmp_path) as hub:
        with pytest.raises(sj.StorageError, match="is made anew from the log: ask again"):
            hub.signal("b", "paid")
        assert hub.signal_many([("a", "paid"), ("b", "paid")]) == 2


def test_a_key_leads_to_what_its_wait_is_now_plain_or_not(tmp_path: Path) -> None:
    kept = [("plain", {}), ("id", {"id": "w"}), ("payload", {"payload": 7}), ("extended", {}), ("shifted", {})]
    with hub_in(tmp_path) as hub:
        opened = {name: hub.wait(name, "paid", 1_000, **options) for name, options in kept}
        opened["first"] = opened["second"] = hub.wait(["first", "second"], "paid", 1_000)
    with hub_in(tmp_path) as hub:
        hub.extend("#4", 3_000)
        hub.shift(key_prefix="shifted", by=2_000)
    with hub_in(tmp_path) as hub:
        assert not hub._engine.state.waits
        found = {name: hub.list(name)[0] for name in opened}
        assert {name: (wait.id, wait.keys, wait.payload) for name, wait in found.items()} == {
            name: (wait.id, wait.keys, wait.payload) for name, wait in opened.items()
        }
        later = {name: wait.deadline - opened[name].deadline for name, wait in found.items()}
        assert later == dict.fromkeys(opened, 0) | {"extended": 2_000, "shifted": 2_000}
        hub._engine.state.check()


def test_a_kill_while_the_index_is_written_leaves_the_old_one(tmp_path: Path) -> None:
    fill(tmp_path)
    index = Index(str(tmp_path / NAME))
    mark = index.mark
    with suppress(KeyboardInterrupt), index.transaction():
        index.remove(range(1, 51))
        raise KeyboardInterrupt
    assert index.mark == mark
    assert len(index.seqs(Where())) == 49
    index.close()
    check(tmp_path)


def test_a_filter_never_denies_what_it_has() -> None:
    random = Random(3)
    kept = {f"{random.getrandbits(60):x}" for _ in range(20_000)}
    filter_ = Filter(20_000)
    filter_.add(kept)
    assert all(map(filter_.may_have, kept))
    again = Filter(20_000, filter_.to_bytes(), filter_.added)
    assert all(map(again.may_have, kept))
    assert sum(again.may_have(f"other-{i}") for i in range(20_000)) < 600
    assert not again.is_full
    again.add(["one more"])
    assert again.is_full


def test_a_full_filter_is_made_anew_and_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.durable.index.index.SMALLEST_FILTER", 8)
    fill(tmp_path)
    index = Index(str(tmp_path / NAME))
    assert index.filter.capacity > 8
    assert all(index.filter.may_have(f"k{i}") and index.filter.may_have(rows.ID + f"w{i}") for i in range(50) if i != 7)
    index.close()
    check(tmp_path)


def test_the_end_of_a_prefix() -> None:
    assert [end_of_prefix(text) for text in ("a", "a\U0010ffff", "\U0010ffff", "\ud7ff")] == ["b", "b", None, "\ue000"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_undo_what_its_parent_is_writing(tmp_path: Path) -> None:
    index = Index(str(tmp_path / NAME))
    mark = Mark(1, 0, [1, 0, 0, 1], 3, 2, 0)
    with index.transaction():
        index.put_new([[1, "a", ["k"], 1, 0, 9, 9, None, None, None, None]], 0)
        child = os.fork()
        if child == 0:
            index.leave_behind()
            index.__del__()
            del index
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        index.finish(mark, [], [])
    assert [found.row[1] for found in index.on_keys(["k"])] == ["a"]
    index.close()
    again = Index(str(tmp_path / NAME))
    assert again.mark == mark
    again.close()
