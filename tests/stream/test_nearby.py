"""Segments as files: what one Python process has written, another one reads; and nothing depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn import ConfigError
from sojourn.pipeline.kernel import NEVER
from sojourn.pipeline.stream.shard import state as shard_state
from sojourn.pipeline.stream.shard.nearby import Nearby
from sojourn.pipeline.stream.shard.processor import SparkStore
from sojourn.pipeline.stream.shard.shard import Head
from sojourn.pipeline.stream.shard.state import HEAD


def test_what_one_process_writes_another_reads(tmp_path: Path) -> None:
    writes, reads = Nearby(tmp_path / "segments"), Nearby(tmp_path / "segments")
    assert reads.get(7) is None
    writes.put(7, b"seven")
    assert reads.get(7) == b"seven"
    reads.drop(7)
    assert writes.get(7) is None


def test_only_the_newest_files_are_left(tmp_path: Path) -> None:
    files = Nearby(tmp_path, limit=10)
    for number in range(5):
        files.put(number, b"1234")
    files.put(5, b"more than there is room for")
    assert [number for number in range(6) if files.get(number)] == [3, 4]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_dropped_makes_room(tmp_path: Path) -> None:
    files = Nearby(tmp_path, limit=10)
    files.put(1, b"12345")
    files.drop(1)
    files.put(2, b"12345")
    files.put(3, b"12345")
    assert files.get(2) == files.get(3) == b"12345"


def test_without_a_folder_or_with_one_that_cannot_be_written_there_is_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "a file"
    taken.write_text("")
    for files in (Nearby(None), Nearby(taken)):
        files.put(1, b"one")
        assert files.get(1) is None
        files.drop(1)


class State:
    """Of one shard: how often a segment was asked for, and what there is."""

    def __init__(self) -> None:
        self.segments: dict[int, bytes] = {}
        self.asked = 0

    def getMapState(self, name: str, key: Any, value: Any) -> State:  # noqa: N802
        return self

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:  # noqa: N802
        self.asked += 1
        return (self.segments[key[0]],) if key[0] in self.segments else None

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:  # noqa: N802
        self.segments[key[0]] = value[0]

    def removeKey(self, key: tuple[int]) -> None:  # noqa: N802
        del self.segments[key[0]]


def test_a_store_asks_the_state_for_what_is_not_nearby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = State()
    monkeypatch.setattr(shard_state, "nearby", lambda: Nearby(tmp_path))
    store = SparkStore(state, "settings")  # type: ignore[arg-type]
    heads = {"rule": Head((7,), 1, NEVER)}
    assert store.heads() == {}
    store.save({}, heads, {7: b"seven"})
    assert store.heads() == heads
    state.asked = 0
    assert (store.segment(7), state.asked) == (b"seven", 0)
    Nearby(tmp_path).drop(7)
    assert (store.segment(7), state.asked) == (b"seven", 1)
    Nearby(tmp_path).put(7, b"seven")
    store.save(heads, {}, {})
    assert (list(state.segments), store.heads(), list(tmp_path.iterdir())) == ([HEAD], {}, [])


def test_what_another_stream_has_kept_is_refused() -> None:
    state = State()
    SparkStore(state, "settings").save({}, {"rule": Head((7,), 1, NEVER)}, {7: b"seven"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="start with a new checkpoint"):
        SparkStore(state, "other settings").heads()  # type: ignore[arg-type]
