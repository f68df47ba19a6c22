"""What a checkpoint was written under: a stream goes on with the same, or not at all."""

from __future__ import annotations

import json
from hashlib import sha256
from uuid import uuid4

import pyarrow as pa

from ...errors import ConfigError
from ...rules import Rule, duration_text
from .files import Files
from .shape import Shape

FILE = "sojourn.json"
"""In a checkpoint: its settings, and the id of its stream."""

FORMAT = 3
"""The version of the state's format."""

GIVEN = "a stream of their own"
"""Where operations come from, if not from the events: the setting `operations`."""

Settings = dict[str, str | int | bool]

_NAMES = {"id", "format", "rule", "columns", "unit", "numbers", "late", "shards", "eager"}


def settings_of(shape: Shape, late_ms: int, shards: int) -> Settings:
    """All that changes what an event means, or what is kept of it."""
    return {
        "format": FORMAT,
        "rule": _without_columns(shape.rule).to_toml(),
        "columns": "\n".join(f"{ours} = {theirs}" for ours, theirs in shape.plan.columns.items()),
        "unit": shape.plan.unit,
        "numbers": "\n".join(f"{number} {type_text(kind)}" for number, kind in shape.numbers.items()),
        "late": duration_text(late_ms),
        "shards": shards,
        "eager": shape.is_eager,
    }


def type_text(kind: pa.DataType) -> str:
    """int64, double or, for example, decimal128(10,2)."""
    return str(kind).replace(" ", "")


def type_of(text: str) -> pa.DataType:
    """The type whose `type_text` this is."""
    if text.startswith("decimal"):
        make = pa.decimal128 if text.startswith("decimal128") else pa.decimal256
        return make(*map(int, text[text.index("(") + 1 : -1].split(",")))
    return {"int64": pa.int64(), "double": pa.float64()}[text]


def _without_columns(rule: Rule) -> Rule:
    """Columns are compared separately: it does not matter whether the rule or an option names them."""
    return Rule(rule.name, rule.opens, rule.until, rule.within, rule.per, rule.cancels, rule.keeps_alive)


def fingerprint(settings: Settings) -> str:
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def identified(files: Files, checkpoint: str, settings: Settings) -> str:
    """The id of a checkpoint's stream. A new checkpoint gets a new one, and keeps it with the settings.

    A checkpoint that was written under other settings is refused.
    """
    kept = kept_settings(files, checkpoint)
    if kept is None:
        kept = {"id": uuid4().hex, **settings}
        files.write_whole(f"{checkpoint.rstrip('/')}/{FILE}", json.dumps(kept, indent=2))
    check_same(kept, settings, checkpoint)
    return str(kept["id"])


def kept_settings(files: Files, checkpoint: str) -> Settings | None:
    """What a checkpoint says of itself; None if it says nothing."""
    file = f"{checkpoint.rstrip('/')}/{FILE}"
    try:
        text = files.read(file)
        kept = None if text is None else json.loads(text)
    except ValueError as error:
        raise ConfigError(_unreadable(file, str(error))) from None
    if kept is not None and not _is_ours(kept):
        raise ConfigError(_unreadable(file, "that is not what a stream writes there"))
    return kept


def checked_settings(files: Files, checkpoint: str) -> Settings:
    """What the checkpoint of a stream says of itself; `ConfigError` if it is none, or another version's."""
    kept = kept_settings(files, checkpoint)
    if kept is None:
        raise ConfigError(f"{checkpoint!r} is not the checkpoint of a Sojourn stream: there is no {FILE} in it")
    if "operations" in kept:
        raise ConfigError(f"{checkpoint!r} is of a stream with operations from {GIVEN}: what it holds cannot be shown")
    if kept["format"] != FORMAT:
        raise ConfigError(f"{checkpoint!r} has format {kept['format']}, of another version; this one has {FORMAT}")
    return kept


def _is_ours(kept: object) -> bool:
    """Other formats may have other names."""
    return isinstance(kept, dict) and "format" in kept and (kept["format"] != FORMAT or kept.keys() >= _NAMES)


def _unreadable(file: str, why: str) -> str:
    return (
        f"{file}, which says what the checkpoint was written under, cannot be read: {why}; "
        "put it back from a copy, or start with a new checkpoint and a new folder for the outcomes"
    )


def check_same(old: Settings, new: Settings, where: str) -> None:
    """`ConfigError` that names what differs; of rules, the lines that do."""
    for name in (*new, "operations"):
        if old.get(name) != new.get(name):
            was, now = _lines_that_differ(str(old.get(name, "the events")), str(new.get(name, "the events")))
            raise ConfigError(
                f"the checkpoint {where} was written with {name}: {was}, not {now}; "
                "go on with that, or start with a new checkpoint"
            )


def _lines_that_differ(old: str, new: str) -> tuple[str, str]:
    lines, others = old.splitlines(), new.splitlines()
    mine, theirs = ([line for line in a if line and line not in b] for a, b in ((lines, others), (others, lines)))
    return ", ".join(mine) or "nothing", ", ".join(theirs) or "nothing"
