"""A folder of outcomes is of one stream: none may lose what another has written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from sojourn import ConfigError
from sojourn.pipeline.stream.checkpoint.files import Files
from sojourn.pipeline.stream.doors import lakes
from sojourn.pipeline.stream.doors.owner import OWNER, claim
from sojourn.pipeline.stream.doors.sink import OUTCOMES, QUARANTINE, MicroBatch, Sink
from stream.local_files import LocalFiles

TABLES = [OUTCOMES, QUARANTINE]


def claimed(files: LocalFiles, out: Path, stream: str) -> None:
    claim(files, str(out), TABLES, stream, f"state-{stream}")  # type: ignore[arg-type]


def owners(out: Path) -> list[str]:
    return sorted(entry.name.removeprefix(OWNER) for entry in out.glob(f"{OWNER}*"))


def test_a_stream_goes_on_in_its_own_folder(tmp_path: Path) -> None:
    claimed(LocalFiles(), tmp_path, "a")
    (tmp_path / OUTCOMES / "batch=0").mkdir(parents=True)
    claimed(LocalFiles(), tmp_path, "a")
    assert owners(tmp_path) == ["a"]


def test_another_stream_is_refused_and_told_whose_the_folder_is(tmp_path: Path) -> None:
    claimed(LocalFiles(), tmp_path, "a")
    with pytest.raises(ConfigError, match=r"of another stream, whose checkpoint is .*/state-a; go on with that"):
        claimed(LocalFiles(), tmp_path, "b")
    assert owners(tmp_path) == ["a"]


@pytest.mark.parametrize("table", TABLES)
def test_a_folder_with_rows_of_nobody_knows_whom_is_refused(tmp_path: Path, table: str) -> None:
    """As older versions left them, and as a replay does."""
    (tmp_path / table / "batch=0").mkdir(parents=True)
    with pytest.raises(ConfigError, match=f"{table} has rows, and nothing shows that they are of the stream"):
        claimed(LocalFiles(), tmp_path, "a")
    assert owners(tmp_path) == []


class Meeting(LocalFiles):
    """At the moment of writing, before or after it, somebody else comes along."""

    def __init__(self, other: Callable[[], None], *, is_before: bool) -> None:
        self._other, self._is_before = other, is_before

    def write(self, path: str, text: str) -> None:
        if self._is_before:
            self._other()
        super().write(path, text)
        if not self._is_before:
            self._other()


@pytest.mark.parametrize("is_before", [True, False])
def test_of_two_that_come_at_once_one_at_most_gets_the_folder(tmp_path: Path, is_before: bool) -> None:
    started = []

    def start(files: LocalFiles, stream: str) -> None:
        try:
            claimed(files, tmp_path, stream)
        except ConfigError:
            return
        started.append(stream)

    start(Meeting(lambda: start(LocalFiles(), "b"), is_before=is_before), "a")
    assert started == (["b"] if is_before else ["a"])
    assert owners(tmp_path) == started


class Written:
    """A table that notes how it is written."""

    def __init__(self) -> None:
        self.transactions: list[tuple[str, str]] = []

    @property
    def write(self) -> Written:
        return self

    def format(self, name: str) -> Written:
        return self

    def mode(self, name: str) -> Written:
        return self

    def options(self, *, txnAppId: str, txnVersion: str) -> Written:  # noqa: N803
        self.transactions.append((txnAppId, txnVersion))
        return self

    def save(self, path: str) -> None:
        pass

    @property
    def sparkSession(self) -> None:  # noqa: N802
        return None


def test_delta_knows_the_micro_batches_of_two_streams_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lakes, "has_class", lambda spark, name: True)
    monkeypatch.setattr(lakes, "writing", nullcontext)
    delta, rows = lakes.Delta(None, "out"), Written()  # type: ignore[arg-type]
    for batch in (MicroBatch("a", 0), MicroBatch("a", 1), MicroBatch("b", 0), MicroBatch("a", 0)):
        delta(rows, OUTCOMES, batch)  # type: ignore[arg-type]
    first, second, other, again = rows.transactions
    assert first == again
    assert len({first, second, other}) == 3


def test_the_key_of_a_micro_batch_is_no_other_ones() -> None:
    batches = [MicroBatch("a", 0), MicroBatch("a", 1), MicroBatch("b", 0)]
    assert len({batch.key for batch in batches}) == 3
    assert MicroBatch("a", 1).key == batches[1].key


def test_a_session_of_spark_connect_is_told_what_it_cannot_do() -> None:
    with pytest.raises(ConfigError, match=r"a session of Spark Connect does not reach.*outcomes\.writeStream"):
        Files(object())  # type: ignore[arg-type]


def test_a_sink_claims_its_folder_for_the_stream_before_it_starts() -> None:
    claims: list[Any] = []

    class Folder:
        def claim(self, *whose: str) -> None:
            claims.append(whose)

    Sink(lambda *batch: None, Folder()).claim("a", "state")  # type: ignore[arg-type]
    assert claims == [("a", "state")]
