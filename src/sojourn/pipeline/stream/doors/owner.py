"""Which stream a folder of outcomes belongs to: a file in it is named after the stream's id, as its checkpoint has it.
And no stream writes where it reads.

Micro-batches are numbered from 0 on in every checkpoint. So where two streams share a folder, what one writes looks
like what the other has already written.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import PurePosixPath
from typing import Any

from pyspark.sql import DataFrame

from ....errors import ConfigError
from ...files.source import is_in
from ..checkpoint.files import Files

_PATH = "path"

OWNER = "_owner-"
"""Readers of tables skip names that begin with an underscore."""


def claim(files: Files, folder: str, tables: Iterable[str], stream: str, checkpoint: str) -> None:
    """Take a folder for a stream, or refuse it: it is another stream's, or has tables of unknown origin.

    It looks for others before and after: of two streams that come at once, at least one sees the other. If both do,
    both are refused, and nothing is lost.
    """
    _check_others(files, folder, stream)
    mine = f"{folder}/{OWNER}{stream}"
    if files.exists(mine):
        return
    for table in tables:
        if files.names(f"{folder}/{table}"):
            raise ConfigError(
                f"{folder}/{table} has rows, and nothing shows that they are of the stream whose checkpoint "
                f"is {checkpoint}; write to another folder"
            )
    files.write(mine, files.full(checkpoint))
    try:
        _check_others(files, folder, stream)
    except ConfigError:
        files.delete(mine)
        raise


def folders_read(stream: DataFrame) -> list[str]:
    """The folders, and patterns, of files that a stream reads, as Spark's plan has them."""
    leaves: Any = stream._jdf.queryExecution().logical().collectLeaves()
    plans = [leaves.apply(place) for place in range(leaves.size())]
    files = [plan.dataSource().options() for plan in plans if plan.getClass().getSimpleName() == "StreamingRelation"]
    return [options.apply(_PATH) for options in files if options.contains(_PATH)]


def refuse_sources(files: Files, sources: Iterable[str], places: Iterable[str]) -> None:
    """Refuse a place to write that is in a folder which the stream reads."""
    for source, place in product(sources, places):
        if is_in(PurePosixPath(files.full(place)), PurePosixPath(files.full(source))):
            raise ConfigError(
                f"{place} is in {source}, which this stream reads: what it writes would come in as events; "
                "write to a folder elsewhere"
            )


def _check_others(files: Files, folder: str, stream: str) -> None:
    for name in files.names(folder):
        if name.startswith(OWNER) and name != OWNER + stream:
            raise ConfigError(
                f"{folder} has the outcomes of another stream, whose checkpoint is {_checkpoint(files, folder, name)}; "
                "go on with that checkpoint, or write to another folder"
            )


def _checkpoint(files: Files, folder: str, name: str) -> str:
    return files.read(f"{folder}/{name}") or "not known"
