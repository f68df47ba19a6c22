"""One step of a shard: what is known of some keys, and a watermark, give outcomes and what is still to be kept.

The watermark promises that no event stamped before it is still to come: so what ends before it is final. Openings are
settled in the same way. Until the watermark has passed an opening, one that comes later may take its place (under
`per = "first"`) or its number: it is kept as an event, and opens anew each time. From then on it is an operation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.outcomes import outcome_table
from ...kernel import (
    COMPLETED,
    EXPIRED,
    NEVER,
    Endings,
    Lanes,
    Operations,
    endings,
    given,
    in_words,
    openings,
)
from ...kernel.alive import Chains
from ...kernel.search import Flags, Ints
from ...schema import DEADLINE, KEY, OPENED_AT, OUTCOMES, SPARK_TIME
from .forget import any_of, forget_in_time, is_next, rows_that_open, with_ends
from .groups import Groups, Opened, known_of
from .keep import needed_rows
from .shape import (
    DONE_UNTIL,
    DUE,
    EVENTS,
    HASH,
    IS_DONE,
    IS_SPENT,
    OPERATIONS,
    ORDINAL,
    PENDING,
    ROW_DEADLINE,
    SINCE,
)

NO_WATERMARK = np.iinfo(np.int64).min
"""Nothing is settled yet."""


class Step(NamedTuple):
    """What a step gives. `kept` replaces what was kept of these keys: a row that holds nothing says just that."""

    outcomes: pa.Table
    kept: pa.RecordBatch


def decide(groups: Groups, watermark: int = NO_WATERMARK) -> Step:
    """Tell what has ended, and keep the rest.

    An eager shape tells every end but the deadline's as soon as the events that are there give it. Where keys are
    forgotten, one whose operation has just ended may open the next one with what is there.
    """
    step = _decide_once(groups.remembered(watermark), watermark)
    outcomes = [step.outcomes]
    while groups.shape.forgets_keys and step.outcomes.num_rows:
        step = _decide_once(known_of(groups.shape, step.kept), watermark)
        outcomes.append(step.outcomes)
    return Step(pa.concat_tables(outcomes), step.kept)


def _decide_once(groups: Groups, watermark: int) -> Step:
    shape, events = groups.shape, groups.events
    lanes = Lanes(shape.rule, events)
    opened, row = opened_operations(groups, lanes)
    operations = given(events, opened.group, opened.since, opened.since + opened.deadline - opened.opened_at)
    ended = endings(shape.rule, events, operations, lanes)
    is_told = ended.at < watermark
    if shape.is_eager:
        is_told |= ended.ending != EXPIRED
    if shape.rule.keeps_alive is not None:
        chains = Chains(lanes[shape.rule.keeps_alive], events, operations)
        opened = opened._replace(since=_alive_since(opened, chains, watermark))
    told = np.flatnonzero(is_told & (row >= 0))
    outcomes = _outcomes(groups, opened, ended, np.flatnonzero(is_told))
    if shape.rule.per == "first":
        groups = with_ends(groups, opened.group[is_told], ended.at[is_told])
    is_settled = groups.at < watermark
    if shape.forgets_keys:
        is_settled &= ~is_next(groups, opened.group[is_told])
    rows = _spent(groups, is_settled, row[told], opened.ordinal[told])
    return Step(outcomes, _kept(groups, lanes, watermark, opened, ended.at, ~is_told, rows, is_settled))


def opened_operations(groups: Groups, lanes: Lanes) -> tuple[Opened, Ints]:
    """All operations there are: those whose opening is certain and those that rows open, with that row, or else -1."""
    rule, known = groups.shape.rule, groups.opened
    rows = rows_that_open(groups, lanes)
    by_rows = openings(rule, groups.events, lanes, rows)
    is_new, ordinal = ~groups.is_spent[rows], by_rows.ordinal
    if rule.per == "first" and not groups.shape.forgets_keys:
        is_new &= ~groups.is_claimed[by_rows.group]
    elif groups.shape.plan.withins:
        ordinal = least_left(by_rows.first, ~is_new, groups.told_as[rows])
    fresh = _chosen(Opened(by_rows.group, by_rows.opened_at, by_rows.deadline, by_rows.opened_at, ordinal), is_new)
    columns = [np.concatenate(pair) for pair in zip(fresh, known, strict=True)]
    return Opened(*columns), np.append(rows[is_new], np.full(len(known.group), -1))


def least_left(instant: Ints, is_told: Flags, told_as: Ints) -> Ints:
    """The numbers of openings, sorted by instant, then deadline: what was told keeps the number it was told under.

    The others of its instant get the least that are left, in their order. Instants that are all told are left out.
    """
    places = np.flatnonzero(np.isin(instant, instant[~is_told]))
    start = np.searchsorted(instant[places], instant[places])
    is_taken = np.zeros(len(places), bool)
    is_taken[(start + told_as[places] - 1)[is_told[places]]] = True
    free = np.flatnonzero(~is_taken)
    numbers = told_as.copy()
    numbers[~is_told] = free - start[free] + 1
    return numbers


def _spent(groups: Groups, is_settled: Flags, told: Ints, numbers: Ints) -> dict[str, pa.Array]:
    """The rows, with those marked as spent whose operation is told, or certain.

    One that is told keeps the number that it was told under, in the place of its deadline, which nobody asks for again.
    """
    is_spent = groups.is_spent | is_settled
    is_spent[told] = True
    columns = groups.rows | {IS_SPENT: pa.array(is_spent)}
    if ROW_DEADLINE in columns:
        number = np.zeros(len(is_spent), np.int64)
        number[told] = numbers
        columns[ROW_DEADLINE] = pc.if_else(pa.array(number > 0), pa.array(number), columns[ROW_DEADLINE])
    return columns


def _alive_since(opened: Opened, chains: Chains, watermark: int) -> Ints:
    """When an operation was last alive before the watermark: that sums up its keep-alive events up to then."""
    certain = np.flatnonzero(opened.opened_at < watermark)
    since = opened.since.copy()
    in_force = chains.deadline_at(certain, np.full(len(certain), watermark - 1)) if certain.size else since[certain]
    since[certain] = in_force - (opened.deadline - opened.opened_at)[certain]
    return since


def _outcomes(groups: Groups, opened: Opened, ended: Endings, told: Ints) -> pa.Table:
    """The outcome table. When a condition would have been met after the end is not known yet, so it is not told."""
    rule = groups.shape.rule
    group, opened_at, deadline, since, ordinal = (column[told] for column in opened)
    verdicts = in_words(rule, ended, told)
    verdicts = verdicts._replace(met_at=np.where(verdicts.ending == COMPLETED, verdicts.at, NEVER))
    operations = Operations(group, opened_at, deadline, ordinal, since)
    keys = groups.key.take(pa.array(group))
    return outcome_table(rule, operations, verdicts, keys, time=SPARK_TIME, is_coded=False).select(OUTCOMES.names)


def _kept(
    groups: Groups,
    lanes: Lanes,
    watermark: int,
    opened: Opened,
    ends: Ints,
    is_open: Flags,
    columns_of_rows: dict[str, pa.Array],
    is_settled: Flags,
) -> pa.RecordBatch:
    """What is still to be kept of the keys: of those of which something is, or was."""
    shape, count, is_done = groups.shape, len(groups.hash), groups.is_done
    certain = np.flatnonzero(is_open & (opened.opened_at < watermark))
    is_claimed = is_done | ((shape.rule.per == "first") & any_of(opened.group[certain], count))
    since = np.full(count, NEVER)
    np.minimum.at(since, opened.group[is_open], opened.since[is_open])
    is_of_use_next = ~is_settled & (groups.at < watermark)
    rows = np.flatnonzero(is_of_use_next | needed_rows(groups, lanes, watermark, since, is_claimed))
    due = _due(groups, rows, watermark, opened.group[is_open], ends[is_open])
    certain = certain[np.argsort(opened.group[certain], kind="stable")]
    pending = np.bincount(opened.group[is_open], minlength=count)
    in_rows, in_operations = (np.bincount(g, minlength=count) for g in (groups.group[rows], opened.group[certain]))
    chosen = np.flatnonzero(groups.was_kept | is_done | (in_rows > 0) | (in_operations > 0))
    columns = {
        HASH: pa.array(groups.hash[chosen]),
        KEY: groups.key.take(pa.array(chosen)),
        DUE: pa.array(due[chosen]),
        PENDING: pa.array(pending[chosen].astype(np.int32)),
        IS_DONE: pa.array(is_done[chosen]),
        DONE_UNTIL: pa.array(groups.done_until[chosen]),
        EVENTS: _lists(shape.kept_row, in_rows[chosen], _taken(columns_of_rows, rows)),
        OPERATIONS: _lists(shape.kept_operation, in_operations[chosen], _operation_columns(opened, certain)),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in shape.kept.names], schema=shape.kept)


def _due(groups: Groups, rows: Ints, watermark: int, open_group: Ints, ends: Ints) -> Ints:
    """When to look at each key again: at the first end there is to tell; else when its last row has become useless."""
    due = np.full(len(groups.hash), NEVER)
    unsettled = rows[groups.at[rows] >= watermark]
    due[groups.group[unsettled]] = groups.at[unsettled]  # in the order of time: the last one stays
    due[open_group] = NEVER
    np.minimum.at(due, open_group, ends)
    if groups.shape.remember_ms is not None:
        forget_in_time(groups, rows[groups.at[rows] < watermark], due)
    return due


def _operation_columns(opened: Opened, chosen: Ints) -> dict[str, pa.Array]:
    names = {OPENED_AT: opened.opened_at, DEADLINE: opened.deadline, SINCE: opened.since, ORDINAL: opened.ordinal}
    columns = {name: pa.array(column[chosen]) for name, column in names.items()}
    return columns | {ORDINAL: pa.array(opened.ordinal[chosen].astype(np.int32))}


def _taken(columns: dict[str, pa.Array], rows: Ints) -> dict[str, pa.Array]:
    places = pa.array(rows)
    return {name: column.take(places) for name, column in columns.items()}


def _lists(element: pa.StructType, counts: Ints, columns: dict[str, pa.Array]) -> pa.ListArray:
    """Lists of these numbers of elements, one after the other."""
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    fields = list(element)
    elements = pa.StructArray.from_arrays([columns[field.name] for field in fields], fields=fields)
    return pa.ListArray.from_arrays(offsets, elements)


def _chosen(opened: Opened, chosen: Flags) -> Opened:
    return Opened(*(column[chosen] for column in opened))
