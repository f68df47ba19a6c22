"""Outputs come into their places together, or not at all; and nothing is left lying about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn import SourceError
from sojourn.pipeline.files.drafts import Disk, Drafts, is_device


class Refusing(Disk):
    """A file system on which the moves with these numbers fail."""

    def __init__(self, *refused: int, error: BaseException | None = None) -> None:
        self._refused = refused
        self._error = error or OSError(28, "No space left on device")
        self.moves = 0

    def rename(self, old: str, new: str) -> None:
        self.moves += 1
        if self.moves in self._refused:
            raise self._error
        super().rename(old, new)


def tree(folder: Path) -> dict[str, str]:
    """All files and what is in them, and the empty folders."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_text()
        elif not any(path.iterdir()):
            found[str(path.relative_to(folder))] = "an empty folder"
    return found


def write(draft: str, text: str) -> None:
    """A folder with one file."""
    os.makedirs(draft)
    Path(draft, "part").write_text(text)


def publish(folder: Path, store: Disk) -> None:
    """Two tables."""
    with Drafts() as drafts:
        for name in ("one", "two"):
            write(drafts.add(str(folder / name), store), "new")
        drafts.publish()


def test_nothing_is_in_its_place_before_everything_is_published(tmp_path: Path) -> None:
    with Drafts() as drafts:
        folder, file = drafts.add(str(tmp_path / "table")), drafts.add(str(tmp_path / "deep" / "file"))
        write(folder, "rows")
        Path(file).write_text("words")
        assert not (tmp_path / "table").exists()
        drafts.publish()
        assert tree(tmp_path) == {"deep/file": "words", "table/part": "rows"}
    assert tree(tmp_path) == {"deep/file": "words", "table/part": "rows"}


def test_what_was_there_before_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write(str(tmp_path / "table"), "old")
    (tmp_path / "table" / "more").write_text("old")
    with Drafts() as drafts:
        write(drafts.add(str(tmp_path / "table")), "new")
        drafts.publish()
    assert tree(tmp_path) == {"table/part": "new"}


def test_what_is_not_published_leaves_no_trace_not_even_folders(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with Drafts() as drafts:
        write(drafts.add(str(tmp_path / "there" / "a" / "table")), "rows")
        Path(drafts.add(str(tmp_path / "b" / "c" / "file"))).write_text("words")
    assert tree(tmp_path) == {"there": "an empty folder"}


@pytest.mark.parametrize("refused", [1, 2, 3, 4])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_move_that_fails_undoes_those_before_it(tmp_path: Path, refused: int, error: BaseException) -> None:
    for name in ("one", "two"):
        write(str(tmp_path / name), "old")
    before = tree(tmp_path)
    with pytest.raises(type(error)):
        publish(tmp_path, Refusing(refused, error=error))
    assert tree(tmp_path) == before


def test_where_nothing_was_before_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        publish(tmp_path, Refusing(2))
    assert tree(tmp_path) == {}


def test_what_cannot_be_restored_is_kept_and_named(tmp_path: Path) -> None:
    """The second can neither be moved into its place nor back; the first is put back all the same."""
    for name in ("one", "two"):
        write(str(tmp_path / name), f"old {name}")
    with pytest.raises(SourceError, match=r"could not be put back: '.*/two' is now '.*/before/two'$"):
        publish(tmp_path, Refusing(4, 5))
    assert "old two" in tree(tmp_path).values()
    assert tree(tmp_path)["one/part"] == "old one"


def test_an_output_inside_another_comes_with_it(tmp_path: Path) -> None:
    write(str(tmp_path / "table"), "old")
    with Drafts() as drafts:
        write(drafts.add(str(tmp_path / "table")), "new")
        Path(drafts.add(str(tmp_path / "table" / "summary"))).write_text("counts")
        drafts.publish()
    assert tree(tmp_path) == {"table/part": "new", "table/summary": "counts"}


@pytest.mark.parametrize("second", ["x/table", "x", "x/table/"])
def test_two_outputs_in_one_place_are_refused(tmp_path: Path, second: str) -> None:
    with Drafts() as drafts:
        drafts.add(str(tmp_path / "x" / "table"))
        with pytest.raises(SourceError, match="two outputs"):
            drafts.add(f"{tmp_path}/{second}")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with Drafts() as drafts:
        Path(drafts.add(str(tmp_path / "link"))).write_text("new")
        drafts.publish()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_as_it_is() -> None:
    with Drafts() as drafts:
        assert drafts.add("/dev/null") == "/dev/null"
        assert drafts.add("/dev/stdout") == "/dev/stdout"
        drafts.publish()
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("path", ["/dev/shm/out.parquet", "/dev/../tmp/out", "/developer/out"])
def test_a_folder_in_memory_is_a_folder(path: str) -> None:
    assert not is_device(path)
