"""Where events come from: files, Kafka, or Spark's clock, each named by a word such as `file:events/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.types import StringType, StructType

from ...errors import ConfigError
from ...rules import Rule
from .. import schema as S  # noqa: N812
from ..files.lines import CORRUPT
from ..files.source import Source
from ..plan import Plan
from ..spark import source as spark_source
from . import kafka

FORMS = "file:FOLDER, kafka:HOST:PORT/TOPIC and rate:ROWS_A_SECOND"


@dataclass(frozen=True)
class From:
    """A source. `schema` are its columns, as in "case_id string, at timestamp"; files that are there show theirs."""

    text: str
    schema: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def read(self, spark: SparkSession, rule: Rule, columns: Mapping[str, str | None]) -> DataFrame:
        """The events, as a stream."""
        what, _, where = self.text.partition(":")
        match what:
            case "file" if where:
                return self._files(spark, where)
            case "kafka" if where:
                return self._messages(spark, where)
            case "rate" if where.isdecimal():
                return events_by_the_clock(spark, Plan.of(rule, "auto", **columns), int(where))
        raise ConfigError(f"source {self.text!r} is not known; there are {FORMS}")

    def _files(self, spark: SparkSession, where: str) -> DataFrame:
        """Text that cannot be read stays in a column of its own, so that it is set aside with the row."""
        source = Source.of(where, self.format, self.options)
        options = {"maxFilesPerTrigger": "1000", **source.options}
        if source.format == "parquet":
            return spark_source.parquet_stream(
                spark, source, _parsed(spark, self.schema) if self.schema else None, options
            )
        schema = _parsed(spark, self.schema) if self.schema else spark_source.read(spark, source).events.schema
        if source.format in ("csv", "json"):
            schema = schema.add(CORRUPT, StringType())
            options = {"header": "true", "columnNameOfCorruptRecord": CORRUPT, **options}
        path = spark_source.located(spark, where)
        return spark.readStream.format(source.format).options(**options).schema(schema).load(path)

    def _messages(self, spark: SparkSession, where: str) -> DataFrame:
        """A message is a JSON object."""
        if self.schema is None:
            raise ConfigError("messages do not show what columns they have; name them with a schema")
        text = F.col("value").cast("string")
        schema = _parsed(spark, self.schema).add(CORRUPT, StringType())
        row = F.from_json(text, schema, {"columnNameOfCorruptRecord": CORRUPT})
        return kafka.read(spark, where, self.options).select(row.alias("row")).select("row.*")


def events_by_the_clock(spark: SparkSession, plan: Plan, rows: int) -> DataFrame:
    """So many events a second, for trying out: key after key gets one event of each kind, in a row."""
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
