"""What a replay is asked to do: a job, from the arguments of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...pipeline.columns.times import time_of
from ...pipeline.files.source import Source, is_remote
from ...pipeline.replay import Job
from ...pipeline.results.deadlines import Deadline, deadlines
from ...pipeline.schema import Unit
from ...rules import AsOf, Rule
from ..options import is_data_folder, naming


def job_of(
    events: str,
    rules: Sequence[Path],
    *,
    columns: Mapping[str, str],
    unit: Unit = "auto",
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    operations: str | None = None,
    what_if: str | None = None,
    by: str | None = None,
    as_of: str = "log",
) -> Job:
    """A job from the arguments of the command line."""
    return Job(
        Source.of(events, format, options),
        tuple(Rule.from_toml(path) for path in rules),
        columns,
        unit,
        None if operations is None else Source.of(operations),
        _deadlines(what_if),
        by,
        _end(as_of, unit),
    )


def _deadlines(what_if: str | None) -> tuple[Deadline, ...]:
    with naming("--what-if"):
        return deadlines(what_if) if what_if else ()


def _end(as_of: str, unit: Unit) -> AsOf:
    """Where the log ends, as --as-of says it."""
    if as_of == "log" or as_of == "complete":  # one by one, as the types want it
        return as_of
    return time_of("--as-of", as_of, unit, "log", "complete")


@contextmanager
def opened_job(events: str, rules: Sequence[Path] | None, **asked: Any) -> Iterator[Job]:
    """The same; or, of the data folder of a hub, a job with the hub's own rules and waits, unless rules are given."""
    if not is_remote(events) and is_data_folder(events):
        from ...durable.dataset.jobs import job_of_folder  # noqa: PLC0415  (only who has a folder pays for it)

        with job_of_folder(events, [Rule.from_toml(path) for path in rules or ()], scratch=None) as job:
            yield replace(job, **_asked_of_folder(**asked))
    else:
        yield job_of(events, rules or (), **asked)


def _asked_of_folder(
    *, what_if: str | None = None, by: str | None = None, as_of: str = "log", unit: Unit = "auto", **others: Any
) -> dict[str, Any]:
    """What can be asked of a data folder: how it is to be read, it knows itself."""
    for name, given in others.items():
        if given:
            raise ConfigError(f"{name} is given, and a data folder says itself how it is read; leave that out")
    asked: dict[str, Any] = {"what_if": _deadlines(what_if), "by": by}
    return asked if as_of == "log" else asked | {"as_of": _end(as_of, unit)}  # a folder knows where its log ends
