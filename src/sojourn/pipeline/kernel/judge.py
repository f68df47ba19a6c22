"""What becomes of operations, given the events of their groups: `law.decide`, for columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...rules import Condition, Group, Leaf, Never, Rule
from ...rules.account import Progress, missing_text
from .._build import core
from .alive import Chains
from .columns import NEVER, Events, Lanes
from .evidence import Evidence, Operations, evidence
from .search import Ints, distinct

COMPLETED, EXPIRED, CANCELLED, PENDING = range(4)
"""Codes of endings: indices in `schema.ENDINGS`."""

NOTHING = -1
"""The code of a missing text."""

Evidences = Mapping[Leaf, Evidence]
Times = Mapping[Leaf, Ints]
"""By leaf, when it comes to hold, for each operation."""


class CodedTexts(NamedTuple):
    """A column of texts as codes: indices in `texts`, or NOTHING."""

    codes: Ints
    texts: list[str]


class Verdicts(NamedTuple):
    """How operations end, as columns, in the order of the operations.

    `ending`      COMPLETED, EXPIRED or CANCELLED, at the time `at`; or PENDING: then that is the time of the judgement.
    `deadline`    the one in force at `at`.
    `met_at`      NEVER if the condition is not met by the events there are.
    `decided_by`, `missing`   as in an outcome table.
    `cancelled_at`   the first cancellation since the opening, whatever the deadline; NEVER if there is none.

    If no event stamped <= w is still to come, those with `at` <= w are final, but for a `met_at` > w.
    """

    ending: NDArray[np.int8]
    at: Ints
    deadline: Ints
    met_at: Ints
    decided_by: CodedTexts
    missing: CodedTexts
    cancelled_at: Ints


class Endings(NamedTuple):
    """When and how operations end, as in `Verdicts`, before it is put into words: `known` is what that takes."""

    ending: NDArray[np.int8]
    at: Ints
    deadline: Ints
    met_at: Ints
    cancelled_at: Ints
    known: Evidences


def judge(
    rule: Rule, events: Events, operations: Operations, lanes: Lanes | None = None, as_of: int | None = None
) -> Verdicts:
    """The verdict on every operation, given all events of its group, known up to `as_of`, or complete.

    No event, and no opening, is stamped later than `as_of`.
    """
    return in_words(rule, endings(rule, events, operations, lanes, as_of))


def endings(
    rule: Rule, events: Events, operations: Operations, lanes: Lanes | None = None, as_of: int | None = None
) -> Endings:
    lanes = lanes or Lanes(rule, events)
    known = {leaf: evidence(leaf, lanes, events, operations) for leaf in rule.leaves}
    times = {leaf: of_leaf.holds_from for leaf, of_leaf in known.items()}
    met_at = _holds_from(rule.until, times, len(operations.group))
    cancelled_at = _cancelled_at(rule, events, operations, lanes)
    chains = Chains(lanes[rule.keeps_alive], events, operations) if rule.keeps_alive is not None else None
    deadline = operations.deadline if chains is None else chains.deadline()
    ending, at = verdict(met_at, cancelled_at, deadline, as_of)
    if chains is not None:
        cancelled = np.flatnonzero(ending == CANCELLED)
        deadline[cancelled] = chains.deadline_at(cancelled, at[cancelled])
    return Endings(ending, at, deadline, met_at, cancelled_at, known)


def in_words(rule: Rule, ended: Endings, chosen: Ints | None = None) -> Verdicts:
    """The verdicts on these operations; on all of them if none are chosen."""
    these = slice(None) if chosen is None else chosen
    ending, at = ended.ending[these], ended.at[these]
    times = {leaf: known.holds_from[these] for leaf, known in ended.known.items()}
    return Verdicts(
        ending,
        at,
        ended.deadline[these],
        ended.met_at[these],
        _decided_by(rule, ending, times),
        _missing(rule, ending, at, ended.known, chosen),
        ended.cancelled_at[these],
    )


def verdict(
    met_at: Ints, cancelled_at: Ints, deadline: Ints, as_of: int | None = None
) -> tuple[NDArray[np.int8], Ints]:
    """As `law.verdict`: at the same instant completed before cancelled before expired; what ends later is pending."""
    if core is not None:
        columns = map(np.ascontiguousarray, (met_at, cancelled_at, deadline))
        endings, times = core.verdict(*columns, NEVER if as_of is None else as_of)
        return endings, times
    is_completed = (met_at <= deadline) & (met_at <= cancelled_at)
    is_cancelled = ~is_completed & (cancelled_at <= deadline)
    ending = np.where(is_completed, COMPLETED, np.where(is_cancelled, CANCELLED, EXPIRED)).astype(np.int8)
    at = np.where(is_completed, met_at, np.where(is_cancelled, cancelled_at, deadline))
    if as_of is not None:
        ending[at > as_of] = PENDING
        np.minimum(at, as_of, out=at)
    return ending, at


def _cancelled_at(rule: Rule, events: Events, operations: Operations, lanes: Lanes) -> Ints:
    """The earliest cancellation since the opening."""
    times = np.full(len(operations.group), NEVER)
    if rule.cancels is not None:
        lane = lanes[rule.cancels]
        place = lane.before[operations.first]
        is_there = place < lane.before[events.starts[operations.group + 1]]
        times[is_there] = lane.at[place[is_there]]
    return times


def _holds_from(condition: Condition, known: Times, count: int) -> Ints:
    """When a condition comes to hold, from when its leaves do: `law.holds_at`."""
    if isinstance(condition, Never):
        return np.full(count, NEVER)
    if not isinstance(condition, Group):
        return known[condition]
    times = [_holds_from(part, known, count) for part in condition.parts]
    if condition.needed == 1:
        return np.asarray(np.minimum.reduce(times))
    if condition.needed == len(times):
        return np.asarray(np.maximum.reduce(times))
    return np.sort(np.stack(times, axis=1), axis=1)[:, condition.needed - 1]


def _decided_by(rule: Rule, ending: NDArray[np.int8], known: Times) -> CodedTexts:
    texts = ["deadline", rule.cancels or "", *(leaf.kind for leaf in rule.leaves)]
    codes = (ending == CANCELLED).astype(np.int64)
    completed = ending == COMPLETED
    codes[completed] = _decisive(rule.until, known, rule.places, len(ending))[completed] + 2
    codes[ending == PENDING] = NOTHING
    return CodedTexts(codes, texts)


def _decisive(condition: Condition, known: Times, places: Mapping[Leaf, int], count: int) -> Ints:
    """The index of the leaf that made a condition hold: `law.decisive_kind`. Meaningless where it does not hold."""
    if not isinstance(condition, Group):
        return np.full(count, NOTHING if isinstance(condition, Never) else places[condition])
    at = _holds_from(condition, known, count)
    decisive = np.full(count, NOTHING)
    for part in reversed(condition.parts):
        is_then = _holds_from(part, known, count) == at
        decisive = np.where(is_then, _decisive(part, known, places, count), decisive)
    return decisive


def _missing(rule: Rule, ending: NDArray[np.int8], at: Ints, known: Evidences, operations: Ints | None) -> CodedTexts:
    """What was still missing at the end of those that did not complete, or is; a text is made once for each state."""
    codes = np.full(len(ending), NOTHING)
    if rule.keeps_alive is not None:
        codes[ending == EXPIRED] = 0
        return CodedTexts(codes, [rule.keeps_alive])
    chosen = np.flatnonzero(ending != COMPLETED)
    if isinstance(rule.until, Never) or not chosen.size:
        return CodedTexts(codes, [])
    if not rule.leaves:
        codes[chosen] = 0
        return CodedTexts(codes, [_missing_text(rule.until, (), {})])
    asked = chosen if operations is None else operations[chosen]
    progress = {leaf: known[leaf].have(asked, at[chosen]) for leaf in rule.leaves}
    codes[chosen], states = distinct([have for have, _ in progress.values()])
    texts = [_missing_text(rule.until, state, progress) for state in states]
    return CodedTexts(codes, texts)


def _missing_text(
    until: Condition, state: tuple[int, ...], progress: Mapping[Leaf, tuple[Ints, list[Progress] | None]]
) -> str:
    have = {
        leaf: Progress(value) if amounts is None else amounts[value]
        for value, (leaf, (_, amounts)) in zip(state, progress.items(), strict=True)
    }
    return missing_text(until, have.__getitem__)
