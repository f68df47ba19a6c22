"""The law over Arrow tables, in this process: the kernel without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import ConfigError
from ..rules import AsOf, Duration, Rule
from . import decide
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.kinds import table_without_views
from .columns.normal import column_of, normal_form
from .columns.operations import OPERATION, Given, latest_of, read_operations
from .columns.outcomes import plain
from .columns.quarantine import set_aside
from .deal import Dealt, all_dealt, by_shard, dealt_out, in_parallel, shards_for, together
from .kernel.search import Ints
from .plan import Plan, rules_of
from .results.deadlines import fixed
from .results.what_if import what_if_table
from .schema import DECIDED


class Result(NamedTuple):
    """What became of a log."""

    outcomes: pa.Table
    """A row for each operation, as `schema.OUTCOMES`, in no particular order."""
    quarantine: pa.Table
    """A row for each row that could not be used, as `schema.QUARANTINE`."""
    as_of: int | None = None
    """The end of the log, in epoch milliseconds; None if it was taken to be complete, or has no events."""


def outcomes(
    events: pa.Table,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: S.Unit = "auto",
    operations: pa.Table | None = None,
    as_of: AsOf = "log",
) -> Result:
    """The outcome of every operation that a log opens, under each rule.

    `key`, `kind`, `at`, `source` and `value` name the columns of the log. One that is not given has the name in the
    rule's `columns`, or its own.

    With `operations` the events open nothing: each row of that table is an operation, with the columns `operation_id`,
    `opened_at`, `keys` (a list; or `key`), `within`, unless the rule has one, and `rule`, if there are several. The
    events of all its keys count for it.

    `as_of` is where the log ends: "log", at its latest event that can be used, whatever its kind (or at the latest
    opening of `operations`); or a time, and later events are not looked at; or "complete": nothing else will come. What
    ends later is pending.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value).ending(as_of)
    result = outcomes_by_plan(events, plan, operations)
    return result._replace(outcomes=result.outcomes.select(S.OUTCOMES.names))


def outcomes_by_plan(events: pa.Table, plan: Plan, operations: pa.Table | None = None) -> Result:
    """As `outcomes`, by a plan, with the columns of `schema.DECIDED`."""
    opens = operations is None
    _check_table("events", events)
    if operations is not None:
        _check_table("operations", operations)
    plan.check_columns(events.column_names, opens=opens)
    events = table_without_views(events)
    normal = normal_form(events, plan, opens=opens)
    aside = pa.concat_tables(set_aside(events, reasons) for reasons in normal.reasons)
    if operations is None:
        as_of = plan.end_of_log(normal.latest)
        tables: list[pa.Table] = []
        decide_opened(plan, all_dealt(normal.only_usable()), as_of, tables.append)
        return Result(plain(pa.concat_tables(tables)) if tables else DECIDED.empty_table(), aside, as_of)
    given, refused = read_operations(table_without_views(operations), plan)
    as_of = plan.end_of_log(latest_of(normal.latest, given.latest))
    tables = list(decide_given(plan, normal.events, normal.usable, given, as_of))
    decided = plain(pa.concat_tables(tables)) if tables else DECIDED.empty_table()
    return Result(decided, pa.concat_tables([aside, refused]), as_of)


def what_if(
    outcomes: pa.Table, withins: Duration | Sequence[Duration], rules: Rule | Sequence[Rule] = (), as_of: AsOf = "log"
) -> pa.Table:
    """How the operations of an outcome table would have ended under other deadlines, as `schema.WHAT_IF`.

    It follows from `met_at`, without a second run. A cancellation after the deadline is not in the table: under a rule
    that cancels, what a longer deadline would have made of an expired operation is `unknown`. Whether a rule cancels is
    taken from `rules`; without them, from whether the table has a cancelled operation. Under `keeps_alive` an outcome
    does not tell what another deadline would have made of it: given in `rules`, all of it is unknown.

    What the log did not see to the end of a longer deadline is `pending`. `share` is the share that completes,
    estimated from what was seen (Kaplan-Meier: the cancelled and the pending are censored), between `share_low` and
    `share_high` with 95 % confidence. `as_of` is where the log ended: "log", as the pending operations of the table
    tell, or nowhere if it has none; a time; or "complete".
    """
    _check_table("outcomes", outcomes)
    return what_if_table(outcomes, fixed(withins), rules_of(rules), as_of)


def _check_table(name: str, table: object) -> None:
    """Refuse what is no Arrow table, and say how to make one of it."""
    if not isinstance(table, pa.Table):
        raise ConfigError(
            f"{name} is a {type(table).__name__}, not an Arrow table; make one of it: pa.Table.from_pandas(df) of a "
            "DataFrame, pa.table(columns) of a dict, or Source.of(path).read().events of a file"
        )


def decide_opened(plan: Plan, parts: Sequence[Dealt], as_of: int | None, take: Callable[[pa.Table], object]) -> None:
    """The outcomes of what these events open, as `schema.DECIDED`, coded, by shard: `take` is called in threads."""
    shards = shards_for(sum(part.events.num_rows for part in parts))

    def decided(shard: int) -> None:
        schema = parts[0].events.schema
        events = together((part.of_shard(shard, shards) for part in parts), schema)
        for table in decide.opened(plan, events, as_of):
            take(table)

    in_parallel(decided, range(shards if parts else 0))


def decide_given(plan: Plan, log: pa.RecordBatch, rows: Ints, given: Given, as_of: int | None) -> Iterator[pa.Table]:
    """The outcomes of operations that are given. Events and operations are dealt out to shards by their keys.

    Where every operation waits on one key, it is judged in the shard of that key. Where some wait on several, each is
    first handed the events of its keys that count, whichever shards they are in.
    """
    count = len(given.rule)
    shards = shards_for(len(rows) + len(given.keys))
    events = dealt_out(column_of(log, S.KEY), rows, shards)
    is_simple = len(given.keys) == count
    waiting = given.on_one_key() if is_simple else given.watches(np.arange(count))
    asked = dealt_out(column_of(waiting, S.KEY), np.arange(waiting.num_rows), shards)

    def judged(shard: int) -> list[pa.Table]:
        mine, watching = _taken(log, events[shard]), _taken(waiting, asked[shard])
        return list(decide.on_one_key(plan, mine, watching, as_of))

    def handed(shard: int) -> list[pa.RecordBatch]:
        watches = _taken(waiting, asked[shard])
        return list(decide.handed(plan, _taken(log, events[shard]), watches, shard))

    work = in_parallel(judged if is_simple else handed, range(shards))
    if is_simple:
        return chain.from_iterable(work)
    return _judged(plan, given, pa.Table.from_batches(chain.from_iterable(work)), as_of)


def _judged(plan: Plan, given: Given, events: pa.Table, as_of: int | None) -> Iterator[pa.Table]:
    """The outcomes of operations by the events that they have been handed, some operations at a time."""
    count = len(given.rule)
    parts = shards_for(events.num_rows + count)
    owner = events[OPERATION].to_numpy()
    dealt = by_shard(owner * parts // max(1, count), parts)

    def judged(part: int) -> list[pa.Table]:
        first, end = (-(-count * bound // parts) for bound in (part, part + 1))
        rows, operations = dealt[part], np.arange(first, end)
        return list(decide.on_many_keys(plan, given, operations, _taken(events, rows), owner[rows] - first, as_of))

    return chain.from_iterable(in_parallel(judged, range(parts)))


def _taken(rows: pa.Table | pa.RecordBatch, chosen: NDArray[Any]) -> pa.Table | pa.RecordBatch:
    return rows if len(chosen) == rows.num_rows else rows.take(pa.array(chosen))
