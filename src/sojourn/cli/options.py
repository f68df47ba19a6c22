"""Options that several commands have: how an event log is read, and where Spark runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from ..errors import ConfigError, RuleError
from ..rules.duration import duration_ms
from ..rules.rule import EVENT_COLUMNS

_EVENTS, _SPARK = "The events", "Spark"

LEAST_MEMORY = 64 * 1024**2


class Engine(StrEnum):
    """Where a log is replayed."""

    SPARK = "spark"
    LOCAL = "local"
    BOTH = "both"


class TimeUnit(StrEnum):
    """What a bare number means where a time is expected."""

    AUTO = "auto"
    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"
    DATES = "yyyymmdd"


KeyColumn = Annotated[str | None, typer.Option("--key", help="Column of keys.", rich_help_panel=_EVENTS)]
KindColumn = Annotated[str | None, typer.Option("--kind", help="Column of kinds.", rich_help_panel=_EVENTS)]
AtColumn = Annotated[str | None, typer.Option("--at", help="Column of times.", rich_help_panel=_EVENTS)]
SourceColumn = Annotated[str | None, typer.Option("--source", help="Column of sources.", rich_help_panel=_EVENTS)]
ValueColumn = Annotated[str | None, typer.Option("--value", help="Column of values.", rich_help_panel=_EVENTS)]
InUnits = Annotated[
    TimeUnit,
    typer.Option("--unit", help="What a bare number means as a time; auto looks at it.", rich_help_panel=_EVENTS),
]
Format = Annotated[
    str | None, typer.Option("--format", help="What the files are, if their names do not say.", rich_help_panel=_EVENTS)
]
Reading = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="How to read them.", rich_help_panel=_EVENTS),
]
AsOfOption = Annotated[
    str,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Where the log ends: a time, log (its latest event), or complete (nothing else will come).",
        rich_help_panel=_EVENTS,
    ),
]
Operations = Annotated[
    str | None,
    typer.Option(
        "--operations",
        metavar="FILE",
        help="A table of operations (operation_id, keys, opened_at, ...), instead of events that open them.",
        rich_help_panel=_EVENTS,
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The cluster; local[*] if none.", rich_help_panel=_SPARK),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="Settings of Spark.", rich_help_panel=_SPARK),
]


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="How much --engine local may use, as in 4g; beyond that, events wait in files. Half of what there is.",
        rich_help_panel="This process",
    ),
]


def columns_of(*names: str | None) -> dict[str, str]:
    """The columns that options name, by what they are for: --key, --kind, --at, --source and --value."""
    return {ours: name for ours, name in zip(EVENT_COLUMNS, names, strict=True) if name is not None}


def is_data_folder(path: str) -> bool:
    """Whether a hub has been given that as its folder."""
    if not os.path.isdir(path):
        return False
    from ..durable.log.folder import is_data_folder as has_log  # noqa: PLC0415  (the durable hub takes a while to load)

    return has_log(path)


def duration_of(option: str, text: str) -> int:
    """The milliseconds of a duration; `ConfigError` that names the option if it is none."""
    with naming(option):
        return duration_ms(text)


@contextmanager
def naming(option: str) -> Iterator[None]:
    """A duration inside that is none is an error that says which option it was given for."""
    try:
        yield
    except RuleError as error:
        raise ConfigError(f"{option}: {error}") from None


def bytes_of(size: str | None) -> int | None:
    """512m, 4g or 4GiB in bytes."""
    if size is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", size.strip().lower())
    amount = 0 if match is None else int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))
    if amount < LEAST_MEMORY:
        raise typer.BadParameter(f"{size!r} is not a size of at least 64m, such as 512m or 4g", param_hint="--memory")
    return amount


def settings(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """NAME=VALUE, several times, as a mapping."""
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, value in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"{name + equals + value!r} is not NAME=VALUE", param_hint=option)
    return {name: value for name, _, value in pairs}
