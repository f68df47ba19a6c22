"""Where a log ends: with the latest row that counts, whoever reads it, in how many parts, and whatever comes after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from parity.tables import as_table
from sojourn.pipeline import local
from sojourn.pipeline.columns.normal import normal_schema
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.schema import OUTCOME
from sojourn.pipeline.spark import worker
from sojourn.pipeline.spark.parcels import Arrived
from sojourn.pipeline.spark.worker import ReadEvents
from sojourn.rules import Event, Rule, total
from stream.shards import Run, shape_of

PAID = Rule("r", opens="order", until=total("pay", of="value", at_least=5), within=10)
SHORT = [Event("a", "order", 0), Event("a", "pay", 3, value=1)]


def endings(rows: pa.Table) -> list[str]:
    return local.outcomes(rows, PAID, unit="ms").outcomes[OUTCOME].to_pylist()


def later(**columns: Any) -> pa.Table:
    """The short log, and a row after the deadline."""
    row = {"key": "b", "kind": "other", "at": 100} | columns
    log = as_table(SHORT)
    return pa.concat_tables(
        [log, pa.Table.from_pylist([{name: row.get(name) for name in log.column_names}], log.schema)]
    )


def test_any_row_that_counts_says_how_far_the_log_goes() -> None:
    assert endings(as_table(SHORT)) == ["pending"]
    assert endings(later()) == ["expired"]


@pytest.mark.parametrize("columns", [{"key": None}, {"kind": "pay", "value": None}], ids=["no key", "no value"])
def test_a_row_that_is_set_aside_does_not(columns: dict[str, Any]) -> None:
    assert endings(later(**columns)) == ["pending"]


class Parts:
    """A log that a task reads in parts."""

    def __init__(self, *parts: pa.Table) -> None:
        self._parts = parts

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        return iter(self._parts)


@pytest.mark.parametrize("order", [1, -1], ids=["latest last", "latest first"])
def test_a_task_says_the_latest_time_of_all_that_it_has_read(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "prepare_worker", lambda **_: None)  # it is for processes that do nothing else
    plan = Plan.of(PAID, "ms")
    schema = normal_schema(plan, {"value": pa.float64()})
    parts: Any = Parts(*[as_table([event]) for event in SHORT][::order])
    assert Arrived(ReadEvents(plan, schema, True, 4, parts)([]), schema).latest == 3


def test_what_a_stream_holds_is_pending_until_its_deadline_has_passed() -> None:
    run = Run(shape_of(PAID), Random(0))
    run.step(SHORT, 0)
    assert [[outcome.outcome for outcome in run.pending(as_of)] for as_of in (3, 9, 10)] == [
        ["pending"],
        ["pending"],
        [],
    ]
