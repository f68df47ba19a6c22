"""Tables of operations: what cannot be used is set aside, the same by both engines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sojourn import ConfigError
from sojourn.pipeline import batch, local
from sojourn.pipeline.columns.reasons import GIVEN_TWICE
from sojourn.rules import Rule, column, seen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READY = Rule("ready", "open", seen("ready", times=2, distinct="source"), "1 h")
SHIPPED = Rule("shipped", "open", "shipped", column("allowed"))
RULES = [READY, SHIPPED]

EVENTS = pa.table(
    {
        "key": ["p0", "p1", "p1", "p2"],
        "kind": ["ready", "ready", "ready", "shipped"],
        "at": ["2007-01-05T10:10:00", "2007-01-05T10:20:00", "2007-01-05T10:05:00", "2007-01-05T10:00:00"],
        "source": ["p0", "p1", "p1", "p2"],
    }
)
OPERATIONS = pa.schema(
    [
        ("operation_id", pa.string()),
        ("rule", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("opened_at", pa.string()),
        ("within", pa.string()),
    ]
)
GOOD: dict[str, Any] = {
    "operation_id": "good",
    "rule": "ready",
    "keys": ["p0", "p1"],
    "opened_at": "2007-01-05T10:00:00",
    "within": "15 min",
}
SPOILT: list[tuple[dict[str, Any], str | None]] = [
    ({"operation_id": None}, "no operation_id"),
    ({"keys": None}, "no keys"),
    ({"keys": []}, "no keys"),
    ({"keys": [None]}, "no keys"),
    ({"keys": ["p0", None]}, "one of the keys is neither a text nor a whole number"),
    ({"opened_at": None}, "no opened_at"),
    (
        {"opened_at": "soon"},
        "opened_at cannot be read; allowed are timestamps, ISO 8601 texts, epoch numbers, "
        "and with the unit yyyymmdd dates such as 20240131",
    ),
    ({"rule": None}, "rule is not one of the rules"),
    ({"rule": "unheard of"}, "rule is not one of the rules"),
    ({"within": None}, "no within"),
    ({"within": "soon"}, "within is not a duration"),
    ({"within": "-1 h"}, "within is a negative duration"),
    ({"within": "9999999999999 weeks"}, "within is too long"),
    ({"operation_id": "good", "within": "1 h"}, GIVEN_TWICE),
    ({"operation_id": "good", "opened_at": "2008-01-01"}, GIVEN_TWICE),
    ({"operation_id": "good", "keys": ["p2"]}, GIVEN_TWICE),
    ({"keys": ["p0", "p0"]}, None),
    ({"rule": "shipped", "keys": ["p2", "p0"], "within": "0 ms"}, None),
]


def operations() -> pa.Table:
    rows = [{**GOOD, "operation_id": f"op-{i}", **row} for i, (row, _) in enumerate(SPOILT)]
    return pa.Table.from_pylist([GOOD, *rows], OPERATIONS)


def reasons(aside: pa.Table) -> Counter[str]:
    assert set(aside["rule"].to_pylist()) == {None}
    return Counter(aside["reason"].to_pylist())


def outcomes_by_id(outcomes: pa.Table) -> dict[str, tuple[Any, ...]]:
    names = ("rule", "key", "outcome", "waited_ms", "missing")
    return {row["operation_id"]: tuple(row[name] for name in names) for row in outcomes.to_pylist()}


EXPECTED = {
    "good": ("ready", "p0", "completed", 600_000, None),
    "op-16": ("ready", "p0", "expired", 900_000, "1 of 2 ready"),
    "op-17": ("shipped", "p2", "completed", 0, None),
}


def test_both_engines_set_the_same_operations_aside_and_decide_the_others(spark: SparkSession) -> None:
    expected = Counter(reason for _, reason in SPOILT if reason is not None)
    here = local.outcomes(EVENTS, RULES, operations=operations())
    assert reasons(here.quarantine) == expected
    assert outcomes_by_id(here.outcomes) == EXPECTED
    events, given = spark.createDataFrame(EVENTS), spark.createDataFrame(operations())
    assert reasons(batch.quarantined(events, RULES, operations=given).toArrow()) == expected
    assert outcomes_by_id(batch.outcomes(events, RULES, operations=given).toArrow()) == EXPECTED


def test_one_rule_alone_says_how_long_where_the_table_does_not(spark: SparkSession) -> None:
    table = pa.table({"operation_id": [7], "key": ["p1"], "opened_at": ["2007-01-05T10:00:00"]})
    expected = {"7": ("ready", "p1", "expired", 3_600_000, "1 of 2 ready")}
    assert outcomes_by_id(local.outcomes(EVENTS, READY, operations=table, as_of="complete").outcomes) == expected
    frame = batch.outcomes(
        spark.createDataFrame(EVENTS), READY, operations=spark.createDataFrame(table), as_of="complete"
    )
    assert outcomes_by_id(frame.toArrow()) == expected


@pytest.mark.parametrize("missing", ["operation_id", "rule", "opened_at", "within", "keys"])
def test_a_table_of_operations_that_lacks_a_column_is_refused_by_name(missing: str) -> None:
    with pytest.raises(ConfigError, match=f"the table of operations has no column '({missing}|key)'"):
        local.outcomes(EVENTS, RULES, operations=operations().drop_columns([missing]))
