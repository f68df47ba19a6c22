"""One run of the demo: on the screen, or as plain lines; and what came of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

from ..errors import ConfigError, SojournError
from ..timer import IMPLEMENTATION
from .driver import DemoDriver
from .reading import Reading

PLAIN_SECONDS = 10.0  # where nobody can press a key


def run(waits: int = 100_000, seconds: float | None = None, seed: int = 1, *, plain: bool = False) -> int:
    """Show `waits` live waits, for `seconds` or until somebody quits; 0 if every promise was kept, else 1.

    Without a terminal, or if `plain`, it prints one line per second, ten of them unless `seconds` says otherwise.
    """
    if waits < 1 or (seconds is not None and seconds <= 0):
        raise ConfigError(f"waits={waits}, seconds={seconds}: give at least one wait and some time")
    show = show_lines if plain or not has_screen() else screen()
    with DemoDriver(waits, seed) as driver:
        show(driver, seconds)
    if driver.failure is not None:
        raise driver.failure
    promises = list(checks(driver))
    print("\n".join(summary(driver, promises)))
    return 0 if all(is_kept for _, is_kept, _ in promises) else 1


def has_screen() -> bool:
    """Whether there is a terminal to draw on, and somebody to press keys."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def screen() -> Callable[[DemoDriver, float | None], None]:
    """What shows a driver in the terminal, for some seconds or until somebody quits."""
    try:
        from .app import DemoApp  # noqa: PLC0415  (textual is an extra)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        raise SojournError("the live view needs textual: pip install 'sojourn[demo]', or use --plain") from None

    def show(driver: DemoDriver, seconds: float | None) -> None:
        app = DemoApp(driver, seconds)
        app.run()
        if app.return_code:
            raise RuntimeError("the screen broke down; why is said above")

    return show


def show_lines(driver: DemoDriver, seconds: float | None) -> None:
    """One line per second. Ctrl-C ends it early."""
    left_s = seconds or PLAIN_SECONDS
    try:
        while left_s > 0 and driver.failure is None:
            time.sleep(min(1.0, left_s))
            left_s -= 1
            print(line(driver.reading), flush=True)
    except KeyboardInterrupt:
        print()


def line(reading: Reading) -> str:
    """A reading in a line."""
    ended = "  ".join(f"{series.name} {series.total:,}" for series in reading.outcomes)
    signals = sum(series.rate for series in reading.sources)
    return (
        f"{reading.seconds:5.1f} s  {reading.pending:,} waits  {ended}  {signals:,.0f} signals/s  "
        f"lateness {reading.lateness}"
    )


def checks(driver: DemoDriver) -> Iterator[tuple[str, bool, str]]:
    """What was promised, whether it was kept, and the evidence. Closes the hub."""
    world = driver.world
    stats = world.hub.stats()
    left = len(world.hub.close(cancel_pending=False))
    ended = " + ".join(f"{count:,} {outcome}" for outcome, count in world.ended.items())
    is_balanced = world.opened == sum(world.ended.values()) + left
    yield "exactly once", is_balanced, f"{world.opened:,} opened =\n{ended} + {left:,} pending"
    yield "", world.ended_twice == 0, f"{world.ended_twice} ended twice"
    counted = {outcome: getattr(stats, outcome) for outcome in world.ended}
    yield "", counted == world.ended and stats.pending == left, "hub.stats() counted the same"
    yield "never early", world.early == 0, f"{world.early} of {world.ended['expired']:,} expired before their deadline"


def summary(driver: DemoDriver, promises: list[tuple[str, bool, str]]) -> Iterator[str]:
    reading = driver.reading
    virtual = f"{driver.world.now_ms / 1000:.1f} s of virtual time"
    yield f"{driver.world.waits:,} live waits, {virtual} in {reading.seconds:.1f} s, {IMPLEMENTATION} build"
    for name, is_kept, evidence in promises:
        yield fact(name, f"{evidence}: {'ok' if is_kept else 'FAILED'}")
    yield fact("lateness", f"{reading.lateness}, in the last five seconds, by the clock on the wall")


def fact(name: str, text: str) -> str:
    return f"  {name:<14}" + text.replace("\n", "\n" + " " * 16)
