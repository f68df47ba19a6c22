"""The operation log of simulated brokers, as a stream: each request ends as it did there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from cli.command import sojourn
from kafka.scene import by_log
from sojourn.kafka import RULES, read_log
from sojourn.pipeline.stream.checkpoint.files import Files
from sojourn.pipeline.stream.checkpoint.status import last_batch, watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder of its own, in two files: they become two micro-batches."""
    folder = tmp_path_factory.mktemp("log")
    whole = folder / "whole.jsonl"
    assert sojourn("simulate", "--seed", 1, "--minutes", 0.5, "--log", whole).code == 0
    lines = whole.read_text().splitlines(keepends=True)
    (folder / "events").mkdir()
    for name, part in (("1", lines[: len(lines) // 2]), ("2", lines[len(lines) // 2 :])):
        (folder / "events" / f"{name}.jsonl").write_text("".join(part))
    return whole


@pytest.mark.parametrize("kind", ["produce", "fetch", "session"])
def test_a_stream_of_the_log_tells_the_outcomes_that_the_requests_had(
    spark: SparkSession, tmp_path: Path, log: Path, kind: str
) -> None:
    rule, out, state = tmp_path / "rule.toml", tmp_path / "out", tmp_path / "state"
    rule.write_text(RULES[kind].to_toml())
    ended = sojourn(
        *("stream", "--from", f"file:{log.parent}/events", "--unit", "ms", "--rule", rule),
        *("--to", f"parquet:{out}", "--checkpoint", state, "--late", "0 s", "--shards", 2, "--available-now"),
        *("--option", "maxFilesPerTrigger=1"),
    )
    assert ended.code == 0, ended.err
    assert "set aside" not in ended.err
    table = ds.dataset(out / "outcomes", partitioning="hive").to_table()
    rows = table.select(["key", "outcome", "at"]).to_pylist()
    told = {row["key"]: (row["outcome"], round(row["at"].timestamp() * 1000)) for row in rows}
    assert len(told) == table.num_rows
    files = Files(spark)
    until = watermark(files, str(state), last_batch(files, str(state)) or 0) or 0
    ends = by_log(read_log(log))
    assert told == {key: end for key, end in ends.items() if key.rpartition("-")[0] == kind and end[1] < until}
    assert len(told) >= 5
