"""What a replay is to write, and where: no output destroys what something else wrote, or shares its place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlparse

import pyarrow as pa
from pyarrow import parquet

from ...errors import SourceError
from ...pipeline.files.drafts import DISK, Drafts, FileStore
from ...pipeline.files.source import is_remote
from ...pipeline.schema import OUTCOMES, QUARANTINE
from ..overlap import refuse_inputs


class Places(NamedTuple):
    """Where outputs are written before they are moved to where they are wanted; None where nothing is."""

    outcomes: str | None
    quarantine: str | None
    summary: Path | None
    report: Path | None


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is to be written. `aside` is where the quarantine goes, if it is not to be beside the outcomes.

    `is_only_ended` leaves pending operations out of the outcomes.
    """

    outcomes: str | None = None
    summary: Path | None = None
    report: Path | None = None
    is_json: bool = False
    aside: str | None = None
    is_only_ended: bool = False

    @property
    def quarantine(self) -> str | None:
        """Beside the outcomes, under their name: two replays that write side by side do not share it."""
        if self.aside is not None or self.outcomes is None:
            return self.aside
        folder = self.outcomes.rstrip("/") if is_remote(self.outcomes) else os.path.normpath(self.outcomes)
        return f"{folder}-quarantine"

    def check(self) -> None:
        """Refuse to write over what no replay wrote."""
        _check_folder(self.outcomes, OUTCOMES.names, self._files())
        _check_folder(self.quarantine, QUARANTINE.names, self._files())
        for file in self._files():
            if file.is_dir():
                raise SourceError(f"{str(file)!r} is a folder; name a file")

    def refuse_inputs(self, *inputs: str | Path | None) -> None:
        """Refuse to write over what is read, before any of it is read."""
        refuse_inputs(list(self.written()), inputs)

    def drafted(self, drafts: Drafts, store: FileStore = DISK) -> Places:
        """Where to write; the folders are on `store`, the files always on this machine."""
        outcomes, aside = (where and drafts.add(where, store) for where in (self.outcomes, self.quarantine))
        summary, report = (file and Path(drafts.add(str(file))) for file in (self.summary, self.report))
        return Places(outcomes, aside, summary, report)

    def written(self) -> Iterator[tuple[str, str]]:
        """What is written, and where."""
        for what in ("outcomes", "quarantine", "summary", "report"):
            if where := getattr(self, what):
                yield what, str(where)

    def _files(self) -> Sequence[Path]:
        return [file for file in (self.summary, self.report) if file is not None]


def _check_folder(folder: str | None, columns: list[str], own: Sequence[Path]) -> None:
    """Refuse anything but a folder of Parquet files with these columns, and files that are written anew anyway."""
    if folder is None:
        return
    if is_remote(folder):
        _check_remote(folder)
        return
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise SourceError(f"{folder!r} is a file; name a folder, which will hold Parquet files")
    if os.path.ismount(path) or Path.cwd().is_relative_to(path.resolve()):
        inner = os.path.join(folder, "outcomes")
        raise SourceError(f"{folder!r} is in use, so it cannot be replaced; name a folder in it, such as {inner!r}")
    ours = {file.resolve() for file in own}
    entries = path.iterdir() if path.exists() else ()
    others = [file.name for file in entries if file.resolve() not in ours and not _is_ours(file, columns)]
    if others:
        raise SourceError(f"{folder!r} has {others[0]!r} in it, which no replay wrote; name another folder")


def _check_remote(folder: str) -> None:
    """A folder is replaced as a whole, which a bucket cannot be."""
    if not urlparse(folder).path.strip("/"):
        inner = f"{folder.rstrip('/')}/outcomes"
        raise SourceError(f"{folder!r} is a whole file system; name a folder in it, such as {inner!r}")


def _is_ours(file: Path, columns: list[str]) -> bool:
    if file.name.startswith("part-") and file.suffix == ".parquet":
        try:
            return list(parquet.read_schema(file).names) == columns
        except (pa.ArrowInvalid, OSError):
            return False
    return file.name.startswith(("_SUCCESS", "._SUCCESS", ".part-"))
