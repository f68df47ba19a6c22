"""What is refused at the door, in the same words by every room and in either build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ConfigError, DelayError

MAX_MS = (2**63 - 1) // 1_000_000
"""The last millisecond that a clock of 64-bit nanoseconds can show: 292 years after its zero."""

MOST_SHARDS = 65_536
"""Beyond that a purgatory is all table and no operations."""

NO = frozenset({"", "0", "false", "no", "off"})


def is_set(switch: str | None) -> bool:
    """Whether a switch in the environment is on: SOJOURN_PURE=1 is, SOJOURN_PURE=0 is not."""
    return (switch or "").strip().lower() not in NO


def check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ConfigError(f"name={name!r} must be a text, as in 'orders'; every other setting is given by its name")


def check_whole(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{name}={value!r} must be a whole number from {least} to {most}")


def check_callable(name: str, value: object, way_out: str) -> None:
    if not callable(value):
        raise TypeError(f"{name}={value!r} cannot be called; {way_out}")


def check_on_error(on_error: object) -> None:
    check_callable("on_error", on_error, "leave it out to have exceptions logged")


def check_clock(clock: object) -> None:
    if not _has(clock, "now_ns", "wall_ns", "wait"):
        raise ConfigError(
            f"clock={clock!r} has no now_ns(), wall_ns() and wait(); leave it out for the system's clocks, "
            "or give a ManualClock"
        )


def check_executor(executor: object) -> None:
    if executor is not None and not _has(executor, "submit"):
        raise ConfigError(
            f"executor={executor!r} has no submit(); give a concurrent.futures executor, "
            "or leave it out to run tasks in the timer's own thread"
        )


def check_timer(timer: object, kind: type[Any]) -> None:
    if not isinstance(timer, kind):
        raise ConfigError(
            f"timer={timer!r} is not a timer of this build; give a SystemTimer or an AsyncTimer, "
            "or leave it out for one of its own"
        )


def milliseconds_in_ns(name: str, ms: Any) -> int:
    """A number of milliseconds, fractions allowed, in nanoseconds."""
    if not hasattr(ms, "__round__") or not abs(ms) <= MAX_MS:
        raise DelayError(f"{name}={ms!r} is not a number of milliseconds from {-MAX_MS} to {MAX_MS}")
    ns: int = round(ms * 1_000_000)
    return ns


def items_of(name: str, values: Any, way_out: str) -> tuple[Any, ...]:
    """All of them; an error that says what was to be iterated if that is not possible."""
    try:
        iterator = iter(values)
    except TypeError:
        raise TypeError(f"{name}={values!r} cannot be iterated; {way_out}") from None
    return tuple(iterator)


def _has(thing: object, *methods: str) -> bool:
    found: list[Callable[..., object] | None] = [getattr(thing, name, None) for name in methods]
    return not isinstance(thing, type) and all(map(callable, found))


def not_to_be_copied(thing: object) -> TypeError:
    return TypeError(
        f"{thing!r} cannot be copied or pickled: it is known to one timer, in one process, as this very object; "
        "make a new one from what it was made of"
    )
