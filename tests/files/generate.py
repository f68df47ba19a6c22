"""A log from a seed: files of some format, and what each of their rows means."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from files import parquet_logs, text_logs
from files.drafts import drafts
from files.meant import COLUMNS, RULES, Log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("parquet", "csv", "json", "xes")
UNITS = ("auto", "auto", "s", "ms", "us", "ns")


def generate(seed: int, folder: Path, spark: SparkSession | None = None, format: str | None = None) -> Log:
    """With Spark, some Parquet files are written by it."""
    random = Random(seed)
    chosen = random.choice((*FORMATS, *FORMATS[:3]))
    chosen = format or chosen
    unit, rules = random.choice(UNITS), tuple(random.sample(RULES, random.choice([1, 3])))
    files = drafts(random)
    folder.mkdir(parents=True)
    columns, can_stream = dict(COLUMNS), chosen != "xes"
    if chosen == "parquet":
        meant, about, can_stream = parquet_logs.write(random, files, folder, unit, spark)
    elif chosen == "csv":
        meant, about = text_logs.write_csv(random, files, folder, unit)
    elif chosen == "json":
        meant, about = text_logs.write_json(random, files, folder, unit)
    else:
        meant, about = text_logs.write_xes(random, files, folder, unit)
        columns = {"value": COLUMNS["value"]}
    _by_age(folder)
    about = f"{about}; unit {unit}; {' '.join(str(len(file)) for file in files)} rows"
    is_refused = chosen in ("json", "xes") and not any(files)
    return Log(seed, about, folder, unit, rules, tuple(meant), columns, {}, chosen, can_stream, is_refused)


def _by_age(folder: Path) -> None:
    """Spark takes the files of a stream by age."""
    for age, file in enumerate(sorted(folder.rglob("*"))):
        os.utime(file, (1_000_000 + age, 1_000_000 + age))
