"""Durations from left to right, around a deadline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rules import duration_text
from ..results.bins import Bins, Ints
from ..results.deadlines import shift_text
from ..results.survival import COMPLETED, MET_LATE
from ..results.tally import Tally
from .scale import duration_step, multiples

COLUMNS = 64
EARLIEST, LATEST = 0.005, 0.99
"""Which part of the operations the axis is to have room for; the few beyond would make it all margin."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From `start` to `end`, measured from the deadline, in columns of `step`, which both are multiples of.

    A column holds what was met after its start and not after its end: so the deadline lies in the last column of those
    that met it. `allowed` is how long operations may take, if it is the same for all: then durations are told from
    their opening on, else from their deadline.
    """

    start: int
    end: int
    step: int
    allowed: int | None

    @staticmethod
    def around(tally: Tally) -> Axis:
        """An axis for the operations of a tally that were ever met."""
        slack, (shortest, longest) = tally.slack, tally.allowed
        allowed = shortest if tally.is_fixed and shortest == longest else None
        start = min(-_slack_share(slack, 1 - EARLIEST), 0) if allowed is None else -allowed
        end = max(-_slack_share(slack, 1 - LATEST), -start // 4, 1)
        step = duration_step((end - start) / COLUMNS, multiple_of=widest(slack, start, end))
        first = start if allowed is not None else start - 1  # a column does not hold its own start
        return Axis(first // step * step, -(-end // step) * step, step, allowed)

    def edges(self) -> list[int]:
        """Where columns begin and end."""
        return list(range(self.start, self.end + 1, self.step))

    def columns(self, slack: Bins) -> list[list[int]]:
        """How many were met in each column, in time and late. What was met at its opening counts in the first."""
        places = self._places(slack)
        counts = np.zeros(((self.end - self.start) // self.step, 2), np.int64)
        is_inside = (places >= 0) & (places < len(counts))
        np.add.at(counts, places[is_inside], _met(slack)[is_inside])
        return list(counts.tolist())

    def outside(self, slack: Bins) -> tuple[int, int]:
        """How many were met before the start, and after the end."""
        places, totals = self._places(slack), _met(slack).sum(axis=1)
        length = (self.end - self.start) // self.step
        return int(totals[places < 0].sum()), int(totals[places >= length].sum())

    def by_when(self, slack: Bins, share: float) -> int:
        """The time by which this share of those ever met was met."""
        return -_slack_share(slack, 1 - share)

    def share(self, ms: float) -> float:
        """Where on the axis a duration lies, from 0 to 1."""
        start = self._shown_start()
        return min(max((ms - start) / (self.end - start), 0), 1)

    def text(self, ms: int) -> str:
        """A place on the axis in words."""
        if self.allowed is not None:
            return duration_text(max(ms + self.allowed, 0))
        return f"{duration_text(abs(ms))} {'early' if ms < 0 else 'late'}" if ms else "deadline"

    def met_text(self, ms: int) -> str:
        """By when something was met: "within 20 days", "at least 20 min before their deadline"."""
        if self.allowed is not None:
            return f"within {self.text(ms)}"
        how_far = f"at least {duration_text(-ms)} before" if ms < 0 else f"at most {duration_text(ms)} after"
        return f"{how_far} their deadline" if ms else "by their deadline"

    def moved_text(self, ms: int) -> str:
        """A deadline moved there: "20 days", "20 min later"."""
        return shift_text(ms) if self.allowed is None else self.text(ms)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        step = duration_step((self.end - self.start) / most)
        zero = self.allowed or 0
        values = multiples(step, self._shown_start() + zero, self.end + zero)
        return [(self.share(value - zero), self.tick_text(value)) for value in values]

    def deadline_text(self) -> str:
        return "deadline" if self.allowed is None else f"deadline: {duration_text(self.allowed)}"

    def tick_text(self, value: int) -> str:
        """A duration from the opening on, or from the deadline."""
        if self.allowed is not None or value == 0:
            return duration_text(value) if value else "0"
        return f"{'-' if value < 0 else '+'}{duration_text(abs(value))}"

    def _shown_start(self) -> int:
        return self.start if self.allowed is None else max(self.start, -self.allowed)

    def _places(self, slack: Bins) -> Ints:
        """In which column each interval of slack lies. Slack falls from left to right, hence the sign."""
        places = -(slack.starts // self.step) - 1 - self.start // self.step
        return np.maximum(places, 0) if self.allowed is not None else places


def widest(slack: Bins, start: int, end: int) -> int:
    """The width of the widest interval between two times around a deadline."""
    is_inside = (slack.starts <= -start) & (slack.ends >= -end)
    return int(np.max((slack.ends - slack.starts)[is_inside], initial=1))


def _met(slack: Bins) -> Ints:
    """How many were met, in time and late."""
    return slack.counts[:, [COMPLETED, MET_LATE]]


def _slack_share(slack: Bins, share: float) -> int:
    """The largest slack that all but this share of those that were met had at least."""
    below = np.cumsum(_met(slack).sum(axis=1))
    place = int(np.searchsorted(below, share * below[-1], side="right"))
    return int(slack.starts[min(place, len(below) - 1)])
