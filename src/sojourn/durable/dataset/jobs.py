"""A data folder as something to replay: for reports, what-ifs and explanations of a service's own history."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import SourceError
from ...pipeline.files.source import Source
from ...pipeline.replay import Job
from ...rules import Rule
from ..log.folder import opened
from .history import history_of
from .past import Past, read_past
from .verify import part


@contextmanager
def job_of_folder(
    data: str | os.PathLike[str], rules: Sequence[Rule] = (), scratch: str | None = None
) -> Iterator[Job]:
    """What a hub has seen, as a job. The tables are in a scratch folder as long as this lasts.

    Under the hub's own rules the operations are its waits, as `verify` has them. Under other rules they are what the
    events open: the opening of a wait is an event of the kind that its rule names.
    """
    past = read_past(opened(data))
    if not len(past.events):
        raise SourceError(f"{os.fspath(data)!r} has no waits and no signals yet")
    with tempfile.TemporaryDirectory(prefix="sojourn-", dir=scratch) as folder:
        yield _own_job(past, folder, os.fspath(data)) if not rules else _job(past, rules, folder, os.fspath(data))


def _own_job(past: Past, folder: str, name: str) -> Job:
    history = history_of(past)
    rules, operations, events = part(history, set(history.rules), is_rough=False)
    if not rules:
        raise SourceError(f"{name!r} has signals, but no waits: under which rules is it to be replayed? Give --rule")
    sources = [_written(folder, *table) for table in (("events", events), ("operations", operations))]
    return Job(sources[0], tuple(rules), operations=sources[1], as_of=history.as_of, name=name)


def _job(past: Past, rules: Sequence[Rule], folder: str, name: str) -> Job:
    return Job(_written(folder, "events", past.events), tuple(rules), as_of=past.last_stamp, name=name)


def _written(folder: str, name: str, table: pa.Table) -> Source:
    path = Path(folder, f"{name}.parquet")
    pq.write_table(table, path)
    return Source.of(path)
