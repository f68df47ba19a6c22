"""The law over a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ..rules import Duration, Rule
from .schema import Unit


def outcomes(
    events: DataFrame,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: Unit = "auto",
    operations: DataFrame | None = None,
) -> DataFrame:
    """The outcome of every operation that a log opens, under each rule: the columns of `schema.OUTCOMES`, lazily."""
    raise NotImplementedError


def quarantined(
    events: DataFrame,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: Unit = "auto",
    operations: DataFrame | None = None,
) -> DataFrame:
    """The rows that `outcomes` sets aside, each with its reason: the columns of `schema.QUARANTINE`, lazily."""
    raise NotImplementedError


def what_if(outcomes: DataFrame, withins: Sequence[Duration]) -> DataFrame:
    """How many operations would have completed within each of these: the columns of `schema.WHAT_IF`, lazily."""
    raise NotImplementedError
