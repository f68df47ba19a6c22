"""Run the load for ten seconds, draw it, and check what came of it."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.live import Live

from sojourn import SystemTimer, TimerTask
from sojourn.timer import IMPLEMENTATION, TimerStats

from .load import NS_PER_MS, Lateness, Load
from .picture import save_svg
from .screen import MEANINGS, MIN_HEIGHT, MIN_WIDTH, Reading, frame

# The load, the drawing and the reaper share one GIL, and whoever keeps it makes timers late. So: small slices with
# pauses between them, short turns, and no more looking than is cheap (counting every bucket is O(pending)).
PAUSE_S = 0.001
GIL_TURN_S = 0.0005
FRAME_S = 1 / 15
REST_AFTER_LOOK = 4
COUNT_EVERY_S = (0, 0, 0.5, 2)  # by wheel, finest first: the coarse ones hold nearly all timers, and turn slowly
PLAIN_LINES = 5
PORTRAIT_AT = 0.6


class Run:
    """One run from the first timer to the last check; `show` draws or prints a reading now and then."""

    def __init__(self, timers: int, seconds: float, seed: int) -> None:
        self.seconds = seconds
        self.made_ms = time.monotonic_ns() // NS_PER_MS  # where all hands point to the top
        self.timer = SystemTimer("live-timers")
        self.load = Load(self.timer, timers, seed)
        self.levels: tuple[tuple[int, ...], ...] = ()
        self.counted_s = [-math.inf] * len(COUNT_EVERY_S)
        self.history: deque[tuple[float, TimerStats]] = deque(maxlen=15)
        self.left: list[TimerTask] = []
        self.took_s = 0.0
        self.portrait: Reading | None = None
        self.is_interrupted = False

    def run(self, show: Callable[[Reading], object], every_s: float) -> None:
        """Work for the time given, or until interrupted; then close the timer and keep what it left undone."""
        with self.timer:
            began = time.monotonic()
            next_look_s = every_s
            while self.took_s < self.seconds and not self.is_interrupted:
                self.load.step()
                if self.took_s >= next_look_s:
                    self._look(show)
                    looked_s = time.monotonic() - began
                    next_look_s = max(self.took_s + every_s, looked_s + (looked_s - self.took_s) * REST_AFTER_LOOK)
                time.sleep(PAUSE_S)
                self.took_s = time.monotonic() - began
            self.left = self.timer.close()

    def interrupt(self, *_: object) -> None:
        """Ctrl-C: end after this slice, so that the books still balance. A second one ends at once."""
        self.is_interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _look(self, show: Callable[[Reading], object]) -> None:
        reading = self._reading()
        if self.portrait is None and self.took_s > self.seconds * PORTRAIT_AT:
            self.portrait = reading
        show(reading)

    def _count(self) -> tuple[tuple[int, ...], ...]:
        """How full the buckets are; those of the coarse wheels as of a little while ago."""
        is_stale = [
            self.took_s - counted_s >= every_s for counted_s, every_s in zip(self.counted_s, COUNT_EVERY_S, strict=True)
        ]
        wheels = max(level + 1 for level, stale in enumerate(is_stale) if stale)
        self.counted_s[:wheels] = [self.took_s] * wheels
        counts = self.timer.occupancy(levels=wheels)
        self.levels = counts + self.levels[len(counts) :]
        return self.levels

    def _reading(self) -> Reading:
        stats = self.timer.stats()
        self.history.append((self.took_s, stats))
        before_s, before = self.history[0]
        totals = {name: getattr(stats, name) for name in MEANINGS}
        elapsed_s = max(self.took_s - before_s, 1e-9)
        return Reading(
            seconds=self.took_s,
            of_seconds=self.seconds,
            now_ms=time.monotonic_ns() // NS_PER_MS - self.made_ms,
            tick_ms=self.timer.tick_ms,
            wheel_size=self.timer.wheel_size,
            levels=self._count(),
            totals=totals,
            rates={name: (total - getattr(before, name)) / elapsed_s for name, total in totals.items()},
            lateness=str(self.load.lateness),
            late_bins=tuple(self.load.lateness.bins),
            costs=self.load.costs("schedule", "cancel", recent=200),
            ms_a_bin=Lateness.BIN_NS / NS_PER_MS,
            build=IMPLEMENTATION,
        )


def checks(run: Run) -> Iterator[tuple[str, bool, str]]:
    """What was promised, whether it held, and the evidence."""
    load, stats, left = run.load, run.timer.stats(), len(run.left)
    ended = load.cancelled + load.expired + left
    sum_of = f"{load.cancelled:,} cancelled + {load.expired:,} expired + {left:,} left undone"
    yield "exactly once", load.scheduled == ended, f"{load.scheduled:,} scheduled =\n{sum_of}"
    unended = sum(load.armed)
    is_each_once = not load.ended_twice and unended == left
    yield "", is_each_once, f"{len(load.ended_twice)} ended twice; the {unended:,} unended are what close() returned"
    counted = (load.scheduled, load.cancelled, load.extended, load.expired, left)
    is_same = counted == (stats.scheduled, stats.cancelled, stats.extended, stats.expired, stats.undone)
    yield "", is_same, "timer.stats() counted the same"
    early = load.lateness.early
    yield "never early", early == 0, f"{early} of {load.expired:,} callbacks ran before their deadline"


def summary(run: Run) -> Iterator[str]:
    """What was measured, in console markup."""
    load = run.load
    yield f"[bold]{len(load.armed):,} live timers for {run.took_s:.1f} s, {IMPLEMENTATION} build[/]"
    for name, is_held, evidence in checks(run):
        yield fact(name, evidence) + ("  [green]ok[/]" if is_held else "  [bold red]FAILED[/]")
    yield fact("lateness", str(load.lateness))
    yield fact("cost", load.costs("schedule", "cancel", "extend"))
    yield fact("", load.costs("schedule_many") + " a timer (medians, Python's loop included)")
    yield fact("moved", f"{load.extended:,} extended, {run.timer.stats().cascaded:,} cascaded to finer wheels")


def fact(name: str, text: str) -> str:
    return f"  {name:<14}" + text.replace("\n", "\n" + " " * 16)


def print_line(reading: Reading) -> None:
    counts = "  ".join(f"{name} {reading.totals[name]:,}" for name in ("pending", "scheduled", "cancelled", "expired"))
    print(f"{reading.seconds:5.1f} s  {counts}  lateness {reading.lateness}", flush=True)


def is_drawable(console: Console) -> bool:
    is_able = console.is_terminal and not console.is_dumb_terminal and not console.options.ascii_only
    return is_able and console.width >= MIN_WIDTH and console.height >= MIN_HEIGHT


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="A hundred thousand live timers, and the timing wheels that hold them."
    )
    parser.add_argument("--timers", type=int, default=100_000, metavar="N", help="timers pending (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="how long to run (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for the delays and the choices (%(default)s)")
    parser.add_argument("--plain", action="store_true", help="print a few lines instead of drawing")
    parser.add_argument("--save-svg", metavar="FILE", help="save a picture of the middle of the run")
    args = parser.parse_args()
    if args.timers < 10 or args.seconds <= 0:
        parser.error(f"--timers {args.timers} --seconds {args.seconds}: give at least 10 timers and some time")
    return args


def main() -> int:
    args = arguments()
    console = Console()
    run = Run(args.timers, args.seconds, args.seed)
    sys.setswitchinterval(GIL_TURN_S)
    signal.signal(signal.SIGINT, run.interrupt)
    if args.plain or not is_drawable(console):
        run.run(print_line, args.seconds / PLAIN_LINES)
    else:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            run.run(lambda reading: live.update(frame(reading, console), refresh=True), FRAME_S)
    if args.save_svg and run.portrait:
        save_svg(run.portrait, args.save_svg)
    elif args.save_svg:
        console.print("no picture: the run ended before its middle")
    console.print(*summary(run), sep="\n", highlight=False, soft_wrap=True)
    return 0 if all(is_held for _, is_held, _ in checks(run)) else 1


if __name__ == "__main__":
    sys.exit(main())
