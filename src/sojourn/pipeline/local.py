"""The law over an Arrow table, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from ..rules import Duration, Rule
from .schema import Unit


class Result(NamedTuple):
    """What became of a log."""

    outcomes: pa.Table
    """A row for each operation, as `schema.OUTCOMES`; ordered by rule, then key, then time of opening."""
    quarantine: pa.Table
    """A row for each row that could not be used, as `schema.QUARANTINE`."""


def outcomes(
    events: pa.Table,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: Unit = "auto",
    operations: pa.Table | None = None,
) -> Result:
    """The outcome of every operation that a log opens, under each rule.

    The columns of the log are named by `key`, `kind`, `at`, `source` and `value`; one that is not given is what the
    rule's `columns` say, or else the very word.
    """
    raise NotImplementedError


def what_if(outcomes: pa.Table, withins: Sequence[Duration]) -> pa.Table:
    """How many operations of an outcome table would have completed within each of these, as `schema.WHAT_IF`."""
    raise NotImplementedError
