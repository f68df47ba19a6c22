"""What a checkpoint was written under: a stream goes on with the same, or not at all."""

from __future__ import annotations

import json
from hashlib import sha256

import pyarrow as pa

from ...errors import ConfigError
from ...rules import duration_text
from .shape import Shape

FORMAT = 1
"""Of the state; a version of ours that keeps another one has another number."""

Settings = dict[str, str | int | bool]


def settings_of(shape: Shape, late_ms: int, shards: int) -> Settings:
    types = ", ".join(f"{number} {type_text(kind)}" for number, kind in shape.numbers.items())
    return {
        "format": FORMAT,
        "rule": shape.rule.to_toml(),
        "numbers": types,
        "late": duration_text(late_ms),
        "shards": shards,
        "eager": shape.is_eager,
    }


def type_text(kind: pa.DataType) -> str:
    """int64, double or, for example, decimal128(10,2)."""
    return str(kind).replace(" ", "")


def type_of(text: str) -> pa.DataType:
    """What `type_text` was made of."""
    if text.startswith("decimal"):
        make = pa.decimal128 if text.startswith("decimal128") else pa.decimal256
        return make(*map(int, text[text.index("(") + 1 : -1].split(",")))
    return {"int64": pa.int64(), "double": pa.float64()}[text]


def fingerprint(settings: Settings) -> str:
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def check_same(old: Settings, new: Settings, where: str) -> None:
    """`ConfigError` that names what differs: of rules, the lines."""
    for name in new:
        if old.get(name) != new[name]:
            was, now = _lines_that_differ(str(old.get(name)), str(new[name]))
            raise ConfigError(
                f"the checkpoint {where} was written with {name}: {was}, not {now}; "
                "go on with that, or start with a new checkpoint"
            )


def _lines_that_differ(old: str, new: str) -> tuple[str, str]:
    lines, others = old.splitlines(), new.splitlines()
    mine, theirs = ([line for line in a if line and line not in b] for a, b in ((lines, others), (others, lines)))
    return ", ".join(mine) or "nothing", ", ".join(theirs) or "nothing"
