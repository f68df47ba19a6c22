"""What is known of some keys, brought together: what was kept of them, and the events that have just come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...columns.normal import kernel_events
from ...kernel import NEVER, UNREADABLE, Events
from ...kernel.search import Flags, Ints, ascending
from ...schema import AT, DEADLINE, KEY, KIND, OPENED_AT
from .shape import DONE_UNTIL, EVENTS, HASH, IS_DONE, IS_SPENT, OPERATIONS, ORDINAL, ROW_DEADLINE, SINCE, Shape, nothing


class Keys(NamedTuple):
    """The different keys of some events, by hash, and for each event the place of its own among them."""

    hash: Ints
    key: pa.Array
    place: Ints


def different_keys(fresh: pa.RecordBatch) -> Keys:
    encoded = fresh[KEY].dictionary_encode()
    place = encoded.indices.to_numpy()
    last = np.empty(len(encoded.dictionary), np.int64)
    last[place] = np.arange(len(place))
    hashes = fresh[HASH].to_numpy()[last]
    by_hash = np.argsort(hashes, kind="stable")  # who looks for neighbours one after the other finds them sooner
    rank = np.empty(len(by_hash), np.int64)
    rank[by_hash] = np.arange(len(by_hash))
    return Keys(hashes[by_hash], encoded.dictionary.take(pa.array(by_hash)), rank[place])


class Opened(NamedTuple):
    """Operations that were opened for certain, as columns: `group` is the place of their key."""

    group: Ints
    opened_at: Ints
    deadline: Ints
    since: Ints
    ordinal: Ints


@dataclass(frozen=True)
class Groups:
    """Keys in the order of their hash, with the rows of each in the order of time.

    `rows` holds the columns of `Shape.kept_row`; `group` is the place of each row's key. `done_until` means something
    for keys that are done.
    """

    shape: Shape
    hash: Ints
    key: pa.Array
    was_kept: Flags
    is_done: Flags
    done_until: Ints
    group: Ints
    rows: dict[str, pa.Array]
    opened: Opened

    @cached_property
    def at(self) -> Ints:
        return _ints(self.rows[AT])

    @cached_property
    def kind(self) -> Ints:
        return _ints(self.rows[KIND])

    @cached_property
    def is_spent(self) -> Flags:
        return _flags(self.rows[IS_SPENT])

    @cached_property
    def told_as(self) -> Ints:
        """Where rows name their deadlines: of a row whose operation was told early, the number it was told under."""
        number: Ints = self.rows[ROW_DEADLINE].to_numpy()
        return number

    @cached_property
    def is_claimed(self) -> Flags:
        """Whether a key has, or had, an operation for certain."""
        is_claimed = self.is_done.copy()
        is_claimed[self.opened.group] = True
        return is_claimed

    @cached_property
    def events(self) -> Events:
        """The rows, as the kernel reads them."""
        rows = dict(self.rows)
        if ROW_DEADLINE in rows:
            rows[ROW_DEADLINE] = pa.array(self._deadlines())
        starts = np.append(0, np.cumsum(np.bincount(self.group, minlength=len(self.hash))))
        events = pa.RecordBatch.from_pydict(rows)
        return kernel_events(self.shape.plan, events, np.arange(len(self.group)), starts)

    @property
    def is_free(self) -> Flags:
        """By row: whether what ended before lets it open an operation, or be of use to one that is opened later."""
        is_free: Flags = ~self.is_done[self.group] | (self.at > self.done_until[self.group])
        return is_free

    def remembered(self, watermark: int) -> Groups:
        """The same, without what is to be forgotten by then."""
        if not self.shape.forgets_keys:
            return self
        return replace(self, is_done=self.is_done & (self.done_until >= watermark))

    def known(self, as_of: int) -> Groups:
        """The same, without the rows that are stamped later."""
        rows = np.flatnonzero(self.at <= as_of)
        columns = {name: column.take(pa.array(rows)) for name, column in self.rows.items()}
        return replace(self, group=self.group[rows], rows=columns)

    def _deadlines(self) -> Ints:
        """Rows that are spent come first in their instant, so that those that open go on counting after them."""
        deadlines: Ints = self.rows[ROW_DEADLINE].to_numpy()
        return np.where(self.is_spent & (deadlines != UNREADABLE), UNREADABLE + 1, deadlines)


def known_of(shape: Shape, kept: pa.RecordBatch) -> Groups:
    """What is kept of some keys, when no event has come."""
    nobody = Keys(np.zeros(0, np.int64), pa.array([], pa.string()), np.zeros(0, np.int64))
    return together(shape, kept, nothing(shape.fresh), nobody, np.zeros(0, np.int64))


def together(shape: Shape, kept: pa.RecordBatch, fresh: pa.RecordBatch, keys: Keys, place: Ints) -> Groups:
    """Kept keys and events as one; `place` is the index in `kept` of each of the events' keys, -1 if it is not kept."""
    is_new = place < 0
    hashes = np.concatenate([_ints(kept[HASH]), keys.hash[is_new]])
    by_hash = np.argsort(hashes, kind="stable")
    rank = np.empty(len(hashes), np.int64)
    rank[by_hash] = np.arange(len(hashes))
    number = np.where(is_new, kept.num_rows - 1 + np.cumsum(is_new), place)
    names = pa.concat_arrays([kept[KEY], keys.key.filter(pa.array(is_new))])
    row_group, rows = _flat(kept[EVENTS])
    group = rank[np.concatenate([row_group, number[keys.place]])]
    columns = {name: pa.concat_arrays([rows[name], fresh[name]]) for name in shape.fresh.names[2:]}
    columns[IS_SPENT] = pa.concat_arrays([rows[IS_SPENT], pa.array(np.zeros(fresh.num_rows, bool))])
    order = _in_order(group, _ints(columns[AT]), _flags(columns[IS_SPENT]))
    indices = pa.array(order)
    is_there = np.arange(len(hashes)) < kept.num_rows
    done_until = np.full(len(hashes), NEVER)
    if shape.forgets_keys:
        done_until[is_there] = _ints(kept[DONE_UNTIL])
    return Groups(
        shape,
        hashes[by_hash],
        names.take(pa.array(by_hash)),
        is_there[by_hash],
        np.append(_flags(kept[IS_DONE]), np.zeros(int(is_new.sum()), bool))[by_hash],
        done_until[by_hash],
        group[order],
        {name: column.take(indices) for name, column in columns.items()},
        _opened(shape, kept[OPERATIONS], rank),
    )


def _in_order(group: Ints, at: Ints, is_spent: Flags) -> Ints:
    """Rows by group, then time, those that are spent first: where all of it fits one number, by that."""
    if len(at):
        first = int(at.min())
        span = 2 * (int(at.max()) - first + 1)
        if span * (int(group.max()) + 1) < 2**63:
            order = ascending(group * span + 2 * (at - first) + ~is_spent)
            return np.arange(len(at)) if order is None else order
    return np.lexsort((~is_spent, at, group))


def _opened(shape: Shape, kept: pa.ListArray, rank: Ints) -> Opened:
    group, columns = _flat(kept)
    opened_at, within = _ints(columns[OPENED_AT]), shape.rule.within
    deadline = opened_at + within if isinstance(within, int) else _ints(columns[DEADLINE])
    since = _ints(columns[SINCE]) if SINCE in columns else opened_at
    return Opened(rank[group], opened_at, deadline, since, _ints(columns[ORDINAL]).astype(np.int64))


def _flat(lists: pa.ListArray) -> tuple[Ints, dict[str, pa.Array]]:
    """The elements of all lists one after the other, column by column, and which list each is from."""
    elements = lists.flatten()
    counts = np.diff(lists.offsets.to_numpy())
    names = [field.name for field in elements.type]
    return np.repeat(np.arange(len(lists)), counts), dict(zip(names, elements.flatten(), strict=True))


def _ints(column: pa.Array) -> Ints:
    values: Ints = column.to_numpy()
    return values


def _flags(column: pa.Array) -> Flags:
    values: Flags = column.to_numpy(zero_copy_only=False)
    return values
