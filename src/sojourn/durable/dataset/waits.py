"""The waits of a past as columns, and what was done to them by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Flags, Ints
from . import schema as D  # noqa: N812
from .changes import Change
from .hearing import Move, ToldEnd
from .past import Past, positions
from .tables import Plans


@dataclass
class Waits:
    """Those that were opened in a past, in the order of their numbers, which a repair may have left gaps in.

    `deadline` is as moved by hand. `cancelled_at` is when a wait was cancelled by hand, at `cancelled_in` of the log.
    """

    rows: pa.Table
    number: Ints
    plan: Ints
    opened_at: Ints
    within_ms: Ints
    position: Ints
    told_in: Ints
    told_at: Ints
    plans: Plans
    deadline: Ints = field(init=False)
    cancelled_at: Ints = field(init=False)
    cancelled_in: Ints = field(init=False)
    is_moved: Flags = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.opened_at + self.within_ms
        self.cancelled_at, self.cancelled_in = np.full(len(self), NEVER), np.full(len(self), NEVER)
        self.is_moved = np.zeros(len(self), bool)

    def __len__(self) -> int:
        return len(self.plan)

    @staticmethod
    def of(past: Past) -> Waits:
        rows = past.events.filter(pc.is_valid(past.events[D.WAIT]))
        plan, within_ms, number = (rows[name].to_numpy() for name in (D.PLAN, D.WITHIN_MS, D.WAIT))
        opened_at = rows["at"].cast(pa.int64()).to_numpy()
        told_in, told_at = np.full(len(number), NEVER), np.full(len(number), NEVER)
        waits = Waits(rows, number, plan, opened_at, within_ms, positions(rows), told_in, told_at, past.plans)
        place = waits.places(past.outcomes[D.WAIT].to_numpy())
        told_in[place[place >= 0]] = positions(past.outcomes)[place >= 0]
        told_at[place[place >= 0]] = past.outcomes["at"].cast(pa.int64()).to_numpy()[place >= 0]
        return waits

    def places(self, numbers: Ints) -> Ints:
        """Where the waits of these numbers are; -1 where there is none."""
        if not len(self):
            return np.full(len(numbers), -1)
        place = np.minimum(np.searchsorted(self.number, numbers), len(self) - 1)
        return np.where(self.number[place] == numbers, place, -1)

    @cached_property
    def keys(self) -> pa.Array:
        """A list of texts for each."""
        return self.rows["keys"].combine_chunks()

    @cached_property
    def flat_keys(self) -> tuple[Ints, pa.Array]:
        """Each key of each wait: whose it is, and the key."""
        return pc.list_parent_indices(self.keys).to_numpy(), self.keys.flatten()

    def names(self, wait: int) -> list[str]:
        keys: list[str] = self.keys[wait].as_py()
        return keys

    def own_key(self, wait: int, separator: str) -> str:
        """A key that only this wait has."""
        return f"{self.keys[wait][0].as_py()}{separator}{self.number[wait]}"

    def told(self, wait: int) -> ToldEnd:
        return ToldEnd(int(self.told_in[wait]), int(self.told_at[wait]))

    def apply(self, changes: list[Change]) -> None:
        """What was done by hand, as far as it could: to waits that had been opened, and not told to have ended.

        A cancellation that came too late changes nothing under the law; a deadline that has passed cannot be moved.
        """
        for change in changes:
            match change.record:
                case "extend":
                    for place in self._places(change.body[0]):
                        self._move(change, np.array([place]), change.body[1] - self.deadline[place])
                case "shift":
                    self._shift(change, np.flatnonzero(self._matching(*change.body[:2])), *change.body[2:4])
                case "cancel":
                    self._cancel(change, np.array(self._places(change.body[0]), np.int64))
                case "cancel_where":
                    self._cancel(change, np.flatnonzero(self._matching(*change.body)))

    def moves(self, changes: list[Change]) -> Callable[[int], list[Move]]:
        """Of one wait, what was to be done to it: whether it could be is for `Hearing` to say."""
        to_all = [change for change in changes if change.record in ("shift", "cancel_where")]
        to_one: dict[int, list[Change]] = {}
        for change in changes:
            if change.record in ("extend", "cancel"):
                to_one.setdefault(change.body[0], []).append(change)

        def moves_of(wait: int) -> list[Move]:
            single = [_move_of(change, 1) for change in to_one.get(int(self.number[wait]), ())]
            bulk = [_move_of(change, 2) for change in to_all if self._is_meant(change, wait)]
            return [move for move in (*single, *bulk) if move.position > self.position[wait]]

        return moves_of

    def _is_meant(self, change: Change, wait: int) -> bool:
        before_seq = change.body[3] if len(change.body) > 3 else None
        is_there = before_seq is None or self.number[wait] < before_seq
        return bool(is_there and self._matching(*change.body[:2])[wait])

    def _places(self, number: int) -> list[int]:
        return [place for place in self.places(np.array([number])).tolist() if place >= 0]

    def _shift(self, change: Change, chosen: Ints, by_ms: int, before_seq: int | None = None) -> None:
        chosen = chosen if before_seq is None else chosen[self.number[chosen] < before_seq]
        moved = self._move(change, chosen, by_ms)
        if by_ms < 0:
            self.deadline[moved] = np.maximum(self.deadline[moved], change.stamp)

    def _move(self, change: Change, chosen: Ints, by_ms: int) -> Ints:
        chosen = chosen[self._is_open(change, chosen)]
        self.is_moved[chosen] = True
        moved = chosen[change.stamp <= self.deadline[chosen]]
        self.deadline[moved] += by_ms
        return moved

    def _cancel(self, change: Change, chosen: Ints) -> None:
        chosen = chosen[self._is_open(change, chosen) & (self.cancelled_at[chosen] == NEVER)]
        self.cancelled_at[chosen] = change.stamp
        self.cancelled_in[chosen] = change.position

    def _is_open(self, change: Change, chosen: Ints) -> Flags:
        return (self.position[chosen] < change.position) & (change.position < self.told_in[chosen])

    def _matching(self, rule: str | None, key_prefix: str | None) -> Flags:
        asked = rule, key_prefix
        if asked not in self._known_matches:
            chosen = np.ones(len(self), bool)
            if rule is not None:
                plans = [number for number, known in self.plans.items() if known.name == rule]
                chosen &= np.isin(self.plan, plans)
            if key_prefix is not None:
                owner, keys = self.flat_keys
                starts = pc.starts_with(keys, key_prefix).to_numpy(zero_copy_only=False)
                chosen &= np.bincount(owner[starts], minlength=len(self)) > 0
            self._known_matches[asked] = chosen
        return self._known_matches[asked]

    @cached_property
    def _known_matches(self) -> dict[tuple[str | None, str | None], Flags]:
        return {}


def _move_of(change: Change, place: int) -> Move:
    """`place` is where the body has the deadline, or how far it was shifted."""
    match change.record:
        case "extend":
            return Move(change.position, change.stamp, deadline=change.body[place])
        case "shift":
            return Move(change.position, change.stamp, by_ms=change.body[place])
        case _:
            return Move(change.position, change.stamp)
