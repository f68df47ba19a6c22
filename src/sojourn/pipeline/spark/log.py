"""A DataFrame of events, read by a plan: `arrow_log`, as expressions of the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812

from ...errors import ConfigError
from ...rules import Column as WithinColumn
from ...rules import UntilColumn
from .. import schema as S  # noqa: N812
from ..columns.numbers import NUMERIC
from ..columns.reasons import Amount, Check, Limit, Word
from ..columns.times import NEGATIVE, TOO_FAR, UNKNOWN
from ..plan import Plan
from .times import durations_of, times

_WHOLE = 2**53


class SparkLog:
    """The facts of a log (`reasons.Facts`), and its columns as the kernel wants them: null where they are void."""

    def __init__(self, events: DataFrame, plan: Plan) -> None:
        self._events = events
        self.plan = plan

    @cached_property
    def key(self) -> Column:
        return self._text(S.KEY)

    @cached_property
    def kind(self) -> Column:
        return self._text(S.KIND)

    @cached_property
    def at(self) -> Column:
        name = self.plan.columns[S.AT]
        return times(name, *self._typed(name), self.plan.unit)

    @cached_property
    def source(self) -> Column | None:
        return self._text(S.SOURCE) if S.SOURCE in self.plan.columns else None

    @property
    def words(self) -> dict[str, Word]:
        words = {"key": (S.KEY, self.key), "kind": (S.KIND, self.kind), "time": (S.AT, self.at)}
        if self.source is not None:
            words["source"] = (S.SOURCE, self.source)
        return {name: self._word(ours, value) for name, (ours, value) in words.items()}

    @property
    def kind_code(self) -> Column:
        """The place of each row's kind among those that the rules name; null if it is none of them."""
        first, *others = enumerate(self.plan.kinds)
        code = F.when(self.kind == first[1], first[0])
        for place, kind in others:
            code = code.when(self.kind == kind, place)
        return code.cast("short")

    def is_kind(self, kind: str) -> Column:
        return self.kind.eqNullSafe(F.lit(kind))

    def is_whole(self, number: str) -> bool:
        """Whether a column of numbers has nothing but whole ones."""
        _, kind = self._typed(self.plan.column_of(number))
        return isinstance(kind, T.IntegralType)

    def number_type(self, number: str) -> pa.DataType:
        """What numbers are on their way to the executors."""
        _, kind = self._typed(self.plan.column_of(number))
        if isinstance(kind, T.DecimalType):
            return pa.decimal128(kind.precision, kind.scale)
        return pa.int64() if isinstance(kind, T.IntegralType) else pa.float64()

    def number(self, name: str) -> Column:
        """The number that a rule reads; null where there is none."""
        theirs = self.plan.column_of(name)
        column, kind = self._typed(theirs)
        match kind:
            case T.IntegralType():
                return column.cast("long")
            case T.StringType():
                value = F.when(column.rlike(NUMERIC), column).cast("double")
            case T.DecimalType():
                return column
            case T.FloatType() | T.DoubleType():
                value = column.cast("double")
            case _:
                raise ConfigError(f"column {theirs!r} is {kind.simpleString()}; a rule reads numbers from it")
        return F.when(~F.isnan(value), value)

    def amount(self, number: str) -> Amount:
        column, _ = self._typed(self.plan.column_of(number))
        value = self.number(number)
        is_unfit = F.coalesce((value < 0) | (value.cast("double") == F.lit(float("inf"))), F.lit(False))
        return Amount(column.isNull(), column.isNotNull() & value.isNull(), is_unfit)

    def deadline(self, within: WithinColumn | UntilColumn) -> Column:
        """The deadline that each row names; null if it does not."""
        if isinstance(within, UntilColumn):
            until = self._until(within)
            return F.when(until.isNotNull(), F.greatest(self.at, until))
        ms = durations_of(within.name, *self._typed(within.name))
        return F.when(ms >= 0, self.at + ms)

    def limit(self, within: WithinColumn | UntilColumn) -> Limit:
        column, kind = self._typed(within.name)
        if isinstance(within, UntilColumn):
            is_bad = column.isNotNull() & self._until(within).isNull()
            return Limit(column.isNull(), is_bad, F.lit(False), F.lit(False))
        ms = durations_of(within.name, column, kind)
        return Limit(column.isNull(), ms == UNKNOWN, ms == NEGATIVE, ms == TOO_FAR)

    def _until(self, within: UntilColumn) -> Column:
        return times(within.name, *self._typed(within.name), self.plan.unit, up=True)

    def _word(self, ours: str, value: Column) -> Word:
        column, _ = self._typed(self.plan.columns[ours])
        return Word(column.isNull(), column.isNotNull() & value.isNull())

    def _text(self, ours: str) -> Column:
        name = self.plan.columns[ours]
        return text_of(name, *self._typed(name))

    def _typed(self, name: str) -> tuple[Column, T.DataType]:
        return F.col(quoted(name)), self._events.schema[name].dataType


def text_of(name: str, column: Column, kind: T.DataType) -> Column:
    """A column as text; whole numbers count as such. `ConfigError` if it is made of something else."""
    match kind:
        case T.StringType():
            return column
        case T.IntegralType() | T.NullType():
            return column.cast("string")
        case T.FloatType() | T.DoubleType():
            number = column.cast("double")
            is_whole = (F.abs(number) < _WHOLE) & (number % 1 == 0)
            return F.when(is_whole, number.cast("long")).cast("string")
    what = kind.simpleString()
    raise ConfigError(f"column {name!r} is {what}; a key, a kind and a source are texts or whole numbers")


def first_reason(checks: Sequence[Check]) -> Column:
    """The reason of the first check that holds; null if none does."""
    return F.coalesce(F.lit(None).cast("string"), *(F.when(flag, text) for flag, text in checks))


def row_as_json() -> Column:
    """The whole row."""
    return F.to_json(F.struct("*"), {"ignoreNullFields": "false"})


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"
