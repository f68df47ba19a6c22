"""Logs before they are written: what happened, in which files it is to stand, and what is to be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from files.meant import BAD, KINDS, MISSING, NEGATIVE, OK, OPENS, PAYS, UNKNOWN_KIND, Meant
from files.values import DAY, SECOND, Way
from sojourn.rules import Event

BEGIN = 1_709_290_800 * SECOND
"""Noon on 1 March 2024."""

CLOSES = 60 * DAY
"""So long after, when everything has ended, a last event moves the watermark of a stream on."""

STEP = 250_000
DIRT = {
    "key": (MISSING, BAD),
    "kind": (MISSING,),
    "at": (MISSING, BAD),
    "source": (MISSING,),
    "value": (MISSING, BAD, NEGATIVE),
    "allowed": (MISSING, BAD, NEGATIVE),
    "due": (MISSING, BAD),
}

Values = dict[str, Any]


class Draft(NamedTuple):
    """Times in microseconds, amounts in cents, durations in seconds; `dirt` says what is wrong, by column."""

    serial: int
    key: int
    kind: str
    at: int
    source: int
    value: int
    allowed: int
    due: int
    dirt: Mapping[str, str]


def drafts(random: Random) -> list[list[Draft]]:
    """The rows of each file. The last one of all is clean, and lies far behind all others, unless there is none."""
    sizes = random.choice([[0], [1], [0, 1], [30], [12, 1, 20], [15, 0, 15], [60]])
    rate, keys = random.choice([0.0, 0.1, 0.4]), random.choice([2, 6])
    serials = iter(range(1, sum(sizes) + 1))
    files = [[_draft(random, next(serials), keys, rate) for _ in range(size)] for size in sizes]
    if files[-1]:
        files[-1][-1] = _closing(files[-1][-1])
    return files


def _draft(random: Random, serial: int, keys: int, rate: float) -> Draft:
    kind = random.choice([OPENS, OPENS, PAYS, PAYS, *KINDS, UNKNOWN_KIND])
    at = BEGIN + random.randrange(40_000) * STEP + random.choice([0, 0, 1, 999, 1_000, 500_123])
    due = at + random.randrange(-1_000, 40_000) * STEP + random.choice([0, 1, 999])
    dirt = {column: random.choice(DIRT[column]) for column in DIRT if random.random() < rate / 3}
    source, value, allowed = random.randrange(3), random.randrange(20_000), random.randrange(20_000)
    return Draft(serial, random.randrange(keys), kind, at, source, value, allowed, due, dirt)


def _closing(last: Draft) -> Draft:
    return last._replace(kind=UNKNOWN_KIND, at=BEGIN + CLOSES, due=BEGIN + CLOSES, dirt={})


def is_closing(draft: Draft) -> bool:
    return draft.at == BEGIN + CLOSES


def dressed(random: Random, draft: Draft, ways: Mapping[str, Way]) -> tuple[Values, Meant]:
    """The values of a row, and what they mean. What cannot be written is not wrong after all."""
    values: Values = {}
    means: Values = {}
    dirt = {}
    for column, way in ways.items():
        state, wrong = draft.dirt.get(column, OK), ()
        if state == BAD:
            wrong = way.bad
        elif state == NEGATIVE:
            wrong = way.negative
        if state == MISSING or wrong:
            values[column], means[column], dirt[column] = random.choice(wrong or (None,)), None, state
        else:
            values[column], means[column] = way.write(random, getattr(draft, column))
    return values, Meant(draft.serial, event_of(means), dirt)


def event_of(means: Values) -> Event:
    further = {"allowed": means["allowed"], "due": None if means["due"] is None else -(-means["due"] // 1000)}
    return Event(
        means["key"] or "",
        means["kind"] or "",
        (means["at"] or 0) // 1000,
        means["source"],
        means["value"],
        {name: value for name, value in further.items() if value is not None},
    )
