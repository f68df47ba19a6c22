"""What the screen shows, and where it comes from."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import chain
from math import ceil, log

from ..clock import NS_PER_MS
from ..timer import IMPLEMENTATION
from .census import Census, Levels
from .pace import Pace
from .world import World

COLUMN_NS = 250 * NS_PER_MS  # of real time, while it is not paused
COLUMNS = 240  # of history: a minute
RATE_COLUMNS = 4  # of which a rate is the mean
LATE_COLUMNS = 20  # lateness is that of the last five seconds
LATE_BINS, LATE_FROM_MS, LATE_RATIO = 20, 0.05, 1.6
WORD_COLUMNS = 8  # how long a sentence is shown
HERD_SHOWN_MS = 10_000  # how long the end of a herd is shown, in virtual time


@dataclass(frozen=True)
class Series:
    """Something counted: how many by now, and how many per (virtual) second in each column of its history."""

    name: str
    total: int
    history: tuple[float, ...]
    is_alive: bool = True

    @property
    def rate(self) -> float:
        recent = self.history[-RATE_COLUMNS:]
        return sum(recent) / len(recent) if recent else 0.0


@dataclass(frozen=True)
class LateView:
    """How late waits were told of their deadline in the last seconds, in real milliseconds."""

    p50: float = 0.0
    p99: float = 0.0
    most: float = 0.0
    bins: tuple[int, ...] = (0,) * LATE_BINS

    def __str__(self) -> str:
        if not any(self.bins):
            return "nothing has expired"
        p50, p99, most = (f"{ms:.1f}" if ms < 10 else f"{ms:.0f}" for ms in (self.p50, self.p99, self.most))
        return f"p50 {p50}  p99 {p99}  max {most} ms"


@dataclass(frozen=True)
class Reading:
    """All that one frame shows."""

    seconds: float
    now_ns: int
    speed: float
    reached: float
    """The speed that the machine keeps up with."""
    is_paused: bool
    tick_ms: int
    wheel_size: int
    levels: Levels
    pending: int
    outcomes: tuple[Series, ...]
    sources: tuple[Series, ...]
    lateness: LateView
    herd: str
    word: str
    build: str = IMPLEMENTATION

    def level_tick_ms(self, level: int) -> int:
        return self.tick_ms * int(self.wheel_size**level)

    def turns(self, level: int) -> float:
        """How often that level's hand has come round."""
        return self.now_ns / NS_PER_MS / self.level_tick_ms(level + 1)


class Observer:
    """Takes readings of a world: keeps the history, measures lateness, counts buckets."""

    def __init__(self, world: World, pace: Pace) -> None:
        self.world = world
        self.pace = pace
        self.census = Census(world.hub.timer)
        self.lateness = LateView()
        self._began_ns = pace.real_ns()
        self._late: deque[list[int]] = deque([[]], maxlen=LATE_COLUMNS)
        self._late_of_herd = 0
        self._begin_column(self._began_ns)
        self._history: dict[str, deque[float]] = {name: deque(maxlen=COLUMNS) for name in self._counts}
        self._reached: deque[float] = deque(maxlen=RATE_COLUMNS)
        self._columns = 0
        self._word = ""

    def note_expiry(self, due_ms: int) -> None:
        late_ns = self.pace.late_ns(due_ms)
        self._late[-1].append(late_ns)
        if self.world.herd is not None and due_ms == self.world.herd.due_ms:
            self._late_of_herd = late_ns

    def look(self) -> Reading:
        """A reading of this moment."""
        world, pace = self.world, self.pace
        real_ns = pace.real_ns()
        if pace.is_paused:
            self._begin_column(real_ns)
        elif real_ns - self._column_ns >= COLUMN_NS:
            self._end_column(real_ns)
        ended = world.ended
        return Reading(
            seconds=(real_ns - self._began_ns) / 1e9,
            now_ns=min(pace.now_ns(), world.next_ns),
            speed=pace.speed,
            reached=sum(self._reached) / len(self._reached) if self._reached else pace.speed,
            is_paused=pace.is_paused,
            tick_ms=world.hub.timer.tick_ms,
            wheel_size=world.hub.timer.wheel_size,
            levels=self.census.look(world.now_ms),
            pending=world.hub.pending,
            outcomes=tuple(Series(name, total, tuple(self._history[name])) for name, total in ended.items()),
            sources=tuple(
                Series(source.name, source.signals, tuple(self._history[source.name]), source.is_alive)
                for source in world.sources
            ),
            lateness=self.lateness,
            herd=self._herd_text(),
            word=self._word,
        )

    def changed_speed(self) -> None:
        """What was reached at another speed says nothing about this one."""
        self._reached.clear()

    def _count(self) -> dict[str, int]:
        return self.world.ended | {source.name: source.signals for source in self.world.sources}

    def _begin_column(self, real_ns: int) -> None:
        self._column_ns, self._column_at_ms, self._counts = real_ns, self.world.now_ms, self._count()

    def _end_column(self, real_ns: int) -> None:
        passed_ms = self.world.now_ms - self._column_at_ms
        if passed_ms:  # in slow motion not every column has a millisecond in it: then it grows
            for name, count in self._count().items():
                self._history[name].append((count - self._counts[name]) * 1000 / passed_ms)
            self._reached.append(passed_ms * NS_PER_MS / (real_ns - self._column_ns))
            self._begin_column(real_ns)
        self.lateness = self._late_view()
        self._late.append([])
        self._columns += 1
        if self._columns % WORD_COLUMNS == 1:
            self._word = self._explain()

    def _late_view(self) -> LateView:
        late = sorted(chain.from_iterable(self._late))
        if not late:
            return LateView()
        p50, p99, most = (late[ceil(share * len(late)) - 1] / NS_PER_MS for share in (0.5, 0.99, 1))
        bins = [0] * LATE_BINS
        for late_ns in late:
            bins[late_bin(late_ns / NS_PER_MS)] += 1
        return LateView(p50, p99, most, tuple(bins))

    def _explain(self) -> str:
        wait = self.world.last_ended
        if wait is None:
            return ""
        return f"Request {wait.key:,}: {wait.explain()}"

    def _herd_text(self) -> str:
        herd = self.world.herd
        left_ms = herd.due_ms - self.world.now_ms if herd else 0
        if herd is None or left_ms < -HERD_SHOWN_MS:
            return ""
        if left_ms > 0:
            return f"Herd: {herd.size:,} waits fall due in one millisecond, in {left_ms / 1000:.3f} s"
        return f"Herd: {herd.size:,} waits fell due; the last was told {self._late_of_herd / NS_PER_MS:.0f} ms late"


def late_bin(late_ms: float) -> int:
    """Where that lateness is in the chart."""
    if late_ms < LATE_FROM_MS:
        return 0
    return min(LATE_BINS - 1, 1 + int(log(late_ms / LATE_FROM_MS, LATE_RATIO)))
