"""What a checkpoint was written under: a stream goes on with the same, or not at all."""

from __future__ import annotations

import json
from hashlib import sha256

from ...errors import ConfigError
from ...rules import duration_text
from .shape import Shape

FORMAT = 2
"""Of the state; a version of ours that keeps another one has another number."""

Settings = dict[str, str | int | bool]


def settings_of(shape: Shape, late_ms: int, shards: int) -> Settings:
    types = ", ".join(f"{number} {kind}" for number, kind in shape.numbers.items())
    return {
        "format": FORMAT,
        "rule": shape.rule.to_toml(),
        "numbers": types,
        "late": duration_text(late_ms),
        "shards": shards,
        "eager": shape.is_eager,
    }


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
