"""The first step: by key, events meet the operations that wait on them. Each pair is handed on once.

An event is kept until the watermark has passed it, as an operation opened at the same time may still come; one that has
reached a level, for ever. An operation is kept until the watermark has passed its deadline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ....rules import Reached
from ...columns.normal import deadline_column, kernel_events
from ...columns.texts import hashes
from ...kernel import NEVER, UNREADABLE, Lanes, reaching
from ...kernel.search import Flags, Ints, ranges
from ...schema import AT, DEADLINE, KEY, KIND, OPENED_AT, SOURCE
from ..shard.groups import Keys, different_keys
from ..shard.segment import Found, Kept
from ..shard.shape import DUE, EVENTS, HASH, IS_DONE, OPERATIONS, PENDING
from .terms import HOME, TICKET, WATCH, Terms, batch_of


class Met(NamedTuple):
    """What a step gives: rows for homes, in the form of `Terms.home.fresh`, the home of each, and what is kept."""

    handed: pa.RecordBatch
    home: Ints
    kept: Kept


@dataclass(frozen=True)
class Rows:
    """Rows of some table, and the group of each: the place of its key."""

    group: Ints
    columns: dict[str, pa.Array]

    def ints(self, name: str) -> Ints:
        values: Ints = self.columns[name].to_numpy()
        return values

    def take(self, places: Ints) -> Rows:
        indices = pa.array(places)
        return Rows(self.group[places], {name: column.take(indices) for name, column in self.columns.items()})

    def and_then(self, other: Rows) -> Rows:
        columns = {n: pa.concat_arrays([column, other.columns[n]]) for n, column in self.columns.items()}
        return Rows(np.append(self.group, other.group), columns)


def meet(terms: Terms, kept: Kept, events: pa.RecordBatch, watches: pa.RecordBatch, watermark: int) -> Met:
    """Bring events and operations together; none of them is late."""
    both = pa.concat_batches([events.select([HASH, KEY]), watches.select([HASH, KEY])])
    keys = different_keys(both)
    found = kept.find(keys, watermark)
    places = _numbered(found)[keys.place]
    row_names = [field.name for field in terms.meeting.event]
    fresh_rows = Rows(places[: events.num_rows], {name: events[name] for name in row_names})
    fresh_watches = Rows(places[events.num_rows :], {field.name: watches[field.name] for field in WATCH})
    old_rows, old_watches = flat(found.kept[EVENTS]), flat(found.kept[OPERATIONS])
    all_watches, is_new = _once(old_watches.and_then(fresh_watches), len(old_watches.group))
    parts = [
        _handed(terms, found, keys, fresh_rows, all_watches),
        _handed(terms, found, keys, old_rows, all_watches.take(is_new)),
    ]
    handed = pa.concat_batches([part for part, _ in parts])
    home = np.concatenate([home for _, home in parts])
    rows = _kept_rows(terms, old_rows.and_then(fresh_rows), len(_all_keys(found, keys)), watermark)
    waiting = all_watches.take(np.flatnonzero(all_watches.ints(DEADLINE) >= watermark))
    state = _state(terms, found, keys, rows, waiting, watermark)
    return Met(handed, home, kept.replace(found.taken, state) if state.num_rows else kept)


def _numbered(found: Found) -> Ints:
    """A number for each key: those that are kept first, then the new ones."""
    is_new = found.place < 0
    return np.where(is_new, found.kept.num_rows - 1 + np.cumsum(is_new), found.place)


def _all_keys(found: Found, keys: Keys) -> pa.Array:
    return pa.concat_arrays([found.kept[KEY], keys.key.filter(pa.array(found.place < 0))])


def flat(lists: pa.ListArray) -> Rows:
    """The elements of all lists one after the other, column by column."""
    elements = lists.flatten()
    group = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    names = [field.name for field in elements.type]
    return Rows(group, dict(zip(names, elements.flatten(), strict=True)))


def _once(watches: Rows, old: int) -> tuple[Rows, Ints]:
    """Each operation of a key once, and the places of those that are new: one that is sent again changes nothing."""
    code = watches.columns[TICKET].dictionary_encode().indices.to_numpy().astype(np.int64)
    _, first = np.unique(np.stack([watches.group, code], axis=1), axis=0, return_index=True)
    first.sort()
    return watches.take(first), np.flatnonzero(first >= old)


def _handed(terms: Terms, found: Found, keys: Keys, rows: Rows, watches: Rows) -> tuple[pa.RecordBatch, Ints]:
    """The rows of each operation's keys that it looks at, stamped like its opening if they are levels from before."""
    order = np.argsort(rows.group, kind="stable")
    starts = np.searchsorted(rows.group[order], np.arange(len(_all_keys(found, keys)) + 1))
    counts = starts[watches.group + 1] - starts[watches.group]
    watch = np.repeat(np.arange(len(watches.group)), counts)
    row = order[ranges(starts[watches.group], counts)]
    at, opened_at, deadline = rows.ints(AT)[row], watches.ints(OPENED_AT)[watch], watches.ints(DEADLINE)[watch]
    kind = rows.ints(KIND)[row]
    is_seen = (at <= deadline) & ((at >= opened_at) | terms.is_level[kind]) & (terms.kinds[kind] >= 0)
    watch, row = watch[is_seen], row[is_seen]
    chosen, owners = rows.take(row), watches.take(watch)
    ticket = owners.columns[TICKET]
    columns = {
        **chosen.columns,
        HASH: pa.array(hashes(ticket).view(np.int64)),
        KEY: ticket,
        KIND: pa.array(terms.kinds[kind[is_seen]].astype(np.int16)),
        AT: pa.array(np.maximum(at, opened_at)[is_seen]),
        deadline_column(0): pa.array(np.full(len(row), UNREADABLE)),
    }
    if SOURCE in terms.plan.columns and not terms.plan.has_sources:
        columns[SOURCE] = _all_keys(found, keys).take(pa.array(chosen.group))
    return batch_of(terms.home.fresh, columns), owners.ints(HOME).astype(np.int64)


def _kept_rows(terms: Terms, rows: Rows, groups: int, watermark: int) -> Rows:
    """Those that an operation to come may look at, by group, then time."""
    rows = rows.take(np.lexsort((rows.ints(AT), rows.group)))
    is_needed: Flags = rows.ints(AT) >= watermark
    if terms.is_level.any():
        starts = np.searchsorted(rows.group, np.arange(groups + 1))
        batch = pa.RecordBatch.from_pydict(rows.columns)
        events = kernel_events(terms.plan, batch, np.arange(len(rows.group)), starts)
        lanes = Lanes(terms.rule, events)
        for leaf in terms.rule.leaves:
            if isinstance(leaf, Reached):
                lane = reaching(leaf, lanes[leaf.kind], events)
                before = lane.before[starts[rows.group[lane.rows]]]
                is_needed[lane.rows[np.arange(len(lane.rows)) - before < leaf.by]] = True
    return rows.take(np.flatnonzero(is_needed))


def _state(terms: Terms, found: Found, keys: Keys, rows: Rows, watches: Rows, watermark: int) -> pa.RecordBatch:
    """What is kept of the keys: of those of which something is, or was."""
    names = _all_keys(found, keys)
    hashed = np.append(found.kept[HASH].to_numpy(), keys.hash[found.place < 0])
    count = len(names)
    watches = watches.take(np.argsort(watches.group, kind="stable"))
    in_rows, in_watches = (np.bincount(part.group, minlength=count) for part in (rows, watches))
    chosen = np.flatnonzero((np.arange(count) < found.kept.num_rows) | (in_rows > 0) | (in_watches > 0))
    chosen = chosen[np.argsort(hashed[chosen], kind="stable")]
    rank = np.full(count, -1)
    rank[chosen] = np.arange(len(chosen))
    columns = {
        HASH: pa.array(hashed[chosen]),
        KEY: names.take(pa.array(chosen)),
        DUE: pa.array(_due(rows, watches, count, watermark)[chosen]),
        PENDING: pa.array(in_watches[chosen]),
        IS_DONE: pa.array(np.zeros(len(chosen), bool)),
        EVENTS: lists(terms.meeting.event, rank, rows, len(chosen)),
        OPERATIONS: lists(terms.meeting.operation, rank, watches, len(chosen)),
    }
    return batch_of(terms.meeting.kept, columns)


def _due(rows: Rows, watches: Rows, count: int, watermark: int) -> Ints:
    """When to look at a key again: once the last of its rows, or of its operations, is of no use any more."""
    due = np.full(count, NEVER)
    for part, name in ((rows, AT), (watches, DEADLINE)):
        last = np.full(count, watermark - 1)
        np.maximum.at(last, part.group, part.ints(name))
        due = np.where(last >= watermark, np.minimum(due, last), due)
    return due


def lists(element: pa.StructType, rank: Ints, rows: Rows, count: int) -> pa.ListArray:
    """The rows of each group as a list, in the order of `rank`."""
    rows = rows.take(np.argsort(rank[rows.group], kind="stable"))
    offsets = np.append(0, np.cumsum(np.bincount(rank[rows.group], minlength=count)))
    fields = list(element)
    elements = pa.StructArray.from_arrays([rows.columns[field.name] for field in fields], fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)
