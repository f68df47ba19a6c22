"""To which group each operation that is given belongs: `results.groups`, on Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from .. import schema as S  # noqa: N812
from ..plan import check_columns
from .rows import quoted


def with_groups(outcomes: DataFrame, by: str, operations: DataFrame) -> DataFrame:
    """The outcomes of operations that were given, with a column GROUP."""
    check_columns({by: "--by"}, operations.columns, "the table of operations")
    group = F.min(F.col(quoted(by)).cast("string")).alias(S.GROUP)
    named = operations.groupBy(F.col(S.OPERATION_ID).cast("string").alias(S.OPERATION_ID)).agg(group)
    return outcomes.join(named, [S.OPERATION_ID], "left")
