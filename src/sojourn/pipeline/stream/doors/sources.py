"""Where events and operations come from: files, tables, Kafka, or Spark's clock, each named as in `file:events/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.types import StructType

from ....errors import ConfigError
from ....rules import Rule
from ... import schema as S  # noqa: N812
from ...files.source import Source
from ...plan import Plan
from ...spark import source as spark_source
from ...spark import texts
from . import kafka
from .lakes import DELTA, ICEBERG, Lake

_FEW_FILES = {"maxFilesPerTrigger": "1000"}

FORMS_OF_OPERATIONS = "file:FOLDER, delta:FOLDER, iceberg:CATALOG.DATABASE.TABLE and kafka:HOST:PORT/TOPIC"
FORMS = f"{FORMS_OF_OPERATIONS.replace(' and ', ', ')} and rate:ROWS_PER_SECOND"


@dataclass(frozen=True)
class From:
    """A source. `schema` are its columns, as in "case_id string, at timestamp"; files that are there show theirs."""

    text: str
    schema: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str | None:
        """Where its files are, a folder or a pattern; None if it has none."""
        what, _, where = self.text.partition(":")
        return where if what in ("file", "delta") else None

    def read(self, spark: SparkSession, rules: Rule | Sequence[Rule], columns: Mapping[str, str | None]) -> DataFrame:
        """The events, as a stream."""
        what, _, where = self.text.partition(":")
        if what == "rate" and where.isdecimal():
            return events_by_the_clock(spark, Plan.of(rules, "auto", **columns), int(where))
        return self._read(spark, what, where, FORMS)

    def read_operations(self, spark: SparkSession) -> DataFrame:
        """A stream of operations: from wherever events come, but Spark's clock."""
        what, _, where = self.text.partition(":")
        return self._read(spark, what, where, FORMS_OF_OPERATIONS)

    def _read(self, spark: SparkSession, what: str, where: str, forms: str) -> DataFrame:
        match what:
            case "file" if where:
                return self._files(spark, where)
            case "delta" if where:
                return self._table(spark, DELTA, spark_source.located(spark, where))
            case "iceberg" if where:
                return self._table(spark, ICEBERG, where)
            case "kafka" if where:
                return self._messages(spark, where)
        raise ConfigError(f"source {self.text!r} is not known; there are {forms}")

    def _files(self, spark: SparkSession, where: str) -> DataFrame:
        """Lines that cannot be read are rows with a line and a reason in columns of their own: see `files.lines`."""
        given = Source.of(where, self.format, self.options)
        source = replace(given, path=spark_source.located(spark, where), options={**_FEW_FILES, **given.options})
        schema = _parsed(spark, self.schema) if self.schema else None
        if source.format == "parquet":
            return spark_source.parquet_stream(spark, given, schema, dict(source.options))
        if source.format in ("csv", "json"):
            return texts.followed(spark, source, schema, by_path=spark_source.is_here(spark, where)).together()
        schema = schema or spark_source.read(spark, given).events.schema
        return spark.readStream.format(source.format).options(**source.options).schema(schema).load(source.path)

    def _table(self, spark: SparkSession, lake: Lake, where: str) -> DataFrame:
        """What is appended to a table."""
        lake.check(spark)
        return spark.readStream.format(lake.format).options(**self.options).load(where)

    def _messages(self, spark: SparkSession, where: str) -> DataFrame:
        """A message is a JSON object."""
        if self.schema is None:
            raise ConfigError("messages do not show what columns they have; name them with a schema")
        return texts.json_messages(kafka.messages(spark, where, self.options), _parsed(spark, self.schema))


def events_by_the_clock(spark: SparkSession, plan: Plan, rows: int) -> DataFrame:
    """This many events per second, for trying out: key after key gets one event of each kind."""
    ticks = spark.readStream.format("rate").option("rowsPerSecond", rows).load()
    number, kinds = F.col("value"), plan.kinds
    made = {
        S.KEY: F.concat(F.lit("key-"), F.call_function("div", number, F.lit(len(kinds)))),
        S.KIND: F.element_at(F.array(*map(F.lit, kinds)), (number % len(kinds) + 1).cast("int")),
        S.AT: F.col("timestamp"),
        S.SOURCE: (number % 7).cast("string"),
        S.VALUE: (number % 100).cast("double"),
    }
    return ticks.select(*(made[ours].alias(theirs) for ours, theirs in plan.columns.items()))


def _parsed(spark: SparkSession, schema: str) -> StructType:
    return spark.createDataFrame([], schema).schema
