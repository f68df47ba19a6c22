"""Parquet, as Arrow and Spark write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from files.drafts import Draft, Values, dressed
from files.meant import COLUMNS, Meant
from files.values import DICTIONARY, TEXTS, Way, array, duration_ways, key_ways, number_ways, time_ways

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD_NAMES = ("note", "_corrupt_record", "_corrupt_reason", "a.b", "Case", "x `y`", "Ünit", "with space")
FOR_SPARK = (
    pa.string(),
    pa.int64(),
    pa.int32(),
    pa.float64(),
    pa.decimal128(9, 2),
    pa.decimal128(38, 18),
    pa.timestamp("us", "UTC"),
    pa.date32(),
    pa.duration("us"),
)
"""What goes into a DataFrame and comes out of it as it was."""

Ways = dict[str, Way]


def word(random: Random, text: Any) -> tuple[str, str]:
    return str(text), str(text)


def write(
    random: Random, files: Sequence[Sequence[Draft]], folder: Path, unit: str, spark: SparkSession | None
) -> tuple[list[Meant], str, bool]:
    """The rows, a word about how they are written, and whether a stream may read them."""
    ways = _ways(random, unit)
    writer = random.choice(["arrow", "arrow", "arrow", "int96", "spark" if spark else "arrow"])
    if writer == "spark":
        ways = {name: way if way.kind in FOR_SPARK else _first_for_spark(name, unit) for name, way in ways.items()}
    if writer != "arrow":  # neither can hold times that are too far
        ways = {name: way._replace(bad=()) if pa.types.is_temporal(way.kind) else way for name, way in ways.items()}
    extra = random.choice(ODD_NAMES)
    meant: list[Meant] = []
    mixed = _mixed(random, ways, writer)
    for place, drafts in enumerate(files):
        rows = [dressed(random, draft, ways) for draft in drafts]
        meant += [row for _, row in rows]
        kinds = {name: _kind_here(random, way.kind, writer) for name, way in ways.items()}
        table = _table([values for values, _ in rows], kinds, drafts, extra)
        if random.random() < 0.2:
            names = random.sample(table.column_names, table.num_columns)
            table = table.select(names)
        if random.random() < 0.2:
            table = table.append_column("only here", pa.array([draft.serial for draft in drafts], pa.int64()))
        if mixed and place % 2:
            table = _with_times(table, mixed)
        _write(random, table, folder, place, writer, spark)
    about = f"{writer}, {', '.join(f'{name} {way.kind}' for name, way in ways.items())}, {extra!r}"
    return meant, f"{about}, elsewhere when {mixed}", mixed != pa.timestamp("ns")


def _mixed(random: Random, ways: Ways, writer: str) -> pa.DataType | None:
    """Another type of times for every other file."""
    if writer == "spark" or not ways["at"].kind.equals(pa.timestamp("us")) or random.random() < 0.3:
        return None
    return random.choice([pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms")])


def _with_times(table: pa.Table, kind: pa.DataType) -> pa.Table:
    """The times in another type, if it can hold them."""
    try:
        return table.set_column(table.schema.get_field_index("when"), "when", table["when"].cast(kind))
    except pa.ArrowInvalid:
        return table


def _ways(random: Random, unit: str) -> Ways:
    return {
        "key": random.choice(key_ways()),
        "kind": Way(word, pa.string()),
        "at": random.choice(time_ways(unit)),
        "source": Way(lambda random, who: (who, str(who)), pa.int8()) if random.random() < 0.3 else Way(word, TEXTS[0]),
        "value": random.choice(number_ways()),
        "allowed": random.choice(duration_ways()),
        "due": random.choice(time_ways(unit)),
    }


def _first_for_spark(name: str, unit: str) -> Way:
    every = {"key": key_ways(), "at": time_ways(unit), "due": time_ways(unit)}
    choice = {**every, "value": number_ways(), "allowed": duration_ways()}.get(name, [Way(word, pa.string())])
    return next(way for way in choice if way.kind in FOR_SPARK)


def _kind_here(random: Random, kind: pa.DataType, writer: str) -> pa.DataType:
    """Texts are texts, however a file has them."""
    is_text = kind in (pa.string(), pa.large_string(), DICTIONARY)
    return random.choice(TEXTS) if is_text and writer != "spark" else kind


def _table(rows: list[Values], kinds: dict[str, pa.DataType], drafts: Sequence[Draft], extra: str) -> pa.Table:
    columns = {COLUMNS.get(name, name): array([values[name] for values in rows], kind) for name, kind in kinds.items()}
    serials = pa.array([draft.serial for draft in drafts], pa.int64())
    notes = pa.array([f"note {draft.serial}" if draft.serial % 2 else None for draft in drafts], pa.string())
    return pa.table({"n": serials, **columns, extra: notes})


def _write(random: Random, table: pa.Table, folder: Path, place: int, writer: str, spark: SparkSession | None) -> None:
    if writer == "spark":
        assert spark is not None
        spark.createDataFrame(table).coalesce(1).write.parquet(str(folder / f"{place}"))
        return
    pq.write_table(
        table,
        folder / f"{place}.parquet",
        row_group_size=random.choice([3, 1000]),
        use_dictionary=random.random() < 0.5,
        use_deprecated_int96_timestamps=writer == "int96",
        compression=random.choice(["snappy", "zstd", "gzip", "none"]),
    )
