"""Every public argument of timers, purgatories, hubs and clocks: what it refuses, and that both builds say the same.

A row is a call with one argument that makes no sense, and the error, word for word; `{...}` stands for an object's own
text. It must be raised at the call itself, and leave nothing behind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from hub.scene import ROOMS as HUBS
from purgatory.scene import ROOMS
from sojourn import ConfigError, DelayError
from sojourn._arguments import MAX_MS, is_set
from sojourn.clock import ManualClock
from support import BUILDS, Build

HUGE = 2**70
WHOLE = "must be a whole number from"
NOT_WHOLE = "is not a whole number of milliseconds; round it up with math.ceil"
NO_CLOCK = "has no now_ns(), wall_ns() and wait(); leave it out for the system's clocks, or give a ManualClock"
NO_TEXT = "must be a text, as in 'orders'; every other setting is given by its name"
NO_EXECUTOR = (
    "has no submit(); give a concurrent.futures executor, or leave it out to run tasks in the timer's own thread"
)
NO_TIMER = "is not a timer of this build; give a SystemTimer or an AsyncTimer, or leave it out for one of its own"
NO_CALL = "cannot be called; give a function, and its arguments after it"
NO_HANDLER = "cannot be called; leave it out to have exceptions logged"
TOO_FAR = "ends after the last millisecond that a clock of 64-bit nanoseconds can show; the longest delay now is"
NO_MS = f"is not a number of milliseconds from {-MAX_MS} to {MAX_MS}"
NEGATIVE = "is negative; use 0 to run at once"

Row = tuple[Callable[[Any], object], type[Exception], str]


class Duck:
    """Looks like nothing we know."""

    def __repr__(self) -> str:
        return "<a duck>"


def settings(make: str) -> list[Row]:
    """What timers refuse when they are made."""

    def row(error: type[Exception], message: str, *args: Any, **options: Any) -> Row:
        return lambda at: getattr(at, make)(*args, **options), error, message

    duck = Duck()
    return [
        row(ConfigError, f"name=None {NO_TEXT}", None),
        row(ConfigError, f"name=5 {NO_TEXT}", 5),
        row(ConfigError, f"name=b'x' {NO_TEXT}", b"x"),
        row(ConfigError, f"tick_ms=0 {WHOLE} 1 to {2**40}", "t", tick_ms=0),
        row(ConfigError, f"tick_ms=1.5 {WHOLE} 1 to {2**40}", "t", tick_ms=1.5),
        row(ConfigError, f"tick_ms={HUGE} {WHOLE} 1 to {2**40}", "t", tick_ms=HUGE),
        row(ConfigError, f"tick_ms=None {WHOLE} 1 to {2**40}", "t", tick_ms=None),
        row(ConfigError, f"wheel_size=1 {WHOLE} 2 to {2**20}", "t", wheel_size=1),
        row(ConfigError, f"wheel_size='20' {WHOLE} 2 to {2**20}", "t", wheel_size="20"),
        row(ConfigError, f"wheel_size=2.5 {WHOLE} 2 to {2**20}", "t", wheel_size=2.5),
        row(ConfigError, f"clock='x' {NO_CLOCK}", "t", clock="x"),
        row(ConfigError, f"clock=0 {NO_CLOCK}", "t", clock=0),
        row(ConfigError, f"clock=<a duck> {NO_CLOCK}", "t", clock=duck),
        row(ConfigError, f"clock={ManualClock!r} {NO_CLOCK}", "t", clock=ManualClock),
        row(ConfigError, f"executor='x' {NO_EXECUTOR}", "t", executor="x"),
        row(ConfigError, f"executor=<a duck> {NO_EXECUTOR}", "t", executor=duck),
        row(TypeError, f"on_error='x' {NO_HANDLER}", "t", on_error="x"),
        row(TypeError, f"on_error=None {NO_HANDLER}", "t", on_error=None),
    ]


def delays(call: Callable[[Any, Any], object], name: str = "delay_ms") -> list[Row]:
    """What everything that takes a delay refuses; the timer's clock shows 0."""

    def row(value: object, message: str, error: type[Exception] = DelayError) -> Row:
        return lambda at: call(at, value), error, f"{name}={message}"

    return [
        row(-1, f"-1 {NEGATIVE}"),
        row(1.5, f"1.5 {NOT_WHOLE}"),
        row("5", f"'5' {NOT_WHOLE}"),
        row(None, f"None {NOT_WHOLE}"),
        row(math.nan, f"nan {NOT_WHOLE}"),
        row(HUGE, f"{HUGE} {TOO_FAR} {{longest}}"),
        row(2**63 - 1, f"{2**63 - 1} {TOO_FAR} {{longest}}"),
    ]


def when(value: object, message: str) -> Row:
    return lambda at: at.timer.schedule_at(value, print), DelayError, message


NEITHER = "is neither an aware datetime nor epoch seconds as time.time() gives them (milliseconds? divide by 1000)"
NO_OPERATION = "is not a DelayedOperation of this build; give one, or of a subclass"

TABLE: dict[str, list[Row]] = {
    "SystemTimer()": settings("SystemTimer"),
    "AsyncTimer()": settings("AsyncTimer"),
    "schedule(delay_ms)": delays(lambda at, value: at.timer.schedule(value, print)),
    "TimerTask(delay_ms)": delays(lambda at, value: at.TimerTask(value))[:5],
    "DelayedOperation(delay_ms)": delays(lambda at, value: at.DelayedOperation(value))[:5],
    "extend(delay_ms)": delays(lambda at, value: at.task.extend(value)),
    "delay_ms = ...": delays(lambda at, value: setattr(at.TimerTask(1), "delay_ms", value))[:5],
    "add(task)": [
        (lambda at: at.timer.add("x"), TypeError, "add('x'): that is no TimerTask; schedule(delay_ms, callback) takes a function"),
        (lambda at: at.timer.add(None), TypeError, "add(None): that is no TimerTask; schedule(delay_ms, callback) takes a function"),
    ],
    "callback": [
        (lambda at: at.timer.schedule(5, "x"), TypeError, f"callback='x' {NO_CALL}"),
        (lambda at: at.timer.schedule(5, None), TypeError, f"callback=None {NO_CALL}"),
        (lambda at: at.timer.schedule_at(5, "x"), TypeError, f"callback='x' {NO_CALL}"),
        (lambda at: at.timer.schedule_many([5], "x"), TypeError, f"callback='x' {NO_CALL}"),
        (lambda at: at.TimerTask(5, "x"), TypeError, f"callback='x' {NO_CALL}"),
    ],
    "schedule_many(delays_ms, each)": [
        *delays(lambda at, value: at.timer.schedule_many([1, value], print), "delays_ms[1]")[:5],
        *delays(lambda at, value: at.timer.schedule_many([1, value], print), "max(delays_ms)")[5:],
        (lambda at: at.timer.schedule_many(5, print), TypeError, "delays_ms=5 cannot be iterated; give a list of whole milliseconds"),
        (lambda at: at.timer.schedule_many(None, print), TypeError, "delays_ms=None cannot be iterated; give a list of whole milliseconds"),
        (lambda at: at.timer.schedule_many([5], print, each=7), TypeError, "each=7 cannot be iterated; give one item for each delay"),
        (lambda at: at.timer.schedule_many([5], print, each="ab"), ConfigError, "each has 2 items for 1 delays; give one item for each delay"),
    ],
    "schedule_at(when)": [
        when("tomorrow", f"when='tomorrow' {NEITHER}"),
        when(None, f"when=None {NEITHER}"),
        when(math.inf, f"when=inf {NEITHER}"),
        when(HUGE, f"when={HUGE} {NEITHER}"),
        when(datetime(2026, 1, 1), "when=datetime.datetime(2026, 1, 1, 0, 0) has no time zone; add one, as in when.astimezone()"),
    ],
    "advance_clock(timeout_ms)": [
        *delays(lambda at, value: at.timer.advance_clock(value), "timeout_ms")[:5],
        (lambda at: at.timer.advance_clock(HUGE), DelayError, f"timeout_ms={HUGE} {TOO_FAR} {MAX_MS}"),
        (lambda at: at.timer.advance_clock(2**63), DelayError, f"timeout_ms={2**63} {TOO_FAR} {MAX_MS}"),
    ],
    "occupancy(levels)": [
        (lambda at: at.timer.occupancy("x"), ConfigError, f"levels='x' {WHOLE} 0 to {MAX_MS}"),
        (lambda at: at.timer.occupancy(-1), ConfigError, f"levels=-1 {WHOLE} 0 to {MAX_MS}"),
        (lambda at: at.timer.occupancy(1.5), ConfigError, f"levels=1.5 {WHOLE} 0 to {MAX_MS}"),
    ],
    "bucket_size(level, bucket)": [
        (lambda at: at.timer.bucket_size(0, 20), IndexError, "level 0 has no bucket 20: 1 levels of 20 buckets"),
        (lambda at: at.timer.bucket_size(HUGE, 0), IndexError, f"level {HUGE} has no bucket 0: 1 levels of 20 buckets"),
        (lambda at: at.timer.bucket_size(0, 1.5), IndexError, "level 0 has no bucket 1.5: 1 levels of 20 buckets"),
        (lambda at: at.timer.bucket_size("x", 0), IndexError, "level 'x' has no bucket 0: 1 levels of 20 buckets"),
    ],
    "quantile(q)": [
        (lambda at: at.timer.stats().lateness.quantile("x"), ValueError, "quantile('x'): a share lies between 0 and 1, as in 0.99"),
        (lambda at: at.timer.stats().lateness.quantile(99), ValueError, "quantile(99): a share lies between 0 and 1, as in 0.99"),
    ],
    "ManualClock()": [
        (lambda at: ManualClock("x"), ConfigError, f"start_ms='x' {WHOLE} {-MAX_MS} to {MAX_MS}"),
        (lambda at: ManualClock(1.5), ConfigError, f"start_ms=1.5 {WHOLE} {-MAX_MS} to {MAX_MS}"),
        (lambda at: ManualClock(HUGE), ConfigError, f"start_ms={HUGE} {WHOLE} {-MAX_MS} to {MAX_MS}"),
        (lambda at: ManualClock(wall_ms="x"), ConfigError, f"wall_ms='x' {WHOLE} {-MAX_MS} to {MAX_MS}"),
        (lambda at: ManualClock(wall_ms=None), ConfigError, f"wall_ms=None {WHOLE} {-MAX_MS} to {MAX_MS}"),
    ],
    "ManualClock's moves": [
        (lambda at: at.clock.advance("x"), DelayError, f"ms='x' {NO_MS}"),
        (lambda at: at.clock.advance(None), DelayError, f"ms=None {NO_MS}"),
        (lambda at: at.clock.advance(math.nan), DelayError, f"ms=nan {NO_MS}"),
        (lambda at: at.clock.advance(math.inf), DelayError, f"ms=inf {NO_MS}"),
        (lambda at: at.clock.advance(HUGE), DelayError, f"ms={HUGE} {NO_MS}"),
        (lambda at: at.clock.advance(-1), ValueError, "advance(-1): time never goes back; use step_wall() to set the wall clock back"),
        (lambda at: at.clock.step_wall("x"), DelayError, f"ms='x' {NO_MS}"),
        (lambda at: at.clock.step_wall(-HUGE), DelayError, f"ms={-HUGE} {NO_MS}"),
        (lambda at: at.clock.suspend(math.nan), DelayError, f"ms=nan {NO_MS}"),
        (lambda at: ManualClock(5).advance(MAX_MS), DelayError, f"the clock would show {MAX_MS + 5} ms, and 64-bit nanoseconds end at {MAX_MS}; move it less"),
    ],
    "Purgatory()": [
        (lambda at: at.Purgatory(None), ConfigError, f"name=None {NO_TEXT}"),
        (lambda at: at.Purgatory(5), ConfigError, f"name=5 {NO_TEXT}"),
        (lambda at: at.Purgatory("p", timer="x"), ConfigError, f"timer='x' {NO_TIMER}"),
        (lambda at: at.Purgatory("p", timer=0), ConfigError, f"timer=0 {NO_TIMER}"),
        (lambda at: at.Purgatory("p", timer=at.SystemTimer), ConfigError, f"timer={{SystemTimer}} {NO_TIMER}"),
        (lambda at: at.Purgatory("p", shards=0), ConfigError, f"shards=0 {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", shards=-1), ConfigError, f"shards=-1 {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", shards=1.5), ConfigError, f"shards=1.5 {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", shards="x"), ConfigError, f"shards='x' {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", shards=None), ConfigError, f"shards=None {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", shards=HUGE), ConfigError, f"shards={HUGE} {WHOLE} 1 to 65536"),
        (lambda at: at.Purgatory("p", on_error="x"), TypeError, f"on_error='x' {NO_HANDLER}"),
    ],
    "try_complete_else_watch()": [
        (lambda at: at.purgatory.try_complete_else_watch("x", ["k"]), TypeError, f"operation='x' {NO_OPERATION}"),
        (lambda at: at.purgatory.try_complete_else_watch(None, ["k"]), TypeError, f"operation=None {NO_OPERATION}"),
        (lambda at: at.purgatory.try_complete_else_watch(at.TimerTask(5), ["k"]), TypeError, f"operation=<TimerTask TimerTask idle delay_ms=5 deadline_ms=None> {NO_OPERATION}"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, 5), TypeError, "keys=5 cannot be iterated; give a list of keys"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, None), TypeError, "keys=None cannot be iterated; give a list of keys"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, "kl"), ValueError, "keys='kl' is one text; give a list of keys, as in ['kl']"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, []), ValueError, "keys is empty; an operation that watches no key could only expire: use a timer for that"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, [[]]), TypeError, "unhashable type: 'list'"),
        (lambda at: at.purgatory.try_complete_else_watch(at.operation, ["k", []]), TypeError, "unhashable type: 'list'"),
        (lambda at: at.purgatory.check_and_complete([]), TypeError, "unhashable type: 'list'"),
        (lambda at: at.purgatory.cancel_for_key({}), TypeError, "unhashable type: 'dict'"),
        (lambda at: at.purgatory.try_complete_else_watch(at.DelayedOperation(2**63 - 1), ["k"]), DelayError, f"delay_ms={2**63 - 1} {TOO_FAR} {{longest}}"),
    ],
    "Hub()": [
        (lambda at: at.Hub(None), ConfigError, f"name=None {NO_TEXT}"),
        (lambda at: at.Hub("h", timer="x"), ConfigError, f"timer='x' {NO_TIMER}"),
        (lambda at: at.Hub("h", clock="x"), ConfigError, f"clock='x' {NO_CLOCK}"),
        (lambda at: at.Hub("h", shards=1.5), ConfigError, f"shards=1.5 {WHOLE} 1 to 65536"),
        (lambda at: at.Hub("h", shards=HUGE), ConfigError, f"shards={HUGE} {WHOLE} 1 to 65536"),
        (lambda at: at.Hub("h", max_pending=1.5), ConfigError, f"max_pending=1.5 {WHOLE} 0 to {2**62}"),
        (lambda at: at.Hub("h", max_pending=-1), ConfigError, f"max_pending=-1 {WHOLE} 0 to {2**62}"),
        (lambda at: at.Hub("h", max_pending="x"), ConfigError, f"max_pending='x' {WHOLE} 0 to {2**62}"),
        (lambda at: at.Hub("h", max_pending=HUGE), ConfigError, f"max_pending={HUGE} {WHOLE} 0 to {2**62}"),
        (lambda at: at.Hub("h", remember_most=1.5), ConfigError, f"remember_most=1.5 {WHOLE} 0 to {2**62}"),
        (lambda at: at.Hub("h", on_error="x"), TypeError, f"on_error='x' {NO_HANDLER}"),
    ],
}  # fmt: skip
ROWS = [pytest.param(row, id=f"{name}-{i}") for name, rows in TABLE.items() for i, row in enumerate(rows)]


def scene(build: Build) -> SimpleNamespace:
    clock = ManualClock()
    room = ROOMS[build]
    timer = build.SystemTimer("t", clock=clock)
    return SimpleNamespace(
        **build._asdict() | room._asdict(),
        Hub=HUBS[build].Hub,
        clock=clock,
        timer=timer,
        task=timer.schedule(7, print),
        operation=room.DelayedOperation(5),
        purgatory=room.Purgatory("p", timer=timer),
    )


def asked(at: SimpleNamespace) -> dict[str, object]:
    """What a message may say of things that each build has of its own."""
    return {"longest": MAX_MS - 1, "SystemTimer": repr(at.SystemTimer)}


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


@pytest.mark.parametrize("row", ROWS)
def test_an_argument_that_makes_no_sense_is_refused_at_once_in_the_same_words(build: Build, row: Row) -> None:
    call, error, message = row
    at = scene(build)
    if re.search(r"\{(longest|SystemTimer)\}", message):
        message = message.format(**asked(at))
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        call(at)
    assert type(caught.value) is error
    at.timer._check()
    assert (at.timer.size, at.task.deadline_ms, at.purgatory.delayed, at.clock.now_ms) == (1, 7, 0, 0)


LONGEST: dict[str, Callable[[Any, int], object]] = {
    "schedule": lambda at, ms: at.timer.schedule(ms, print),
    "schedule_many": lambda at, ms: at.timer.schedule_many([1, ms], print),
    "extend": lambda at, ms: at.task.extend(ms),
    "watch": lambda at, ms: at.purgatory.try_complete_else_watch(at.DelayedOperation(ms), ["k"]),
    "wait": lambda at, ms: at.hub.wait("k", until="a", within=ms),
    "extend a wait": lambda at, ms: at.hub.wait("k", until="a", within=1).extend(ms),
}


@pytest.mark.parametrize("tick_ms", [1, 7])
@pytest.mark.parametrize("how", LONGEST)
def test_the_longest_delay_that_a_refusal_names_is_accepted_and_one_more_is_not(
    build: Build, how: str, tick_ms: int
) -> None:
    at = scene(build)
    at.timer = build.SystemTimer("t", clock=at.clock, tick_ms=tick_ms)
    at.task = at.timer.schedule(1, print)
    at.purgatory = at.Purgatory("p", timer=at.timer)
    at.hub = at.Hub("h", timer=at.timer)
    with pytest.raises(DelayError) as caught:
        LONGEST[how](at, MAX_MS)
    longest = int(str(caught.value).rpartition(" ")[2])
    LONGEST[how](at, longest)
    with pytest.raises(DelayError, match=f"={longest + 1} .*the longest delay now is {longest}$"):
        LONGEST[how](at, longest + 1)
    at.timer._check()


@pytest.mark.parametrize("value", [None, "", "0", "false", "No", " OFF ", " "])
def test_a_switch_that_is_off(value: str | None) -> None:
    assert not is_set(value)


@pytest.mark.parametrize("value", ["1", "true", "yes", "pure"])
def test_a_switch_that_is_on(value: str) -> None:
    assert is_set(value)
