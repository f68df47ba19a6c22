"""What the driver tells the executors beside the query itself, which was made before its checkpoint was known.

It travels as local properties of the jobs of a micro-batch: Spark hands them to every task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import TaskContext
from pyspark.sql import SparkSession

RULES = "sojourn.rules"
"""The history of the rules (`changes.History.to_text`)."""
WAKES = "sojourn.wakes"
"""Set if all shards are to be woken, since rules have changed."""


@contextmanager
def telling(spark: SparkSession, rules: str, wakes: bool) -> Iterator[None]:
    """While a micro-batch is computed."""
    context = spark.sparkContext
    context.setLocalProperty(RULES, rules or None)  # type: ignore[arg-type]
    context.setLocalProperty(WAKES, "yes" if wakes else None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in (RULES, WAKES):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def told_rules() -> str:
    """In a task."""
    return _property(RULES)


def is_to_wake() -> bool:
    """In a task: whether it is the one that wakes all shards."""
    context = TaskContext.get()
    return context is not None and context.partitionId() == 0 and bool(_property(WAKES))


def _property(name: str) -> str:
    context = TaskContext.get()
    return "" if context is None else context.getLocalProperty(name) or ""
