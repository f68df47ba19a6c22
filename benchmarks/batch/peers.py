"""Who takes part: each turns the files of a case into outcomes, as an Arrow table when asked."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from .conditions import Case
from .sql import DUCKDB, SPARK, query


class Peer(Protocol):
    """One engine, ready to run cases."""

    def run(self, name: str, case: Case, log: Path, operations: Path | None) -> None:
        """Decide the case, and put the outcomes in memory, or wherever the engine would leave them."""

    def outcomes(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        """The outcomes: id, opened_at, deadline, outcome, ended_at and met_at."""

    def version(self) -> str: ...


class SojournLocal:
    """Ours, without Spark."""

    def run(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        from sojourn.pipeline import local  # noqa: PLC0415  (only the child of this peer imports it)
        from sojourn.pipeline.plan import Plan  # noqa: PLC0415

        columns = _columns(operations)
        given = pq.read_table(operations) if operations else None
        wanted = list(dict.fromkeys(Plan.of(case.rule, **columns).columns.values()))
        events = pq.read_table(log, columns=wanted, read_dictionary=["kind", "source"])
        return local.outcomes(events, case.rule, operations=given, as_of="complete", **columns).outcomes

    def outcomes(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        return _ours(self.run(name, case, log, operations), operations)

    def version(self) -> str:
        return str(pa.__version__)


class DuckDb:
    """By hand, in DuckDB."""

    def run(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        import duckdb  # noqa: PLC0415

        with duckdb.connect() as connection:
            connection.execute(f"CREATE VIEW log AS SELECT * FROM '{log}'")
            if operations:
                connection.execute(f"CREATE VIEW operations AS SELECT * FROM '{operations}'")
            return connection.sql(query(name, DUCKDB)).to_arrow_table()

    outcomes = run

    def version(self) -> str:
        import duckdb  # noqa: PLC0415

        return str(duckdb.__version__)


class _Spark:
    """A session with two threads; what is measured is the query, not its start."""

    @cached_property
    def session(self) -> Any:
        from pyspark.sql import SparkSession  # noqa: PLC0415

        from sojourn.pipeline.spark.schema import ARROW, ON_ONE_MACHINE, SOCKETS, UNCHECKED  # noqa: PLC0415

        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.driver.memory": "4g",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": UNCHECKED,
            **ON_ONE_MACHINE,
            **ARROW,
            **SOCKETS,
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def run(self, name: str, case: Case, log: Path, operations: Path | None) -> None:
        self.frame(name, case, log, operations).write.format("noop").mode("overwrite").save()

    def frame(self, name: str, case: Case, log: Path, operations: Path | None) -> Any:
        raise NotImplementedError

    def version(self) -> str:
        return str(self.session.version)


class SojournSpark(_Spark):
    """Ours, on Spark."""

    def frame(self, name: str, case: Case, log: Path, operations: Path | None) -> Any:
        from sojourn.pipeline import batch  # noqa: PLC0415

        columns = _columns(operations)
        read = self.session.read.parquet
        given = read(str(operations)) if operations else None
        return batch.outcomes(read(str(log)), case.rule, operations=given, as_of="complete", **columns)

    def outcomes(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        return _ours(self.frame(name, case, log, operations).toArrow(), operations)


class SparkSql(_Spark):
    """By hand, in Spark SQL."""

    def frame(self, name: str, case: Case, log: Path, operations: Path | None) -> Any:
        self.session.read.parquet(str(log)).createOrReplaceTempView("log")
        if operations:
            self.session.read.parquet(str(operations)).createOrReplaceTempView("operations")
        return self.session.sql(query(name, SPARK))

    def outcomes(self, name: str, case: Case, log: Path, operations: Path | None) -> pa.Table:
        return self.frame(name, case, log, operations).toArrow()


def _columns(operations: Path | None) -> dict[str, Any]:
    """Where operations wait on many keys, each key is a source."""
    return {"at": "stamp", **({"source": "key"} if operations else {})}


def _ours(outcomes: pa.Table, operations: Path | None) -> pa.Table:
    """Our outcomes, with the columns that all peers have."""
    names = {"operation_id" if operations else "key": "id", "opened_at": "opened_at", "deadline": "deadline"}
    names |= {"outcome": "outcome", "at": "ended_at", "met_at": "met_at"}
    return outcomes.select(list(names)).rename_columns(list(names.values()))
