"""`sojourn stream status`: what a checkpoint holds, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer
from pyspark.sql import DataFrame

from ...errors import SourceError
from ...pipeline.results.rows import outcome_rows
from ...pipeline.schema import DEADLINE, OPERATION_ID
from ...pipeline.spark.source import located
from ...pipeline.stream import pending
from ...pipeline.stream.checkpoint.files import Files
from ...pipeline.stream.checkpoint.status import RuleStatus, Status, status
from ...rules import Outcome, duration_text
from ...rules.outcome import time_text
from ..exits import is_debugging
from ..spark.session import spark_session
from ..words import many
from .screen import size_text

ROWS_SHOWN = 20


def show_status(checkpoint: str, *, as_json: bool, with_pending: bool, out: str | None) -> None:
    with spark_session(None, {}, is_quiet=not is_debugging()) as spark:
        current = status(spark, checkpoint)
        if not with_pending:
            typer.echo(json.dumps(as_dict(current)) if as_json else status_text(current))
            return
        rows = pending(checkpoint, spark)
        if out is not None:
            path = located(spark, out)
            if Files(spark).exists(path):
                raise SourceError(f"{out!r} is there already; name a folder that is not")
            rows.write.parquet(path)
        shown = soonest(rows, None if as_json else ROWS_SHOWN)
        number = rows.count() if len(shown) == ROWS_SHOWN else len(shown)
    if as_json:
        found = [{name: value for name, value in row._asdict().items() if name != "seen"} for row in shown]
        typer.echo(json.dumps({**as_dict(current), "rows": found}, ensure_ascii=False))
    else:
        typer.echo("\n".join([status_text(current), *row_texts(shown, number, current.pending)]))


def as_dict(current: Status) -> dict[str, Any]:
    return {**current._asdict(), "rules": [rule._asdict() for rule in current.rules]}


def soonest(rows: DataFrame, most: int | None) -> Sequence[Outcome]:
    """The rows that are due next; all of them if there is no limit."""
    ordered = rows.orderBy(DEADLINE, OPERATION_ID)
    return outcome_rows((ordered if most is None else ordered.limit(most)).toArrow())


def row_texts(rows: Sequence[Outcome], number: int, pending: int) -> list[str]:
    """Of `number` rows those that are shown; and how many of what is pending is not among the rows, and why."""
    lines = [f"{row.operation_id}: due {time_text(row.deadline)}, {row.explain()}{missing_text(row)}" for row in rows]
    more = [f"... {number - len(rows):,} more; --json or --out DIR gives all"] if number > len(rows) else []
    why = "not listed: opened after the watermark, and listed once it is past them"
    unlisted = [f"{many(pending - number, 'operation')} {why}"] if pending > number else []
    texts = [*lines, *more, *unlisted]
    return ["", *texts] if texts else []


def missing_text(row: Outcome) -> str:
    return f", missing {row.missing}" if row.missing else ""


def rule_lines(rules: Sequence[RuleStatus]) -> dict[str, str]:
    """A line for each rule; where there are several, with what is pending under it."""
    if len(rules) == 1:
        return {"rule": _with_start(rules[0])}
    return {f"rule {place}": f"{_with_start(rule)}: {rule.pending:,} pending" for place, rule in enumerate(rules, 1)}


def _with_start(rule: RuleStatus) -> str:
    return rule.rule if rule.since is None else f"{rule.rule} (since {time_text(rule.since)})"


def status_text(current: Status) -> str:
    lines = {
        **rule_lines(current.rules),
        "micro-batch": "none yet" if current.batch is None else f"{current.batch:,}",
        "watermark": "none yet" if current.watermark is None else time_text(current.watermark),
        "as of": "none yet" if current.as_of is None else time_text(current.as_of),
        "pending": f"{current.pending:,}",
        "state": f"{size_text(current.state_bytes)} in {many(current.segments, 'segment')}",
    }
    if current.opened_at is not None:
        age_ms = (current.watermark or 0) - current.opened_at
        age = f", {duration_text(age_ms)} ago" if age_ms > 0 else ""
        lines["oldest"] = f"opened {time_text(current.opened_at)}{age}"
    if current.due_at is not None:
        lines["next due"] = time_text(current.due_at)
    if current.rows_per_second is not None:
        lines["rate"] = f"{current.rows_per_second:,.0f} rows per second in the last micro-batch"
    return "\n".join(f"{name:<12} {text}" for name, text in lines.items())
