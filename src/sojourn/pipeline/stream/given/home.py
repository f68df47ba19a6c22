"""The second step: by operation. Ids are told apart, and what was handed on is decided."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.normal import deadline_column
from ...columns.reasons import GIVEN_TWICE
from ...columns.texts import hashes
from ...kernel import NEVER
from ...kernel.search import Flags, Ints
from ...schema import AT, DEADLINE, KEY, KEYS, KIND, OPENED_AT, OPERATION_ID, ROW
from ..shard.decide import decide
from ..shard.groups import different_keys, together
from ..shard.pack import SET_ASIDE
from ..shard.segment import Kept
from ..shard.shape import DUE, EVENTS, HASH, IS_DONE, OPERATIONS, PENDING, nothing
from .meet import Rows, flat, lists
from .terms import NAMES, SEPARATOR, TICKET, Terms, batch_of


class Told(NamedTuple):
    """What a step gives: outcomes, operations that are set aside, how many were opened, and what is kept."""

    outcomes: pa.Table
    aside: pa.RecordBatch
    opened: int
    names: Kept
    kept: Kept


def tell(
    terms: Terms, names: Kept, kept: Kept, handed: pa.RecordBatch, openings: pa.RecordBatch, watermark: int
) -> Told:
    """Take operations and what was handed to them, and tell what has ended by the watermark."""
    named = give_ids(names, openings)
    opened = _opened(terms, openings.take(pa.array(named.opened)))
    events = pa.concat_batches([_for_open_ones(kept, handed, opened), opened])
    keys = different_keys(events)
    found = kept.find(keys, watermark)
    step = decide(together(terms.home, found.kept, events, keys, found.place), watermark)
    if step.kept.num_rows:
        kept = kept.replace(found.taken, _without(step.kept, step.outcomes[KEY]))
    outcomes = _as_given(step.outcomes)
    is_theirs = _has_its_name(named.names, outcomes, step.outcomes[KEY])
    return Told(outcomes.filter(is_theirs), named.aside, len(named.opened), named.names, kept)


def _opened(terms: Terms, openings: pa.RecordBatch) -> pa.RecordBatch:
    """Operations as the events that open them."""
    ticket, count = openings[TICKET], openings.num_rows
    columns = {
        HASH: pa.array(hashes(ticket).view(np.int64)),
        KEY: ticket,
        KIND: pa.array(np.full(count, terms.home.plan.kinds.index(terms.home.rule.opens), np.int16)),
        AT: openings[OPENED_AT],
        deadline_column(0): openings[DEADLINE],
    }
    missing = [field for field in terms.home.fresh if field.name not in columns]
    return batch_of(terms.home.fresh, columns | {field.name: pa.nulls(count, field.type) for field in missing})


def _for_open_ones(kept: Kept, handed: pa.RecordBatch, opened: pa.RecordBatch) -> pa.RecordBatch:
    """What was handed to operations that are open: others have ended, or have no id of their own."""
    keys = different_keys(handed)
    found = kept.find(keys, np.iinfo(np.int64).min)
    pending = np.append(found.kept[PENDING].to_numpy(), 0)  # the last one for those of which nothing is kept
    is_open = pa.array(pending[found.place[keys.place]] > 0)
    return handed.filter(pc.or_(is_open, pc.is_in(handed[KEY], opened[KEY])))


def _without(kept: pa.RecordBatch, told: pa.ChunkedArray) -> pa.RecordBatch:
    """What is kept of operations, with nothing of those that were told: such a row says just that."""
    is_told = pc.is_in(kept[KEY], told.combine_chunks())
    if not is_told.true_count:
        return kept
    gone = kept.filter(is_told)
    count = gone.num_rows
    columns = {name: pa.array([[]] * count, kept.schema.field(name).type) for name in (EVENTS, OPERATIONS)}
    columns |= {
        HASH: gone[HASH],
        KEY: gone[KEY],
        DUE: pa.array(np.full(count, NEVER)),
        PENDING: pa.array(np.zeros(count, np.int64)),
        IS_DONE: pa.array(np.zeros(count, bool)),
    }
    rows = pa.concat_batches([kept.filter(pc.invert(is_told)), batch_of(kept.schema, columns)])
    return rows.take(pa.array(np.argsort(rows[HASH].to_numpy(), kind="stable")))


def _as_given(outcomes: pa.Table) -> pa.Table:
    """Outcomes under the ids that operations were given with, showing their first keys: a ticket has both."""
    ticket = outcomes[KEY].combine_chunks()
    parts = pc.split_pattern(ticket, SEPARATOR)
    for place, column in ((0, OPERATION_ID), (1, KEY)):
        outcomes = outcomes.set_column(
            outcomes.schema.get_field_index(column), outcomes.schema.field(column), pc.list_element(parts, place)
        )
    return outcomes


class Named(NamedTuple):
    """Which openings have their id, as places; those that have not, set aside; and the names that are kept."""

    opened: Ints
    aside: pa.RecordBatch
    names: Kept


def give_ids(names: Kept, openings: pa.RecordBatch) -> Named:
    """Of operations with the same id, the first keeps it for good: by time, then deadline, then keys.

    One that arrives later can only displace another whose opening is not certain yet, so nothing has been told of that.
    """
    if not openings.num_rows:
        return Named(np.zeros(0, np.int64), nothing(SET_ASIDE), names)
    hashed = pa.array(hashes(openings[OPERATION_ID]).view(np.int64))
    ids = pa.RecordBatch.from_arrays([hashed, openings[OPERATION_ID]], [HASH, KEY])
    keys = different_keys(ids)
    found = names.find(keys, np.iinfo(np.int64).min)
    count = len(keys.hash)
    known = flat(found.kept[OPERATIONS])
    owner = np.empty(found.kept.num_rows, np.int64)
    owner[found.place[found.place >= 0]] = np.flatnonzero(found.place >= 0)
    fields = [field.name for field in NAMES.operation]
    fresh = Rows(keys.place, {field: openings[field] for field in fields})
    candidates = Rows(owner[known.group], known.columns).and_then(fresh)
    is_first = _first_of_each(candidates, count)
    winners = candidates.take(np.flatnonzero(is_first))
    old = len(known.group)
    aside = candidates.take(np.flatnonzero(~is_first)).columns[ROW]
    state = _named_state(keys.hash, keys.key, winners)
    texts = pa.RecordBatch.from_arrays([pa.repeat(GIVEN_TWICE, len(aside)), aside], schema=SET_ASIDE)
    return Named(np.flatnonzero(is_first[old:]), texts, names.replace(found.taken, state))


def _first_of_each(candidates: Rows, count: int) -> Flags:
    """Which candidates have their id: where there is one, that one. Of equal ones the one that was there before."""
    is_first = np.bincount(candidates.group, minlength=count)[candidates.group] == 1
    rivals = sorted(_content(candidates, place) for place in np.flatnonzero(~is_first).tolist())
    for before, one in pairwise([(-1,), *rivals]):
        if before[0] != one[0]:
            is_first[one[-1]] = True
    return np.asarray(is_first)


def _content(candidates: Rows, place: int) -> tuple[Any, ...]:
    keys = tuple(key.encode() for key in candidates.columns[KEYS][place].as_py())
    times = (candidates.columns[column][place].as_py() for column in (OPENED_AT, DEADLINE))
    return int(candidates.group[place]), *times, keys, place


def _named_state(hashed: Ints, ids: pa.Array, winners: Rows) -> pa.RecordBatch:
    order = np.argsort(hashed, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    count = len(order)
    no_events = Rows(np.zeros(0, np.int64), {AT: pa.array([], pa.int64())})
    columns = {
        HASH: pa.array(hashed[order]),
        KEY: ids.take(pa.array(order)),
        DUE: pa.array(np.full(count, NEVER)),
        PENDING: pa.array(np.ones(count, np.int64)),
        IS_DONE: pa.array(np.ones(count, bool)),
        EVENTS: lists(NAMES.event, rank, no_events, count),
        OPERATIONS: lists(NAMES.operation, rank, winners, count),
    }
    return batch_of(NAMES.kept, columns)


def _has_its_name(names: Kept, outcomes: pa.Table, ticket: pa.ChunkedArray) -> pa.Array:
    """Whether an outcome is of the operation that has the id."""
    ids = outcomes[OPERATION_ID].combine_chunks()
    hashed = pa.array(hashes(ids).view(np.int64))
    keys = different_keys(pa.RecordBatch.from_arrays([hashed, ids], [HASH, KEY]))
    found = names.find(keys, np.iinfo(np.int64).min)
    winner = flat(found.kept[OPERATIONS]).columns[TICKET].take(pa.array(found.place[keys.place]))
    return pc.equal(winner, ticket.combine_chunks())
