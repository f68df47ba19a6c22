"""Which waits have to be gone through record by record, and what they heard. See `hearing`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...hub._memory import Memory
from ...hub._plan import WaitPlan
from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Flags, Ints
from ...rules import Event, Reached
from ..state.state import Settings, remembered
from .changes import Change, settings_of
from .hearing import Hearing
from .signals import Signals
from .waits import Waits

KEY, MS, OWNER, PLACE = "key", "ms", "owner", "place"


def particular(waits: Waits, signals: Signals, recalled: dict[int, list[Event]]) -> Ints:
    """The waits whose signals are not simply those stamped in their time."""
    is_one = np.zeros(len(waits), bool)
    is_one[list(recalled)] = True
    is_ordinary = ~signals.has_own_time
    plain = _signal_table(signals, np.flatnonzero(is_ordinary), signals.stamp)
    is_one |= _where(_of_waits(waits, waits.opened_at, waits.position), plain, "min", len(waits))
    levels = [n for n, rule in waits.plans.items() if any(isinstance(leaf, Reached) for leaf in rule.leaves)]
    of_levels = np.isin(waits.plan, levels)
    zeros = np.zeros(len(waits), np.int64)
    earlier = _signal_table(signals, np.flatnonzero(is_ordinary), np.zeros_like(signals.stamp))
    is_one |= of_levels & _where(_of_waits(waits, zeros, waits.position), earlier, "min", len(waits))
    by_hand = waits.cancelled_at != NEVER
    is_one |= by_hand & _where(_of_waits(waits, waits.cancelled_at, waits.cancelled_in), plain, "max", len(waits))
    with_times = _signal_table(signals, np.flatnonzero(~is_ordinary), np.zeros_like(signals.stamp))
    is_one |= _where(_of_waits(waits, zeros, waits.position), with_times, "max", len(waits))
    owner, keys = waits.flat_keys
    held = signals.rows["key"].filter(pa.array(signals.counted_in > signals.position)).combine_chunks()
    is_one[owner[pc.is_in(keys, held).to_numpy(zero_copy_only=False)]] = True
    alive = [number for number, rule in waits.plans.items() if rule.keeps_alive is not None]
    is_one |= waits.is_moved & np.isin(waits.plan, alive)
    return np.flatnonzero(is_one)


def heard(
    waits: Waits,
    signals: Signals,
    changes: list[Change],
    chosen: Ints,
    recalled: dict[int, list[Event]],
    kind: str,
    began_with: Settings | None,
) -> Iterator[tuple[int, Hearing]]:
    """These waits, each with what it heard. `kind` is what a cancellation by hand is called, where a rule has none."""
    starts = _starts(changes, began_with)
    plans = {number: WaitPlan(rule) for number, rule in waits.plans.items()}
    by_key = signals.by_key({key for wait in chosen.tolist() for key in waits.names(wait)})
    moves_of = waits.moves(changes)
    for wait in chosen.tolist():
        plan = plans[int(waits.plan[wait])]
        cancel_kind = plan.rule.cancels or kind
        hearing = Hearing(plan, int(waits.opened_at[wait]), int(waits.within_ms[wait]), cancel_kind)
        on_keys = sorted(one for key in waits.names(wait) for one in by_key[key])
        opened_in, opened_at = int(waits.position[wait]), int(waits.opened_at[wait])
        later = [
            one
            for row, one in on_keys
            if signals.position[row] > opened_in
            or (one.position > opened_in and one.event.at >= opened_at - _remembered_ms(starts, one.position))
        ]
        later.sort(key=lambda one: (one.position, one.event.at))
        hearing.go_through(recalled.get(wait, ()), later, moves_of(wait), waits.told(wait))
        yield wait, hearing


def recalled_by(
    waits: Waits, signals: Signals, changes: list[Change], began_with: Settings | None
) -> dict[int, list[Event]]:
    """The signals that waits were opened on, by the memory that hubs have, and with its limits."""
    starts = _starts(changes, began_with)
    if all(settings_of(start).remember_ms is None for start in starts):
        return {}
    order = signals.order(np.flatnonzero(signals.counted_in != NEVER))
    steps: list[tuple[int, int, Any]] = [
        (int(place), 0, event) for place, event in zip(signals.counted_in[order], signals.events(order), strict=True)
    ]
    steps += [(start.position, 1, start) for start in starts]
    steps += [(int(place), 2, wait) for wait, place in enumerate(waits.position)]
    plans = {number: WaitPlan(rule) for number, rule in waits.plans.items()}
    memory: Memory | None = None
    found: dict[int, list[Event]] = {}
    for _, what, step in sorted(steps, key=lambda step: step[:2]):
        if what == 1:
            memory = _restarted(memory, step)
        elif memory is not None and what == 0:
            memory.keep(step, memory.look(step.key))
        elif memory is not None:
            looks = [memory.look(key) for key in waits.names(step)]
            asking = cast(Any, SimpleNamespace(_plan=plans[int(waits.plan[step])]))
            events = memory.recall(looks, int(waits.opened_at[step]), asking)
            if events:
                found[step] = events
    return found


def _starts(changes: list[Change], began_with: Settings | None) -> list[Change]:
    """When a hub was opened, with which settings; before the log, too, if its beginning is gone."""
    before = [] if began_with is None else [Change(-1, "start", 0, [began_with._asdict()])]
    return [*before, *(change for change in changes if change.record == "start")]


def _remembered_ms(starts: list[Change], position: int) -> float:
    """For how long a signal that counts there, having been held, is remembered for who came meanwhile."""
    current = [settings_of(start).remember_ms for start in starts if start.position <= position]
    return -inf if not current or current[-1] is None else current[-1]


def _restarted(memory: Memory | None, start: Change) -> Memory | None:
    """As the settings of that start say, with what was kept before."""
    settings = settings_of(start)
    if settings.remember_ms is None:
        return None
    again = Memory(settings.remember_ms, settings.remember_most)
    for event in () if memory is None else remembered(memory):
        again.keep(event, again.look(event.key))
    return again


def _of_waits(waits: Waits, ms: Ints, place: Ints) -> pa.Table:
    """For each key of each wait, a time and a place in the log."""
    owner, keys = waits.flat_keys
    return pa.table({KEY: keys, MS: ms[owner], OWNER: owner, PLACE: place[owner]})


def _signal_table(signals: Signals, chosen: Ints, ms: Ints) -> pa.Table:
    keys = signals.rows["key"].take(pa.array(chosen))
    return pa.table({KEY: keys, MS: ms[chosen], PLACE: signals.position[chosen]})


def _where(asked: pa.Table, signals: pa.Table, which: str, count: int) -> Flags:
    """The owners for whom there is a signal on the key at that time, before the place ("min") or behind it ("max")."""
    found = np.zeros(count, bool)
    if signals.num_rows and asked.num_rows:
        outermost = signals.group_by([KEY, MS]).aggregate([(PLACE, which)])
        both = asked.join(outermost, [KEY, MS], join_type="inner")
        compare = pc.less if which == "min" else pc.greater
        is_so = compare(both[f"{PLACE}_{which}"], both[PLACE])
        found[both.filter(is_so)[OWNER].to_numpy()] = True
    return found
