"""The law: what becomes of an operation, given the events of its key. Every engine obeys it.

An operation opened at `s` has a deadline `d` >= s. All times are integer milliseconds.

* A signal counts from the opening on (`t >= s`), whichever of the two is seen first. For a level (`reached`) those from
  before count too; what holds then holds at `s`.
* `met_at` is the earliest `t >= s` at which the condition holds, given all signals stamped <= t, whatever the deadline.
* completed at `met_at`, if met_at <= d and no cancellation is stamped in s <= c < met_at;
  else cancelled at the earliest cancellation, if s <= c <= d; else expired at `d`.
  At the same instant, therefore: completed before cancelled before expired.
* Under `keeps_alive` each such event stamped s <= t <= d moves `d` to t + within, in the order of time.
* A log ends: the events are known up to `as_of`, and later ones are not looked at. What would end after `as_of` is
  pending. A deadline at `as_of` has passed, as a signal at `as_of` counts.

Nothing here depends on the order of `events`: the outcome is a function of the set. No clock, no thread, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import RuleError
from .account import Progress, conclude
from .as_of import AsOf, end_of_log
from .condition import Condition, Group, Leaf, Never, Reached, Seen, Total
from .event import Event, source_order
from .exact import exact, is_level, is_rough, reaches
from .operation import Operation, opened
from .outcome import Ending, Outcome, Standing
from .reading import event_error, measure
from .rule import Rule

LeafTime = Callable[[Leaf], int | None]


def outcomes(
    rule: Rule,
    events: Iterable[Event],
    quarantine: Callable[[Event, str], object] | None = None,
    *,
    as_of: AsOf = "log",
) -> list[Outcome]:
    """The outcome of every operation that a log opens, by time of opening, then key.

    Events that the rule cannot use go to `quarantine(event, reason)`; without one, the first of them is an error.

    `as_of` is the time up to which the events are known: "log", the time of the latest event that can be used, whatever
    its kind; or a time in epoch milliseconds; or "complete", if nothing else will come.
    """
    usable: list[Event] = []
    for event in events:
        reason = event_error(rule, event)
        if reason is None:
            usable.append(event)
        elif quarantine is None:
            raise RuleError(f"rule {rule.name!r} cannot use {event}: {reason}")
        else:
            quarantine(event, reason)
    end = end_of_log(as_of, max((event.at for event in usable), default=None))
    by_key: dict[str, list[Event]] = {}
    for event in known(usable, end):
        by_key.setdefault(event.key, []).append(event)
    entries = [
        ((opening.at, str(key), ordinal), decide(rule, opening, key_events, ordinal, end))
        for key, key_events in by_key.items()
        for opening, ordinal in openings(rule, key_events)
    ]
    return [outcome for _, outcome in sorted(entries, key=lambda entry: entry[0])]


def known(events: Iterable[Event], as_of: int | None) -> list[Event]:
    """The events that are looked at, given the time up to which they are known; None if they are complete."""
    return [event for event in events if as_of is None or event.at <= as_of]


def openings(rule: Rule, events: Iterable[Event]) -> list[tuple[Event, int]]:
    """The events of one key that open operations, each with its ordinal among those of the same instant.

    Of openings at the same instant the one with the earliest deadline comes first.
    """
    ordered = sorted((e for e in events if e.kind == rule.opens), key=lambda e: (e.at, rule.deadline(e)))
    if rule.per == "first":
        return [(e, 1) for e in ordered[:1]]
    first_at = {e.at: i for i, e in reversed(list(enumerate(ordered)))}
    return [(e, i - first_at[e.at] + 1) for i, e in enumerate(ordered)]


def decide(rule: Rule, opening: Event, events: Sequence[Event], ordinal: int = 1, as_of: int | None = None) -> Outcome:
    """The outcome of one operation, given all events of its key: the opening too, which may be a signal itself.

    The events are known up to `as_of`, or complete.
    """
    return case_of(opened(rule, opening, ordinal), events, as_of).outcome


class Case(NamedTuple):
    """An operation, its outcome, and the evidence.

    `counted`    of each leaf, the events that made it hold, or got it as far as it came: the objects themselves.
    `held_from`  when each leaf came to hold; None if it did not.
    """

    operation: Operation
    outcome: Outcome
    counted: Mapping[Leaf, Sequence[Event]]
    held_from: Mapping[Leaf, int | None]


def case_of(operation: Operation, events: Sequence[Event], as_of: int | None = None) -> Case:
    """What becomes of an operation, given all events that it may look at, known up to `as_of`, or complete."""
    rule = operation.rule
    events = known(events, as_of)
    since = [e for e in events if e.at >= operation.opened_at]
    cancelled_at = min((e.at for e in since if e.kind == rule.cancels), default=None)
    alive = [e.at for e in since if e.kind == rule.keeps_alive]
    counted = {leaf: evidence(leaf, events, operation.opened_at) for leaf in rule.leaves}
    held_from = {leaf: holds_from(leaf, counted[leaf], operation.opened_at) for leaf in rule.leaves}
    met_at = holds_at(rule.until, held_from.__getitem__)
    ended, at = standing(*verdict(met_at, cancelled_at, extended(operation, alive)), as_of)
    outcome = conclude(
        operation,
        ended,
        at,
        deadline=extended(operation, [t for t in alive if t <= at]),
        met_at=met_at,
        decided_by=None if ended == "pending" else decided_by(rule, ended, held_from.__getitem__),
        progress_of=lambda leaf: progress(leaf, counted[leaf], at),
    )
    needed = {leaf: until_held(leaf, counted[leaf], held_from[leaf]) for leaf in rule.leaves}
    return Case(operation, outcome, needed, held_from)


def verdict(met_at: int | None, cancelled_at: int | None, deadline: int) -> tuple[Ending, int]:
    """How an operation ends, and when: ties are decided here and nowhere else."""
    if met_at is not None and met_at <= deadline and (cancelled_at is None or met_at <= cancelled_at):
        return "completed", met_at
    if cancelled_at is not None and cancelled_at <= deadline:
        return "cancelled", cancelled_at
    return "expired", deadline


def standing(ending: Ending, at: int, as_of: int | None) -> tuple[Standing, int]:
    """How an operation that ends so stands as of a time, and when that is: what ends later is pending.

    None is the end of time.
    """
    return (ending, at) if as_of is None or at <= as_of else ("pending", as_of)


def extended(operation: Operation, alive: Iterable[int]) -> int:
    """The deadline, once the keep-alive events at these times have moved it, as far as the chain is unbroken."""
    deadline = operation.deadline
    for at in sorted(alive):
        if at > deadline:
            break
        deadline = at + operation.within_ms
    return deadline


def holds_at(condition: Condition, leaf_time: LeafTime) -> int | None:
    """When a condition comes to hold, from when its leaves do."""
    if isinstance(condition, Never):
        return None
    if not isinstance(condition, Group):
        return leaf_time(condition)
    times = sorted(t for part in condition.parts if (t := holds_at(part, leaf_time)) is not None)
    return times[condition.needed - 1] if len(times) >= condition.needed else None


def evidence(leaf: Leaf, events: Sequence[Event], opened_at: int) -> list[Event]:
    """The events that count towards a leaf, in the order of time, then source."""
    ordered = sorted((e for e in events if e.kind == leaf.kind), key=lambda e: (e.at, source_order(e.source)))
    match leaf:
        case Reached():
            return first_of_each_source(e for e in ordered if is_level(measure(leaf, e), leaf.at_least))
        case Seen(distinct="source"):
            return first_of_each_source(e for e in ordered if e.at >= opened_at)
        case Seen() | Total():
            return [e for e in ordered if e.at >= opened_at]


def first_of_each_source(ordered: Iterable[Event]) -> list[Event]:
    first: dict[object, Event] = {}
    for event in ordered:
        first.setdefault(event.source, event)
    return list(first.values())


def holds_from(leaf: Leaf, counted: Sequence[Event], opened_at: int) -> int | None:
    """When a leaf comes to hold, given its evidence: never before the opening."""
    if isinstance(leaf, Total):
        total, has_rough = 0, False
        for event in counted:
            value = measure(leaf, event)
            total, has_rough = total + exact(value), has_rough or is_rough(value)
            if reaches(total, leaf.at_least, has_rough):
                return event.at
        return None
    needed = leaf.times if isinstance(leaf, Seen) else leaf.by
    return max(opened_at, counted[needed - 1].at) if len(counted) >= needed else None


def until_held(leaf: Leaf, counted: Sequence[Event], held_from: int | None) -> list[Event]:
    """Of a leaf's evidence, what it needed to hold."""
    if isinstance(leaf, Total):
        return [e for e in counted if held_from is None or e.at <= held_from]
    return list(counted[: leaf.times if isinstance(leaf, Seen) else leaf.by])


def progress(leaf: Leaf, counted: Sequence[Event], at: int) -> Progress:
    """How far a leaf had come by `at`, given its evidence."""
    by_then = [e for e in counted if e.at <= at]
    match leaf:
        case Total():
            values = [measure(leaf, e) for e in by_then]
            return Progress(sum(map(exact, values)), is_rough=any(map(is_rough, values)))
        case Seen(times=times, distinct=None):
            return Progress(min(len(by_then), times))
        case Seen(times=needed) | Reached(by=needed):
            return Progress(min(len(by_then), needed), tuple(e.source for e in by_then[:needed]))


def decisive_kind(condition: Condition, leaf_time: LeafTime) -> str:
    """The kind that made a condition hold: in each group, the first part in rule order that held at that time."""
    if isinstance(condition, Never):
        raise RuleError("never() does not hold")
    if not isinstance(condition, Group):
        return condition.kind
    at = holds_at(condition, leaf_time)
    return next(decisive_kind(part, leaf_time) for part in condition.parts if holds_at(part, leaf_time) == at)


def decided_by(rule: Rule, ending: Ending, leaf_time: LeafTime) -> str:
    """What ended an operation: the kind of a signal or cancellation, or "deadline"."""
    if ending == "completed":
        return decisive_kind(rule.until, leaf_time)
    return rule.cancels if ending == "cancelled" and rule.cancels else "deadline"
