"""Keys, kinds and sources of every type a table may have: texts and whole numbers, or refused in the same words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sojourn import ConfigError
from sojourn.pipeline import local
from sojourn.pipeline.columns.events import Texts, texts
from sojourn.pipeline.columns.kinds import kind_text, table_without_views
from sojourn.rules import Rule, seen

RULE = Rule("r", "1", seen("2", times=2, distinct="source"), "1 h")
WHOLE = [1, -2, None]

TEXTS: dict[str, tuple[list[Any], pa.DataType, list[str | None]]] = {
    "string": (["a", "", None], pa.string(), ["a", "", None]),
    "large_string": (["a", "", None], pa.large_string(), ["a", "", None]),
    "string_view": (["a", "", None], pa.string_view(), ["a", "", None]),
    "dictionary": (["a", "a", None], pa.dictionary(pa.int8(), pa.string()), ["a", "a", None]),
    "dictionary of numbers": ([7, 7, None], pa.dictionary(pa.int8(), pa.int64()), ["7", "7", None]),
    "int8": (WHOLE, pa.int8(), ["1", "-2", None]),
    "int64": ([2**63 - 1, -(2**63), None], pa.int64(), [str(2**63 - 1), str(-(2**63)), None]),
    "uint64": ([0, 2**64 - 1, None], pa.uint64(), ["0", str(2**64 - 1), None]),
    "float64": ([1.0, -2.0, None], pa.float64(), ["1", "-2", None]),
    "decimal(5,0)": ([Decimal(1), Decimal(-2), None], pa.decimal128(5, 0), ["1", "-2", None]),
    "decimal(38,0)": ([Decimal(10**37), Decimal(0), None], pa.decimal128(38, 0), ["1" + "0" * 37, "0", None]),
    "decimal(50,0)": ([Decimal(10**49), Decimal(0), None], pa.decimal256(50, 0), ["1" + "0" * 49, "0", None]),
    "decimal(38,10)": ([Decimal(-12), Decimal(0), None], pa.decimal128(38, 10), ["-12", "0", None]),
    "null": ([None] * 3, pa.null(), [None] * 3),
}
NO_TEXTS: dict[str, tuple[Any, pa.DataType]] = {
    "boolean": (True, pa.bool_()),
    "binary": (b"a", pa.binary()),
    "binary, large": (b"a", pa.large_binary()),
    "binary, view": (b"a", pa.binary_view()),
    "binary, fixed": (b"a", pa.binary(1)),
    "binary, dictionary": (b"a", pa.dictionary(pa.int8(), pa.binary())),
    "timestamp": (0, pa.timestamp("ns", "UTC")),
    "date": (0, pa.date32()),
    "interval": (0, pa.duration("ns")),
    "time of day": (0, pa.time64("us")),
    "array": (["a"], pa.list_(pa.string())),
    "struct": ({"a": 1}, pa.struct([("a", pa.int64())])),
    "map": ([("a", 1)], pa.map_(pa.string(), pa.int64())),
}


def values(found: Texts) -> list[str | None]:
    assert (found.values.is_null().to_numpy(zero_copy_only=False) == (found.is_missing | found.is_bad)).all()
    return list(found.values.to_pylist())


@pytest.mark.parametrize(("given", "kind", "expected"), TEXTS.values(), ids=TEXTS)
def test_texts_and_whole_numbers_of_any_type_are_texts(
    given: list[Any], kind: pa.DataType, expected: list[Any]
) -> None:
    found = texts("key", pa.array(given, kind))
    assert values(found) == expected
    assert found.is_missing.tolist() == [value is None for value in given]
    assert not found.is_bad.any()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([Decimal("1.50"), Decimal("0.01"), Decimal("3.00")], pa.decimal128(10, 2)),
        ([Decimal("1E-10"), Decimal("-1.5E-9"), Decimal(3)], pa.decimal128(38, 10)),
        ([1.5, float("nan"), 3.0], pa.float64()),
    ],
)
def test_numbers_with_a_fraction_are_none(given: list[Any], kind: pa.DataType) -> None:
    found = texts("key", pa.array(given, kind))
    assert values(found) == [None, None, "3"]
    assert found.is_bad.tolist() == [True, True, False]


@pytest.mark.parametrize(("name", "given", "kind"), [(name, *entry) for name, entry in NO_TEXTS.items()], ids=NO_TEXTS)
def test_other_types_are_refused_by_the_name_of_their_family(name: str, given: Any, kind: pa.DataType) -> None:
    family = name.partition(",")[0]
    assert kind_text(kind) == family
    with pytest.raises(ConfigError, match=f"^column 'key' is {family}; a key, a kind and a source are texts or whole"):
        texts("key", pa.array([given], kind))


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.decimal128(9, 0)], ids=str
)
def test_a_log_and_its_operations_are_read_whatever_their_texts_are_made_of(kind: pa.DataType) -> None:
    of = Decimal if pa.types.is_decimal(kind) else str
    events = pa.table(
        {
            "key": pa.array([of(5), of(5), None, of(6)], kind),
            "kind": pa.array([of(1), of(2), of(2), of(2)], kind),
            "source": pa.array([None, of(8), of(9), of(9)], kind),
            "at": [0, 1, 2, None],
            "note": pa.array(["x"] * 4, pa.string_view()),
        }
    )
    found = local.outcomes(events, RULE, unit="s", as_of="complete")
    assert found.outcomes.select(["key", "outcome"]).to_pylist() == [{"key": "5", "outcome": "expired"}]
    assert found.quarantine["reason"].to_pylist() == ["no key", "no time"]
    operations = pa.table(
        {
            "operation_id": pa.array([of(1), None], kind),
            "keys": pa.array([[of(5), of(6)], [of(5)]], pa.list_(kind)),
            "opened_at": [0, 0],
        }
    )
    found = local.outcomes(events, RULE, unit="s", operations=operations, as_of="complete")
    assert found.outcomes["operation_id"].to_pylist() == ["1"]
    assert found.quarantine["reason"].to_pylist() == ["no key", "no time", "no operation_id"]


def test_views_become_what_arrow_can_filter() -> None:
    table = pa.table(
        {
            "list": pa.array([["a"]], pa.list_(pa.string_view())),
            "large": pa.array([["a"]], pa.large_list(pa.string_view())),
            "struct": pa.array([{"a": b"b"}], pa.struct([("a", pa.binary_view())])),
        }
    )
    plain = table_without_views(table)
    assert plain.to_pylist() == table.to_pylist()
    assert plain.take(pa.array([0])).num_rows == 1
    assert table_without_views(plain) is plain
