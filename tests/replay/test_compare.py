"""Outcome tables compared as sets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from replay.logs import orders
from sojourn.pipeline import schema as S  # noqa: N812
from sojourn.pipeline.results.compare import differences


def test_equal_tables_do_not_differ_in_whatever_order() -> None:
    table = orders()
    assert differences(table, table.take([4, 2, 0, 1, 3]), 5) == (0, [])


def test_times_in_microseconds_are_the_same_times() -> None:
    micros = pa.schema([f.with_type(pa.timestamp("us", "UTC")) if f.type == S.TIME else f for f in S.OUTCOMES])
    assert differences(orders(), orders().cast(micros), 5) == (0, [])


def test_a_row_that_only_one_has_is_told() -> None:
    table = orders()
    number, found = differences(table.slice(1), table, 5)
    assert number == 1
    assert [(d.operation_id, d.left, [row.key for row in d.right]) for d in found] == [("paid/a/0", (), ["a"])]


def test_rows_that_say_different_things_are_told_side_by_side() -> None:
    table = orders()
    waited = table.column_names.index(S.WAITED_MS)
    other = table.set_column(waited, S.OUTCOMES.field(waited), pc.add(table[S.WAITED_MS], 1))
    number, found = differences(table, other, 2)
    assert number == 10
    assert [difference.operation_id for difference in found] == ["paid/a/0", "paid/b/86400000"]
    assert [row.waited_ms - found[0].left[0].waited_ms for row in found[0].right] == [1]


def test_a_row_that_one_has_twice_is_a_difference() -> None:
    table = orders()
    number, found = differences(pa.concat_tables([table, table.slice(0, 1)]), table, 5)
    assert number == 1
    assert [(len(d.left), len(d.right)) for d in found] == [(1, 0)]
