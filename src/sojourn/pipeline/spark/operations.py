"""Operations that are given as a DataFrame, beside the events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from .. import schema as S  # noqa: N812
from ..columns.operations import checked_operations
from ..columns.quarantine import as_json, quarantined
from ..columns.reasons import GIVEN_TWICE
from ..plan import Plan
from .parcels import Batches, gathered
from .rows import mapped, parcels
from .schema import SPARK_QUARANTINE
from .worker import ReadOperations

_TURN = "turn"
"""1 for the first operation of its id, 2 for the second ..."""

_WITH_ROW = S.GIVEN.append(pa.field(S.ROW, pa.string()))


class SparkOperations:
    """A table of operations, read by a plan."""

    def __init__(self, operations: DataFrame, plan: Plan) -> None:
        plan.check_operations(operations.columns)
        self._operations = operations
        self._plan = plan
        key_column = S.KEYS if S.KEYS in operations.columns else S.KEY
        self.has_many_keys = isinstance(operations.schema[key_column].dataType, T.ArrayType)
        others = [name for name in (S.WITHIN, S.RULE) if name in operations.columns]
        self._needed = [S.OPERATION_ID, key_column, S.OPENED_AT, *others]

    def parcels(self, shards: int) -> DataFrame:
        """Those that can be used, as parcels, by their ids."""
        return parcels(self._operations, ReadOperations(self._plan, shards), self._needed)

    def quarantined(self) -> DataFrame:
        """The rows that are set aside, as `schema.QUARANTINE`."""
        useless = mapped(self._operations, SetAsideOperations(self._plan), SPARK_QUARANTINE)
        order = Window.partitionBy(S.OPERATION_ID).orderBy(S.OPENED_AT, S.DEADLINE, S.KEYS, S.RULE)
        usable = mapped(self._operations, UsableWithRow(self._plan), from_arrow_schema(_WITH_ROW))
        twice = usable.withColumn(_TURN, F.row_number().over(order)).where(F.col(_TURN) > 1)
        no_rule = F.lit(None).cast("string").alias(S.RULE)
        return useless.unionByName(twice.select(no_rule, F.lit(GIVEN_TWICE).alias(S.REASON), S.ROW))


@dataclass(frozen=True)
class SetAsideOperations:
    """Maps rows to those that cannot be used, as `schema.QUARANTINE`."""

    plan: Plan

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            _, reason, texts = checked_operations(table, self.plan)
            yield from quarantined(table, reason, texts, None).to_batches()


@dataclass(frozen=True)
class UsableWithRow:
    """Maps rows to those that can be used, as `schema.GIVEN`, each with the row itself as JSON."""

    plan: Plan

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            given, reason, _ = checked_operations(table, self.plan)
            is_usable = pa.array(reason < 0)
            rows = given.where(reason < 0).rows()
            yield rows.append_column(S.ROW, as_json(table.filter(is_usable)))
