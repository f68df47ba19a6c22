"""Round numbers for axes: steps of durations and counts."""

from __future__ import annotations

from collections.abc import Iterator

from ..results.bins import DAY, HOUR, MINUTE, SECOND

_STEPS = tuple(
    unit * times
    for unit, several in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND, (1, 2, 5, 10, 15, 30)),
        (MINUTE, (1, 2, 5, 10, 15, 30)),
        (HOUR, (1, 2, 3, 6, 12)),
        (DAY, (1, 2, 5, 10, 15, 30, 60, 90, 180, 365)),
        (365 * DAY, (2, 5, 10, 20, 50, 100, 200, 500, 1_000)),
    )
    for times in several
)


def duration_step(at_least: float, multiple_of: int = 1) -> int:
    """The shortest round duration that is not below `at_least` and a multiple of the width given."""
    for step in _STEPS:
        if step >= at_least and step % multiple_of == 0:
            return step
    return multiple_of * max(1, -(-int(at_least) // multiple_of))


def count_step(most: int, ticks: int = 4) -> int:
    """A round number of which about `ticks` reach up to `most`."""
    least = max(most / ticks, 1)
    magnitude: int = 10 ** (len(str(int(least))) - 1)
    return next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= least)


def multiples(step: int, start: int, end: int) -> range:
    """The multiples of `step` from `start` to `end`, both included."""
    return range(-(-start // step) * step, end + 1, step)


def spread(number: int, most: int) -> Iterator[int]:
    """At most `most` of the places 0, 1, ..., evenly apart."""
    yield from range(0, number, max(1, -(-number // most)))
