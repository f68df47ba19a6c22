"""Event logs in files: which there are, what they are, and how to read them into an Arrow table.

Text formats are read as text, so that no key loses its zeros and no time its zone: the engines read times and numbers
out of text themselves. A line that is not even CSV or JSON is kept, for the quarantine.
"""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import pyarrow as pa
from pyarrow import dataset

from ...errors import SourceError
from . import meanings, texts, xes
from .blocks import PACKED
from .options import CsvFormat
from .parts import Part, TablePart, csv_names, csv_parts, dataset_parts, json_parts, nothing, table_parts
from .parts import ReadLog as ReadLog

FORMATS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
    "xes": (".xes", ".xes.gz"),
    "orc": (".orc",),
    "arrow": (".arrow", ".feather"),
}
"""What a file's name says of its format."""


@dataclass(frozen=True, slots=True)
class Source:
    """An event log in a file, in all files of a folder, or in those that a pattern matches.

    `options` are named as Spark names them.
    """

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(path: str | Path, format: str | None = None, options: Mapping[str, str] | None = None) -> Source:
        """The log at a path; its format is taken from the names of its files, unless it is given."""
        where = os.fspath(path)
        chosen = format or _format_of(where)
        given = dict(options or {})
        if chosen == "csv" and _has_tabs(where) and not {"sep", "delimiter"} & {name.lower() for name in given}:
            given["sep"] = "\t"
        return Source(where, chosen, given)

    @property
    def columns(self) -> Mapping[str, str]:
        """What the format itself calls our columns, if it does."""
        return xes.COLUMNS if self.format == "xes" else {}

    def names(self) -> list[str] | None:
        """The names of its columns, if its files tell them without being read: to check them before Spark starts."""
        if self.format not in _DATASETS or self.options or not files_at(self.path):
            return None
        return list(_dataset(self).schema.names)

    def read(self) -> ReadLog:
        """The whole log, in this process."""
        reader = _READERS.get(self.format)
        if reader is None:
            raise SourceError(f"format {self.format!r} needs Spark; without it there are {', '.join(_READERS)}")
        return reader(self)

    def parts(self, dictionary_columns: Collection[str] = (), memory: int | None = None) -> Iterator[Part]:
        """The log part by part; there is at least one. The columns that are named have few different values.

        What has to be read whole to know its columns is read twice, if it may need more than `memory`.
        """
        if self.format in _DATASETS:
            _refuse_options(self)
            yield from dataset_parts(_dataset(self, dictionary_columns))
        elif self.format == "csv":
            paths, format = files_of(self.path), CsvFormat.of(self.options)
            names = csv_names(paths, format)
            check_any(names, self)
            yield from csv_parts(paths, format, names)
        elif memory is None or self.format not in _TWICE or sum(map(_unpacked_most, files_at(self.path))) < memory:
            yield from table_parts(self.read())
        else:
            yield from _TWICE[self.format](self)

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(os.path.getsize(path) for path in files_at(self.path))


def is_remote(path: str) -> bool:
    """Whether the path names a file system, as in s3://bucket/events."""
    return "://" in path


def is_in(path: PurePath, source: PurePath) -> bool:
    """Whether a path is the source, or in it; or matches its pattern, or is in a folder that does."""
    return any(at == source or at.match(str(source)) for at in (path, *path.parents))


def files_of(path: str) -> list[str]:
    """The files of a log, of which there are some."""
    files = files_at(path)
    if not files:
        raise SourceError(_nothing_at(path))
    return files


def files_at(path: str) -> list[str]:
    """The files on this machine: those of a folder and below, or those that a pattern matches, in order of name."""
    return [file for name in _matched(path) for file in _below(Path(name))]


def folders_at(path: str) -> set[str]:
    """The names of the folders below the path in which files are."""
    files = [(name, file) for name in _matched(path) for file in _below(Path(name))]
    return {part for name, file in files for part in Path(file).relative_to(name).parts[:-1]}


def check_any(names: Iterable[str], source: Source) -> Iterable[str]:
    """The names of the columns of a text file, of which there are some."""
    if not names:
        what = "no header" if source.format == "csv" else "no JSON object on any line"
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: it has {what}")
    return names


def _matched(path: str) -> list[str]:
    """What a pattern matches, or the path itself."""
    is_pattern = glob.has_magic(path) and not Path(path).exists()
    return sorted(glob.glob(path, recursive=True)) if is_pattern else [path]


def _below(path: Path) -> list[str]:
    """The file itself, or the files in the folder; as in Spark, names that start with _ or . are not data."""
    if not path.is_dir():
        return [str(path)] if path.exists() else []
    inner = (file for file in sorted(path.rglob("*")) if file.is_file())
    return [str(file) for file in inner if not any(part[0] in "_." for part in file.relative_to(path).parts)]


def _nothing_at(path: str) -> str:
    if glob.has_magic(path):
        return f"no file matches {path!r}"
    if Path(path).is_dir():
        return f"the folder {path!r} has no files in it"
    folder = Path(path).parent
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    if not folder.is_dir():
        return f"there is no {path!r}: the folder {str(folder)!r} does not exist"
    close = difflib.get_close_matches(Path(path).name, names, n=1)
    return f"there is no {path!r}" + (f"; did you mean {str(folder / close[0])!r}?" if close else "")


def _format_of(path: str) -> str:
    """What the first file is called decides."""
    name = path if is_remote(path) else files_of(path)[0]
    for found, endings in FORMATS.items():
        if name.lower().endswith(endings):
            return found
    known = ", ".join(endings[0] for endings in FORMATS.values())
    raise SourceError(f"the name {name!r} does not say which format it is; known are {known}; or name it with --format")


def _has_tabs(path: str) -> bool:
    """What the first file is called decides that too."""
    first = [] if is_remote(path) else files_at(path)[:1]
    return (first or [path])[0].lower().endswith((".tsv", ".tsv.gz"))


def _from_dataset(source: Source) -> ReadLog:
    _refuse_options(source)
    with readable(source):
        return ReadLog(meanings.read(_dataset(source)), nothing())


def _dataset(source: Source, dictionary_columns: Collection[str] = ()) -> dataset.Dataset:
    where = source.path if is_remote(source.path) else files_of(source.path)
    format = meanings.parquet_format(dictionary_columns) if source.format == "parquet" else source.format
    with readable(source):
        found = dataset.dataset(where, format=format, partitioning="hive")
        if next(found.get_fragments(), None) is None:  # a folder elsewhere: of those here `files_of` knows
            raise SourceError(f"the folder {source.path!r} has no files in it")
        return found.replace_schema(meanings.with_all_columns(found))


@contextmanager
def readable(source: Source) -> Iterator[None]:
    """Whatever Arrow finds wrong with a log while it reads is an error that names the log."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: {error}") from None


def _from_text(source: Source) -> ReadLog:
    read = texts.read_csv if source.format == "csv" else texts.read_json
    rows = read(files_of(source.path), source.options)
    check_any(rows.table.column_names, source)
    return ReadLog(rows.table, rows.quarantine())


def _from_xes(source: Source) -> ReadLog:
    _refuse_options(source)
    return ReadLog(xes.united([xes.read_table(file) for file in files_of(source.path)]), nothing())


def _json_parts(source: Source) -> Iterator[Part]:
    paths = files_of(source.path)
    schema = texts.json_schema(paths, source.options)
    check_any(schema.names, source)
    return json_parts(paths, schema)


def _xes_parts(source: Source) -> Iterator[Part]:
    _refuse_options(source)
    paths = files_of(source.path)
    schema = xes.common_schema(chunk.schema for path in paths for chunk in xes.read_chunks(path))
    for path in paths:
        for chunk in xes.read_chunks(path):
            yield TablePart(ReadLog(xes.fitted(chunk, schema), nothing()))


def _unpacked_most(path: str) -> int:
    """How many bytes the rows of a file may take up, roughly: texts as texts, ten times that if they are packed."""
    return os.path.getsize(path) * (10 if path.lower().endswith(tuple(PACKED)) else 1)


def _refuse_options(source: Source) -> None:
    if source.options:
        names = ", ".join(source.options)
        raise SourceError(f"option {names} is for Spark: without it, {source.format} takes none")


_DATASETS = ("parquet", "orc", "arrow")
_TWICE: dict[str, Callable[[Source], Iterator[Part]]] = {"json": _json_parts, "xes": _xes_parts}
_READERS: dict[str, Callable[[Source], ReadLog]] = {
    "parquet": _from_dataset,
    "csv": _from_text,
    "json": _from_text,
    "xes": _from_xes,
    "orc": _from_dataset,
    "arrow": _from_dataset,
}
