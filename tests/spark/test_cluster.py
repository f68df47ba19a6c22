"""The same on a real cluster: a master and two workers on loopback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from parity import random_rules
from parity.tables import as_outcomes, as_table, by_fold
from spark.cluster import cluster, submit

PROGRAM = str(Path(__file__).with_name("cluster_program.py"))


@pytest.mark.cluster
@pytest.mark.parametrize("how", ["shipped", "py-files"])
def test_a_cluster_decides_as_the_fold_with_nothing_but_a_zip_of_the_package(how: str, tmp_path: Path) -> None:
    random = Random(0)
    rules = [random_rules.rule(random, f"r{i}") for i in range(20)]
    log = random_rules.log(random, 500)
    pq.write_table(as_table(log), tmp_path / "log.parquet")
    (tmp_path / "rules").write_text("\f".join(rule.to_toml() for rule in rules))
    with cluster(tmp_path, workers=2) as it:
        paths = (str(tmp_path / name) for name in ("log.parquet", "rules", "out"))
        said = submit(it, PROGRAM, *paths, how, py_files=how == "py-files")
    assert f"master {it.url}" in said
    assert "executors 2" in said
    assert "sojourn.zip/sojourn/__init__.py" in said
    assert as_outcomes(pq.read_table(tmp_path / "out")) == by_fold(rules, log, "log")
