"""What a checkpoint was written under, and that nothing else goes on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sojourn import ConfigError
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.stream.checkpoint.changes import identified
from sojourn.pipeline.stream.checkpoint.settings import (
    FILE,
    FORMAT,
    GIVEN,
    RULES,
    Settings,
    checked_settings,
    fingerprint,
    settings_of,
    shape_of,
)
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.rules import Rule, all_of, seen, total
from stream.local_files import LocalFiles

RULE = Rule("r", "open", all_of(seen("a", 2, "source"), total("b", at_least=3)), "1 h")
DOUBLE = pa.float64()
NAMES = {"key": "k", "kind": "e", "at": "t", "source": "s", "value": "v"}


def settings(
    rule: Rule = RULE, unit: Any = "ms", number: pa.DataType = DOUBLE, late: int = 5, **columns: str | None
) -> Settings:
    plan = Plan.of(rule, unit, **{**NAMES, **columns})
    return settings_of(Shape(plan, dict.fromkeys(plan.numbers, number)), late, 3)


def meaning(kept: Settings) -> tuple[str, str]:
    """What the state itself was written under."""
    return fingerprint(kept), shape_of(kept, kept[RULES][0]).id


def started(checkpoint: Path, wanted: Settings) -> str:
    return identified(LocalFiles(), str(checkpoint), wanted).stream  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"key": "id"}, "columns of rule 'r': key = k, not key = id;"),
        ({"kind": "id"}, "columns of rule 'r': kind = e, not kind = id;"),
        ({"at": "id"}, "columns of rule 'r': at = t, not at = id;"),
        ({"source": "id"}, "columns of rule 'r': source = s, not source = id;"),
        ({"value": "id"}, "columns of rule 'r': value = v, not value = id;"),
        ({"unit": "s"}, "unit: ms, not s;"),
        ({"unit": "auto"}, "unit: ms, not auto;"),
        ({"number": pa.int64()}, "numbers of rule 'r': value double, not value int64;"),
        ({"late": 6}, "late: 5 ms, not 6 ms;"),
        ({"rule": Rule("r", "open", RULE.until, "2 h")}, 'rule \'r\': within = "1 h", not within = "2 h";'),
    ],
)
def test_what_changes_the_meaning_of_events_is_refused_under_an_old_checkpoint(
    tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    started(tmp_path, settings())
    with pytest.raises(ConfigError) as refused:
        started(tmp_path, settings(**other))
    assert f"was written with {said}" in str(refused.value)
    assert meaning(settings(**other)) != meaning(settings())


def test_a_checkpoint_keeps_the_id_of_its_stream_and_each_has_its_own(tmp_path: Path) -> None:
    stream = started(tmp_path / "1", settings())
    assert started(tmp_path / "1", settings()) == stream
    assert started(tmp_path / "2", settings()) != stream


def test_a_checkpoint_whose_operations_came_from_elsewhere_is_refused_and_not_shown(tmp_path: Path) -> None:
    given: Settings = {**settings(), "operations": GIVEN}
    started(tmp_path / "1", given)
    started(tmp_path / "2", settings())
    with pytest.raises(ConfigError, match="was written with operations: a stream of their own, not the events;"):
        started(tmp_path / "1", settings())
    with pytest.raises(ConfigError, match="was written with operations: the events, not a stream of their own;"):
        started(tmp_path / "2", given)
    with pytest.raises(ConfigError, match="with operations from a stream of their own: what it holds cannot be shown"):
        checked_settings(LocalFiles(), str(tmp_path / "1"))  # type: ignore[arg-type]
    assert fingerprint(given) != fingerprint(settings())


def test_it_does_not_matter_whether_the_rule_names_a_column_or_an_option_does() -> None:
    naming = Rule(RULE.name, RULE.opens, RULE.until, RULE.within, columns=NAMES)
    assert settings(naming, **dict.fromkeys(NAMES)) == settings()


def test_what_a_checkpoint_says_of_itself_is_enough_to_read_its_state() -> None:
    kept = settings()
    shape = shape_of(kept, kept[RULES][0])
    plan = Plan.of(RULE, "ms", **NAMES)
    assert shape == Shape(plan, {"value": pa.float64()})
    assert shape.id == Shape(plan, {"value": pa.float64()}).id


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"7", b"{}", b"\xff", json.dumps({"format": FORMAT}).encode(), b'{"rule": "x"}'],
)
def test_a_file_of_settings_that_is_garbage_is_refused_in_words(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_bytes(text)
    with pytest.raises(ConfigError, match=r"sojourn\.json, which says .* cannot be read: .*new checkpoint"):
        started(tmp_path, settings())


def test_a_checkpoint_of_an_older_version_is_refused_by_its_number(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"format": 1, "rule": "x"}))
    with pytest.raises(ConfigError, match=f"was written with format: 1, not {FORMAT}"):
        started(tmp_path, settings())
