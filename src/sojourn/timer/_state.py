"""What both builds of the timer share: a task's states, the frozen statistics, and what is refused at the door."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from math import inf
from typing import NamedTuple, SupportsIndex

from .._arguments import MAX_MS as MAX_MS
from .._arguments import check_clock, check_executor, check_whole, items_of
from ..clock import ms_at_or_after
from ..errors import ConfigError, DelayError

HISTOGRAM_SIZE = 40
"""Lateness is counted by powers of two: under 1 us, 2 us, 4 us ... about six days, and beyond."""

WALL_ORIGIN_MS = -62_135_596_800_000
"""Where the wall clock's wheels begin: the first of January of the year 1, before every datetime."""

EPOCH_SECONDS_LIMIT = 100_000_000_000
"""Epoch seconds beyond this (the year 5138) are milliseconds by mistake."""


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TaskState(Enum):
    """A task is in exactly one of these."""

    IDLE = 0
    """Never added, or handed back by `close()`."""
    PENDING = 1
    EXPIRED = 2
    """Its deadline came and it was run, or is being run."""
    CANCELLED = 3


class LatenessHistogram(NamedTuple):
    """How late tasks ran after their deadline. `counts[i]` tasks were late by less than `bounds_ms[i]`."""

    counts: tuple[int, ...]
    max_ms: float

    @property
    def bounds_ms(self) -> tuple[float, ...]:
        return (*(2**i / 1000 for i in range(len(self.counts) - 1)), inf)

    @property
    def total(self) -> int:
        return sum(self.counts)

    def quantile(self, q: float) -> float:
        """The lateness in ms that a share `q` of the tasks did not exceed: an upper bound, true to a factor of two."""
        if not isinstance(q, int | float) or not 0 <= q <= 1:
            raise ValueError(f"quantile({q!r}): a share lies between 0 and 1, as in 0.99")
        left = q * self.total
        for bound_ms, count in zip(self.bounds_ms, self.counts, strict=True):
            left -= count
            if count and left <= 0:
                return min(bound_ms, self.max_ms)
        return self.max_ms


class TimerStats(NamedTuple):
    """A frozen snapshot. At every moment `scheduled == pending + cancelled + expired + undone`."""

    pending: int
    scheduled: int
    cancelled: int
    extended: int
    expired: int
    undone: int
    """Handed back by `close()`."""
    cascaded: int
    """Moves from an overflow wheel to a finer one."""
    levels: int
    buckets_queued: int
    lateness: LatenessHistogram


def whole_ms(value: SupportsIndex, name: str = "delay_ms") -> int:
    """`value` as a delay in whole milliseconds, or a `DelayError`."""
    try:
        delay_ms = operator.index(value)
    except TypeError:
        raise DelayError(
            f"{name}={value!r} is not a whole number of milliseconds; round it up with math.ceil"
        ) from None
    if delay_ms < 0:
        raise DelayError(f"{name}={delay_ms} is negative; use 0 to run at once")
    return delay_ms


def too_far(delay_ms: object, longest_ms: int, name: str = "delay_ms") -> DelayError:
    return DelayError(
        f"{name}={delay_ms} ends after the last millisecond that a clock of 64-bit nanoseconds can show; "
        f"the longest delay now is {longest_ms}"
    )


def wall_ms(when: datetime | float) -> int:
    """A wall-clock time as epoch milliseconds, rounded up, or a `DelayError`."""
    if isinstance(when, datetime):
        if when.utcoffset() is None:
            raise DelayError(f"when={when!r} has no time zone; add one, as in when.astimezone()")
        since_epoch = when - EPOCH
        return ms_at_or_after(
            (since_epoch.days * 86_400 + since_epoch.seconds) * 10**9 + since_epoch.microseconds * 1000
        )
    if not isinstance(when, int | float) or not abs(when) < EPOCH_SECONDS_LIMIT:
        raise DelayError(
            f"when={when!r} is neither an aware datetime nor epoch seconds as time.time() gives them "
            "(milliseconds? divide by 1000)"
        )
    # A float of today's epoch seconds resolves about 0.2 us: round that dust off, or 1.1 s would become 1101 ms.
    return when * 1000 if isinstance(when, int) else ms_at_or_after(round(when * 1e6) * 1000)


def check_settings(tick_ms: int, wheel_size: int, clock: object, executor: object) -> None:
    """Refuse a wheel that cannot turn, a clock that shows no time and an executor that executes nothing."""
    check_whole("tick_ms", tick_ms, 1, 2**40)
    check_whole("wheel_size", wheel_size, 2, 2**20)
    check_clock(clock)
    check_executor(executor)


def check_levels(levels: object) -> None:
    if levels is not None:
        check_whole("levels", levels, 0, MAX_MS)


def check_bucket(level: object, bucket: object, levels: int, wheel_size: int) -> None:
    """Refuse a bucket that no wheel has."""
    if not (isinstance(level, int) and isinstance(bucket, int) and 0 <= level < levels and 0 <= bucket < wheel_size):
        raise IndexError(f"level {level!r} has no bucket {bucket!r}: {levels} levels of {wheel_size} buckets")


def delays_in(delays_ms: Iterable[SupportsIndex]) -> tuple[SupportsIndex, ...]:
    return items_of("delays_ms", delays_ms, "give a list of whole milliseconds")


def check_each(each: Iterable[object] | None, tasks: int) -> tuple[object, ...] | None:
    """The items of `each`, if given and one for each task."""
    if each is None:
        return None
    items = items_of("each", each, "give one item for each delay")
    if len(items) != tasks:
        raise ConfigError(f"each has {len(items)} items for {tasks} delays; give one item for each delay")
    return items


def not_callable(callback: object) -> TypeError:
    return TypeError(f"callback={callback!r} cannot be called; give a function, and its arguments after it")


def lateness_bucket(late_ns: int) -> int:
    return min(HISTOGRAM_SIZE - 1, (late_ns // 1000).bit_length())
