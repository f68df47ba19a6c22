"""Decimals and texts: the kernel and the local engine add them up as the fold does, exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.tables import by_fold, by_local, number_types
from rules.strategies import MANY, decimal_logs_of_two_keys, rules_with_numbers
from sojourn.pipeline import local
from sojourn.pipeline.columns.numbers import TEXT, kernel_numbers, number_type, read_numbers
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.kernel import Numbers
from sojourn.pipeline.kernel.amounts import RunningSum, is_at_least
from sojourn.rules import Event, Rule, total
from sojourn.rules.event import Number
from sojourn.rules.exact import exact, settled, threshold

CENTS = Rule("r", "open", total("paid", at_least=417.05), within=100)


def decimals_of(precision: int, places: int) -> st.SearchStrategy[Decimal]:
    """Numbers of that type, and many small ones."""
    most = 10**precision - 1
    digits = st.one_of(
        st.integers(-most, most), st.integers(-100, 100), st.sampled_from([most, -most, 2**63, -(2**63)])
    )
    return digits.map(lambda n: max(-most, min(n, most))).map(lambda n: Decimal(f"{n}e-{places}"))


TYPES = {
    pa.decimal128(9, 2): (9, 2),
    pa.decimal128(38, 0): (38, 0),
    pa.decimal128(38, 18): (38, 18),
    pa.decimal256(76, 38): (76, 38),
    pa.decimal256(76, 76): (76, 76),
}
columns = st.sampled_from(list(TYPES)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(decimals_of(*TYPES[kind]), min_size=1, max_size=8))
)
thresholds = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(-1e6, 1e6),
    decimals_of(76, 38),
    decimals_of(20, 2),
    st.sampled_from([1e300]),
).map(settled)


@MANY
@given(rules_with_numbers, decimal_logs_of_two_keys, number_types)
def test_the_local_engine_reads_decimals_and_texts_as_the_fold_reads_decimals(
    rule: Rule, log: list[Event], number: pa.DataType
) -> None:
    assert by_local([rule], log, number) == by_fold([rule], log)


@given(columns, thresholds.filter(lambda at_least: at_least > 0))
def test_sums_of_decimals_of_every_width_are_exact(column: tuple[pa.DataType, list[Decimal]], at_least: Number) -> None:
    kind, values = column
    values = [value.copy_abs() for value in values]
    sums = RunningSum(kernel_numbers(pa.array(values, kind)), at_least)
    low, high = (np.array([bound]) for bound in (0, len(values)))
    totals = [sum(map(exact, values[: i + 1])) for i in range(len(values))]
    expected = next((i for i, so_far in enumerate(totals) if so_far >= threshold(at_least)), len(values))
    assert sums.first_enough(low, high).tolist() == [expected]
    if totals[-1] < threshold(at_least):
        places, found = sums.between(low, high)
        assert found[places[0]].have == totals[-1]


@given(columns, thresholds)
def test_levels_of_decimals_of_every_width_are_exact(
    column: tuple[pa.DataType, list[Decimal]], at_least: Number
) -> None:
    kind, values = column
    wanted = Fraction(str(at_least)) if abs(at_least) <= 2**53 else Fraction(at_least)
    found = is_at_least(kernel_numbers(pa.array(values, kind)), at_least)
    assert found.tolist() == [Fraction(value) >= wanted for value in values]


@given(columns, st.randoms(use_true_random=False))
def test_slices_and_gaps_are_read_as_the_whole_column_is(
    column: tuple[pa.DataType, list[Decimal]], random: Random
) -> None:
    kind, values = column
    gaps: list[Decimal | None] = [random.choice([value, None]) for value in values]
    start = random.randrange(len(values))
    numbers = kernel_numbers(pa.array(gaps, kind)[start:])
    assert as_fractions(numbers) == [None if value is None else Fraction(value) for value in gaps[start:]]


def as_fractions(numbers: Numbers) -> list[Fraction | None]:
    rows = numbers.values.tolist()
    if numbers.values.ndim > 1:
        rows = [sum(limb << (31 * place) for place, limb in enumerate(row)) for row in rows]
    pairs = zip(rows, numbers.is_number.tolist(), strict=True)
    return [Fraction(row) / 10**numbers.scale if is_number else None for row, is_number in pairs]


@given(st.lists(decimals_of(60, 30), max_size=6), st.sampled_from(["{}", "{:f}", "{:e}", "{:+f}"]))
def test_what_a_text_says_is_what_counts(values: list[Decimal], form: str) -> None:
    texts = [form.format(value) for value in values]
    read = read_numbers("n", pa.array(texts, pa.string()))
    assert [Fraction(text) for text in texts] == [Fraction(value) for value in read.values.to_pylist()]
    assert not (read.is_bad | read.is_long | read.is_missing).any()
    assert read.values.cast(TEXT).to_pylist() == read.values.to_pylist()


def test_texts_of_every_form_are_read_or_told_why_not() -> None:
    texts = [
        "5",
        "+5.",
        ".5",
        "-0.10",
        "1e-2",
        "007",
        "1e-60",
        "9e37",
        "1e38",
        "9" * 39,
        "1e999",
        None,
        "",
        "x",
        "1e",
        "nan",
    ]
    read = read_numbers("n", pa.array(texts, pa.string()))
    found = [Fraction(value) if value is not None else None for value in read.values.to_pylist()]
    assert found[:8] == [5, 5, Fraction(1, 2), Fraction(-1, 10), Fraction(1, 100), 7, 0, 9 * 10**37]
    assert found[8:] == [None] * 8
    assert np.flatnonzero(read.is_long).tolist() == [8, 9, 10]
    assert np.flatnonzero(read.is_missing).tolist() == [11]
    assert np.flatnonzero(read.is_bad).tolist() == [12, 13, 14, 15]


def test_the_type_of_numbers_depends_on_the_type_of_the_column_alone() -> None:
    assert number_type(pa.int8()) == number_type(pa.uint32()) == pa.int64()
    assert number_type(pa.uint64()) == pa.decimal128(20, 0)
    assert number_type(pa.float32()) == pa.float64()
    assert number_type(pa.decimal128(10, 2)) == pa.decimal128(10, 2)
    assert number_type(pa.decimal128(38, -2)) == pa.decimal256(40, 0)
    assert number_type(pa.large_string()) == number_type(pa.string()) == TEXT
    assert number_type(pa.bool_()) is None


def test_whole_numbers_beyond_64_bits_are_exact() -> None:
    numbers = kernel_numbers(read_numbers("n", pa.array([2**64 - 1, 2**64 - 2], pa.uint64())).values)
    assert is_at_least(numbers, 2**64 - 1).tolist() == [True, False]


def test_decimals_that_are_only_written_wide_take_the_path_of_whole_numbers() -> None:
    numbers = kernel_numbers(pa.array([Decimal("82.72"), None, Decimal("334.33")], pa.decimal128(38, 18)))
    assert (numbers.values.tolist(), numbers.values.dtype, numbers.scale) == ([8272, 0, 33433], np.int64, 2)


@pytest.mark.parametrize("kind", [pa.decimal128(9, 2), pa.decimal256(76, 38), pa.string()])
def test_cents_add_up(kind: pa.DataType) -> None:
    amounts = [Decimal("82.72"), Decimal("334.33"), Decimal("417.04")]
    log = pa.table(
        {
            "key": ["a", "a", "a", "b", "b"],
            "kind": ["open", "paid", "paid", "open", "paid"],
            "at": [0, 1, 2, 0, 1],
            "value": pa.array([None, *amounts[:2], None, amounts[2]], kind)
            if kind != pa.string()
            else pa.array([None, *map(str, amounts[:2]), None, str(amounts[2])]),
        }
    )
    rows = local.outcomes(log, CENTS, unit="ms", as_of="complete").outcomes.sort_by("key").to_pylist()
    assert [(row["outcome"], row["missing"]) for row in rows] == [
        ("completed", None),
        ("expired", "0.01 of 417.05 value in paid"),
    ]


def test_a_number_in_a_text_that_is_too_long_is_set_aside_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("key,kind,at,value\na,open,1970-01-01,\na,paid,1970-01-01,1e40\na,paid,1970-01-01,500\n")
    result = local.outcomes(Source.of(str(path)).read().events, CENTS, as_of="complete")
    assert result.outcomes["outcome"].to_pylist() == ["completed"]
    assert result.quarantine["reason"].to_pylist() == [
        "value of 'paid' is too long; a number in a text has at most 38 digits before the point"
    ]
