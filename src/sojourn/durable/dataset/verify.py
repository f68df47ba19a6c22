"""What was told, held against what the law says of everything that is in the log."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...pipeline import local
from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Flags, Ints
from ...pipeline.plan import Plan
from ...pipeline.results.rows import ms_or_zero
from ...pipeline.schema import ENDINGS
from ...rules import Rule, Seen
from ...rules.law import case_of
from ...rules.outcome import time_text
from ..log.files import Files
from . import schema as D  # noqa: N812
from .history import History, history_of, places
from .past import Past, read_past
from .verified import Difference

MOST_DIGITS = 38
"""The pipelines read numbers from texts with so many digits before the point, and so many after it."""

PENDING = len(ENDINGS) - 1


class Judged(NamedTuple):
    """Of each wait, how it stands under the law: an index in ENDINGS, -1 if it did not come out; and when it ended."""

    ending: Ints
    at: Ints


class Asked(NamedTuple):
    """A past, and the law's questions about it."""

    past: Past
    history: History
    rough: set[int]
    """The plans that read floats."""
    single: set[int]
    """The plans that read numbers of which no column has both kinds: their waits are judged one by one."""


def ask(files: Files) -> Asked:
    past = read_past(files)
    exact, rough = _number_kinds(past)
    reads = {n: {leaf.kind for leaf in rule.leaves if not isinstance(leaf, Seen)} for n, rule in past.plans.items()}
    single = {number for number, kinds in reads.items() if kinds & exact and kinds & rough}
    return Asked(past, history_of(past, single), {n for n, kinds in reads.items() if kinds & rough} - single, single)


def judge(asked: Asked, spark: Any = None) -> Judged:
    """What the law says, in this process or on Spark."""
    count = len(asked.history.waits)
    judged = Judged(np.full(count, -1), np.full(count, NEVER))
    for is_rough in (False, True):
        numbers = {n for n in asked.history.rules if (n in asked.rough) == is_rough} - asked.single
        if numbers:
            rules, operations, events = part(asked.history, numbers, is_rough=is_rough)
            decide = _on_spark(spark) if spark is not None else _in_process
            for decided in decide(rules, operations, events, asked.history.as_of):
                place = places(asked.history, decided["operation_id"])
                judged.ending[place] = pc.index_in(decided["outcome"], pa.array(ENDINGS)).to_numpy()
                judged.at[place] = ms_or_zero(decided["at"])
    _judge_singly(asked, judged)
    return judged


def _judge_singly(asked: Asked, judged: Judged) -> None:
    """By the law itself, without an engine."""
    for wait in np.flatnonzero(np.isin(asked.history.waits.plan, list(asked.single))).tolist():
        events = asked.history.hearings[wait].events
        outcome = case_of(asked.history.operation(wait), events, asked.history.as_of).outcome
        judged.ending[wait] = ENDINGS.index(outcome.outcome)
        judged.at[wait] = outcome.at or 0


def compare(asked: Asked, judged: Judged, most: int) -> tuple[dict[str, int], list[Difference]]:
    """How many outcomes were told and came out again, and what else there is; and the first few differences."""
    waits, told = asked.history.waits, asked.past.outcomes
    place = waits.places(told[D.WAIT].to_numpy())
    is_known = place >= 0
    is_known[is_known] = waits.opened_at[place[is_known]] >= asked.history.certain_from
    rows = np.flatnonzero(is_known)
    is_wrong = _is_wrong(asked, judged, told.take(pa.array(rows)), place[rows])
    is_told = waits.told_in != NEVER
    found = {
        "told": len(told),
        "checked": len(rows),
        "pending": int(np.count_nonzero(~is_told & (judged.ending == PENDING))),
        "untold": int(np.count_nonzero(~is_told & (judged.ending >= 0) & (judged.ending != PENDING))),
        "unchecked": len(told) - len(rows),
    }
    lost = np.flatnonzero(~is_told & (judged.ending < 0))
    number = told[D.NUMBER].to_numpy()
    gaps = np.flatnonzero((np.diff(number) != 1) & ~np.isin(number[1:], list(asked.past.goes_on_with)))
    found["different"] = int(np.count_nonzero(is_wrong)) + len(gaps) + len(lost)
    wrong = rows[is_wrong][:most]
    differences = [*_differences(judged, told.take(pa.array(wrong)), place[wrong])]
    differences += [_gap(int(number[i]), int(number[i + 1])) for i in gaps[:most]]
    differences += [_lost(asked, int(wait)) for wait in lost[:most]]
    return found, differences[:most]


def _is_wrong(asked: Asked, judged: Judged, told: pa.Table, place: Ints) -> Flags:
    waits = asked.history.waits
    at, told_at = ms_or_zero(told["at"]), ms_or_zero(told[D.TOLD_AT])
    ending = pc.index_in(told["outcome"], pa.array(ENDINGS)).to_numpy()
    is_wrong = (ending != judged.ending[place]) | (at != judged.at[place])
    is_wrong |= ms_or_zero(told["opened_at"]) != waits.opened_at[place]
    is_wrong |= (ending == ENDINGS.index("expired")) & (ms_or_zero(told["deadline"]) != at)
    is_wrong |= told_at < at + (ending == ENDINGS.index("expired"))  # told before it had happened
    of_wait = waits.rows.take(pa.array(place))
    for name in ("key", "rule", D.PAYLOAD):
        is_wrong |= ~_is_same(told[name], of_wait[name])
    is_wrong |= pc.is_valid(of_wait[D.ID]).to_numpy() & ~_is_same(told["operation_id"], of_wait[D.ID])
    _, inverse, counts = np.unique(place, return_inverse=True, return_counts=True)
    return np.asarray(is_wrong | (counts[inverse] > 1))


def _is_same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Flags:
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    same: Flags = pc.or_(both_null, pc.equal(left, right).fill_null(False)).to_numpy()
    return same


def _differences(judged: Judged, told: pa.Table, place: Ints) -> Iterator[Difference]:
    for row, wait in zip(told.to_pylist(), place.tolist(), strict=True):
        at = int(row["at"].timestamp() * 1000)
        said = f"outcome {row[D.NUMBER]}, told at {row[D.TOLD_AT]:%F %T}: {row['outcome']} at {time_text(at)}"
        yield Difference(row["operation_id"], said, _standing(judged, wait))


def _standing(judged: Judged, wait: int) -> str:
    ending, at = int(judged.ending[wait]), int(judged.at[wait])
    if ending < 0:
        return "nothing"
    return ENDINGS[ending] if ending == PENDING else f"{ENDINGS[ending]} at {time_text(at)}"


def _gap(before: int, number: int) -> Difference:
    return Difference(f"outcome {number}", f"told after outcome {before}", "numbers have no gaps")


def _lost(asked: Asked, wait: int) -> Difference:
    return Difference(asked.history.operations["operation_id"][wait].as_py(), "nothing", "did not come out at all")


# Engines


def part(history: History, numbers: set[int], *, is_rough: bool) -> tuple[list[Rule], pa.Table, pa.Table]:
    """The rules of these plans, their operations, and the events with numbers as these rules read them."""
    rules = [history.rules[number] for number in sorted(numbers)]
    is_theirs = np.isin(history.operations[D.PLAN].to_numpy(), list(numbers))
    events = history.events
    if is_rough:
        floats = pa.array([None if text is None else float(text) for text in events["value"].to_pylist()], pa.float64())
        events = events.set_column(events.schema.get_field_index("value"), "value", floats)
    for name in Plan.of(rules).numbers:
        if name not in events.column_names:  # a column that signals do not have
            events = events.append_column(name, pa.nulls(len(events), pa.string()))
    return rules, history.operations.filter(pa.array(is_theirs)), events


def _in_process(rules: list[Rule], operations: pa.Table, events: pa.Table, as_of: int) -> Iterator[pa.Table]:
    yield local.outcomes(events, rules, operations=operations, as_of=as_of).outcomes


def _on_spark(spark: Any) -> Any:
    def decide(rules: list[Rule], operations: pa.Table, events: pa.Table, as_of: int) -> Iterator[pa.Table]:
        from ...pipeline import batch  # noqa: PLC0415  (needs Spark)

        with tempfile.TemporaryDirectory(prefix="sojourn-verify-") as folder:
            paths = [str(Path(folder, name)) for name in ("events.parquet", "operations.parquet")]
            for path, table in zip(paths, (events, operations), strict=True):
                pq.write_table(table, path)
            read_events, read_operations = (spark.read.parquet(path) for path in paths)
            decided = batch.outcomes(read_events, rules, operations=read_operations, as_of=as_of)
            yield decided.toArrow()

    return decide


def _number_kinds(past: Past) -> tuple[set[str], set[str]]:
    """The kinds of signals whose values only decimals can hold, and those whose values are floats."""
    columns = past.events.select(["kind", "value", D.VALUE_TYPE])
    rows = columns.filter(pc.is_valid(columns["value"])).group_by(columns.column_names).aggregate([]).to_pylist()
    exact = {row["kind"] for row in rows if row[D.VALUE_TYPE] != "float" and _is_no_float(row["value"])}
    rough = {row["kind"] for row in rows if row[D.VALUE_TYPE] == "float" or _is_too_long(row["value"])}
    return exact, rough


def _is_no_float(text: str) -> bool:
    return Decimal(float(text)) != Decimal(text)


def _is_too_long(text: str) -> bool:
    number = Decimal(text)
    return number.adjusted() >= MOST_DIGITS or -int(number.as_tuple().exponent) > MOST_DIGITS
