"""`sojourn replay --master spark://...`: the same command, with the same result, on a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from replay.logs import orders, write_orders, write_rule
from replay.page import parsed, section, table
from sojourn.pipeline.results.compare import differences
from spark.cluster import HOST, cluster


@pytest.mark.cluster
def test_the_same_command_on_a_cluster_gives_the_same(tmp_path: Path) -> None:
    write_orders(tmp_path)
    write_rule(tmp_path)
    with cluster(tmp_path) as it:
        command = [sys.executable, "-m", "sojourn", "replay", "orders.parquet", "--rule", "paid.toml"]
        options = ["--master", it.url, "--conf", "spark.executor.memory=512m", "--out", "outcomes", "--by", "region"]
        env = {**os.environ, "PYSPARK_PYTHON": it.python, "SPARK_LOCAL_IP": HOST}
        ended = subprocess.run(
            [*command, *options, "--report", "report.html", "--json"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["opened"] == 5
    assert differences(parquet.read_table(tmp_path / "outcomes"), orders(), 5) == (0, [])
    groups = table(section(parsed((tmp_path / "report.html").read_text("utf-8")), "By region"))
    assert [row[0] for row in groups] == ["(none)", "south", "north"]
