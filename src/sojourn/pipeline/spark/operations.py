"""Operations that are given as a DataFrame, beside the events: `arrow_operations`, as expressions of the JVM."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812

from .. import schema as S  # noqa: N812
from ..columns.reasons import GIVEN_TWICE, Limit, OperationFacts, Word, operation_checks
from ..columns.times import NEGATIVE, TOO_FAR, UNKNOWN
from ..plan import Plan
from .files import parquet_files, shared_out
from .log import first_reason, row_as_json, text_of
from .schema import SPARK_PARCELS
from .times import durations_of, times
from .worker import Deal, ReadOperations

_TURN = "turn"
"""1 for the first operation of its name, 2 for the second ..."""


class SparkOperations:
    """A table of operations, read by a plan."""

    def __init__(self, operations: DataFrame, plan: Plan) -> None:
        plan.check_operations(operations.columns)
        self._operations = operations
        self._plan = plan
        self._key_column = S.KEYS if S.KEYS in operations.columns else S.KEY
        self.has_many_keys = isinstance(operations.schema[self._key_column].dataType, T.ArrayType)

    def quarantined(self) -> DataFrame:
        """The rows that are set aside, as `schema.QUARANTINE`."""
        nobody = F.lit(None).cast("string").alias(S.RULE)
        reason = first_reason(operation_checks(self._facts()))
        useless = self._operations.select(nobody, reason.alias(S.REASON), row_as_json().alias(S.ROW))
        twice = self._in_turn(row_as_json().alias(S.ROW)).where(F.col(_TURN) > 1)
        return useless.where(F.col(S.REASON).isNotNull()).unionByName(
            twice.select(nobody, F.lit(GIVEN_TWICE).alias(S.REASON), S.ROW)
        )

    def dealt(self, shards: int) -> DataFrame:
        """Those that can be used, as parcels, by their names."""
        there = self._operations.columns
        needed = [S.OPERATION_ID, self._key_column, S.OPENED_AT, *(n for n in (S.WITHIN, S.RULE) if n in there)]
        files = parquet_files(self._operations, needed)
        if files is not None:
            return shared_out(self._operations.sparkSession, ReadOperations(files, self._plan, shards))
        return self._usable().mapInArrow(Deal(S.GIVEN, S.OPERATION_ID, shards), SPARK_PARCELS)

    def _in_turn(self, *others: Column) -> DataFrame:
        """What can be used, in the order of those of the same name."""
        order = Window.partitionBy(S.OPERATION_ID).orderBy(S.OPENED_AT, S.DEADLINE, S.KEYS, S.RULE)
        return self._usable(*others).withColumn(_TURN, F.row_number().over(order))

    def _usable(self, *others: Column) -> DataFrame:
        """What can be used, as `schema.GIVEN`, and further columns."""
        is_usable = first_reason(operation_checks(self._facts())).isNull()
        return self._operations.where(is_usable).select(
            self._text(S.OPERATION_ID).alias(S.OPERATION_ID),
            self._rule().alias(S.RULE),
            self._keys().alias(S.KEYS),
            self._opened_at().alias(S.OPENED_AT),
            (self._opened_at() + self._within()).alias(S.DEADLINE),
            *others,
        )

    def _facts(self) -> OperationFacts:
        keys, given = self._keys(), F.col(self._key_column)
        some = given if self.has_many_keys else F.array(given)
        is_nothing = given.isNull() | (F.size(some) == 0) | ((F.size(some) == 1) & some[0].isNull())
        return OperationFacts(
            self._word(S.OPERATION_ID, self._text(S.OPERATION_ID)),
            Word(is_nothing, ~is_nothing & F.exists(keys, lambda key: key.isNull())),
            self._word(S.OPENED_AT, self._opened_at()),
            self._rule() < 0,
            self._limit(),
        )

    def _keys(self) -> Column:
        column, kind = F.col(self._key_column), self._operations.schema[self._key_column].dataType
        if isinstance(kind, T.ArrayType):
            element = kind.elementType
            return F.transform(column, lambda key: text_of(self._key_column, key, element))
        return F.array(text_of(self._key_column, column, kind))

    def _rule(self) -> Column:
        """The place of its rule; -1 if there is no such rule."""
        if S.RULE not in self._operations.columns:
            return F.lit(0)
        names = F.array(*(F.lit(rule.name) for rule in self._plan.rules))
        return F.coalesce(F.array_position(names, self._text(S.RULE)).cast("int") - 1, F.lit(-1))

    def _within(self) -> Column:
        if S.WITHIN in self._operations.columns:
            return self._durations()
        withins = F.array(*(F.lit(rule.within).cast("long") for rule in self._plan.rules))
        return withins[self._rule()]

    def _limit(self) -> Limit | None:
        if S.WITHIN not in self._operations.columns:
            return None
        ms = self._durations()
        return Limit(F.col(S.WITHIN).isNull(), ms == UNKNOWN, ms == NEGATIVE, ms == TOO_FAR)

    def _durations(self) -> Column:
        return durations_of(S.WITHIN, F.col(S.WITHIN), self._operations.schema[S.WITHIN].dataType)

    def _opened_at(self) -> Column:
        kind = self._operations.schema[S.OPENED_AT].dataType
        return times(S.OPENED_AT, F.col(S.OPENED_AT), kind, self._plan.unit)

    def _text(self, name: str) -> Column:
        return text_of(name, F.col(name), self._operations.schema[name].dataType)

    def _word(self, name: str, read: Column) -> Word:
        return Word(F.col(name).isNull(), F.col(name).isNotNull() & read.isNull())
