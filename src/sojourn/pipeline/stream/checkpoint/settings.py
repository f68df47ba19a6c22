"""What a checkpoint was written under. A stream goes on with the same; its rules may change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pyarrow as pa

from ....errors import ConfigError
from ....rules import Rule, duration_ms, duration_text
from ...plan import Plan
from ..shard.shape import Shape
from .files import Files

FILE = "sojourn.json"
"""In a checkpoint: its settings, and the id of its stream."""

FORMAT = 7
"""The version of the state's format."""

Settings = dict[str, Any]
Entry = dict[str, Any]
"""A rule, as a checkpoint has it: its name, the rule, its columns and its numbers, and since when it is there."""

EVENTS, GIVEN = "the events", "a stream of their own"
"""Where operations come from: the setting `operations`."""

COMMON = ("format", "unit", "late", "shards", "eager", "remember", "operations")
"""What holds for all rules."""
OF_A_RULE = ("rule", "columns", "numbers")
RULES, NAME, SINCE = "rules", "name", "since"

_FOR_EVER = "for ever"


def settings_of(shape: Shape, late_ms: int, shards: int) -> Settings:
    """All that changes what an event means, or what is kept of it."""
    return {
        "format": FORMAT,
        "operations": EVENTS,
        "unit": shape.plan.unit,
        "late": duration_text(late_ms),
        "shards": shards,
        "eager": shape.is_eager,
        "remember": _FOR_EVER if shape.remember_ms is None else duration_text(shape.remember_ms),
        RULES: [entry_of(shape.of_rule(rule)) for rule in shape.plan.rules],
    }


def entry_of(shape: Shape) -> Entry:
    return {
        NAME: shape.rule.name,
        "rule": _without_columns(shape.rule).to_toml(),
        "columns": "\n".join(f"{ours} = {theirs}" for ours, theirs in shape.plan.columns.items()),
        "numbers": "\n".join(f"{number} {type_text(kind)}" for number, kind in shape.numbers.items()),
    }


def shape_of(settings: Settings, entry: Entry) -> Shape:
    """The shape of one rule, from what a checkpoint says."""
    columns = dict(line.split(" = ", 1) for line in entry["columns"].splitlines())
    plan = Plan.of(Rule.from_toml(entry["rule"]), settings["unit"], **columns)
    pairs = [pair.rsplit(" ", 1) for pair in entry["numbers"].splitlines()]
    remember = None if settings["remember"] == _FOR_EVER else duration_ms(settings["remember"])
    numbers = {name: type_of(kind) for name, kind in pairs}
    return Shape(plan, numbers, settings["eager"], remember, entry.get(SINCE))


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
    """Of what holds for all rules; a rule's own state has the id of its shape."""
    return sha256(json.dumps({name: settings[name] for name in COMMON}, sort_keys=True).encode()).hexdigest()[:16]


def kept_settings(files: Files, checkpoint: str) -> Settings | None:
    """What a checkpoint says of itself; None if it says nothing."""
    file = f"{checkpoint.rstrip('/')}/{FILE}"
    try:
        text = files.read(file)
        kept = None if text is None else json.loads(text)
    except ValueError as error:
        raise ConfigError(unreadable(file, str(error))) from None
    if kept is not None and not _is_ours(kept):
        raise ConfigError(unreadable(file, "that is not what a stream writes there"))
    return kept


def checked_settings(files: Files, checkpoint: str) -> Settings:
    """What a checkpoint says of its stream; `ConfigError` if it is no checkpoint, or one of another version."""
    kept = kept_settings(files, checkpoint)
    if kept is None:
        raise ConfigError(f"{checkpoint!r} is not the checkpoint of a Sojourn stream: there is no {FILE} in it")
    if kept.get("operations", EVENTS) != EVENTS:
        raise ConfigError(f"{checkpoint!r} is of a stream with operations from {GIVEN}: what it holds cannot be shown")
    if kept["format"] != FORMAT:
        raise ConfigError(f"{checkpoint!r} has format {kept['format']}, of another version; this one has {FORMAT}")
    return kept


def _is_ours(kept: object) -> bool:
    """Other formats may have other names."""
    return (
        isinstance(kept, dict)
        and "format" in kept
        and (kept["format"] != FORMAT or (kept.keys() >= {"id", *COMMON, RULES} and are_entries(kept[RULES])))
    )


def are_entries(rules: object) -> bool:
    return isinstance(rules, list) and all(
        isinstance(rule, dict) and {NAME, *OF_A_RULE} <= rule.keys() for rule in rules
    )


def unreadable(file: str, why: str) -> str:
    return (
        f"{file}, which says what the checkpoint was written under, cannot be read: {why}; "
        "put it back from a copy, or start with a new checkpoint and a new folder for the outcomes"
    )


def check_same(
    old: Mapping[str, Any], new: Mapping[str, Any], names: tuple[str, ...], where: str, out: str = "", rule: str = ""
) -> None:
    """`ConfigError` that names what differs; of rules, the lines that do, and which `rule` it is.

    `out` is a further way out.
    """
    for name in names:
        if old.get(name) != new[name]:
            was, now = _lines_that_differ(str(old.get(name)), str(new[name]))
            what = name if not rule else f"rule {rule!r}" if name == "rule" else f"{name} of rule {rule!r}"
            raise ConfigError(
                f"the checkpoint {where} was written with {what}: {was}, not {now}; "
                f"go on with that, {out}or start with a new checkpoint"
            )


def _lines_that_differ(old: str, new: str) -> tuple[str, str]:
    lines, others = old.splitlines(), new.splitlines()
    mine, theirs = ([line for line in a if line and line not in b] for a, b in ((lines, others), (others, lines)))
    return ", ".join(mine) or "nothing", ", ".join(theirs) or "nothing"
