"""The screen: the timing wheels as rings with turning hands, as bars, and what was counted.

Nothing here touches a timer: a `Reading` comes in, a picture goes out. In colour, a bucket shines the more timers it
holds; without colour, it has more dots.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

MIN_WIDTH, MIN_HEIGHT = 80, 24
GAUGES_WIDTH, GAUGES_WIDTH_MAX, GAUGES_HEIGHT = 42, 90, 14
LABEL_WIDTH, COUNT_WIDTH, NAME_WIDTH = 14, 8, 10
RINGS = 4  # drawn from the start, though a wheel is made only when a timer needs it
HOLE = 0.8  # radius of the dial's hole, in rings
MIN_BUCKET = 6  # characters' widths along the ring from which on a bucket is set apart from the next by a gap
LATE_MS = 4  # the end of the lateness chart
HUES = ("#ffd166", "#ff7a59", "#d16bff", "#4d9dff", "#3ddc97")  # one a level, finest first
HAND, EMPTY = "#ffffff", "#363c4a"
SHADES, GAP = 8, -1
STEPS = 24  # angles in a bucket, so that a hand glides instead of jumping from bucket to bucket
BLOCKS = " ▁▂▃▄▅▆▇█"
BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BAYER = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))
OUTSIDE, CENTRE = 0, 1
MEANINGS = {
    "pending": "waiting for their deadline now",
    "scheduled": "requests sent, sessions opened, heartbeats",
    "cancelled": "the reply came in time",
    "extended": "the session was used again",
    "expired": "the deadline came, the callback ran",
    "cascaded": "sank to a finer wheel",
}
EXPLANATION = (
    "Each ring is a timing wheel of {size} buckets, the {more} the fuller; its hand is now. As their "
    "deadline nears, timers sink inwards to finer wheels, and run from the finest. "
    "Most never get there: a reply came, and they were cancelled."
)


@dataclass(frozen=True)
class Reading:
    """All that one frame shows."""

    seconds: float
    of_seconds: float
    now_ms: int
    tick_ms: int
    wheel_size: int
    levels: Sequence[Sequence[int]]
    totals: dict[str, int]
    rates: dict[str, float]
    lateness: str
    late_bins: Sequence[int]
    ms_a_bin: float
    costs: str
    build: str

    def level_tick_ms(self, level: int) -> int:
        return self.tick_ms * int(self.wheel_size**level)

    def turn(self, level: int) -> float:
        """How far that level's hand has come round, from 0 to 1."""
        interval_ms = self.level_tick_ms(level + 1)
        return self.now_ms % interval_ms / interval_ms


def frame(reading: Reading, console: Console) -> RenderableType:
    """The whole screen, for a console of at least MIN_WIDTH x MIN_HEIGHT."""
    width, height = console.size
    is_coloured = console.color_system is not None and not console.no_color
    more = "brighter" if is_coloured else "denser"
    explanation = Text(EXPLANATION.format(size=reading.wheel_size, more=more), style="dim")
    rows = max(4, min(height - 3 - len(explanation.wrap(console, width)), (width - GAUGES_WIDTH - 2) // 2))
    body = Body(Dial(reading, rows, is_coloured), Gauges(reading, min(width - 2 * rows - 2, GAUGES_WIDTH_MAX), rows))
    progress = ProgressBar(reading.of_seconds, reading.seconds, complete_style=HUES[3], finished_style=HUES[3])
    return Group(header(reading, width), body, Text(), explanation, progress)


def header(reading: Reading, width: int) -> RenderableType:
    pending = f"  {reading.totals['pending']:,} live timers"
    line = Text.assemble((" Sojourn ", f"bold reverse {HUES[3]}"), (pending, "bold"))
    operations = sum(reading.rates[name] for name in ("scheduled", "cancelled", "extended", "expired"))
    right = Text(f"{operations:,.0f} operations/s   {reading.build}   {reading.seconds:4.1f} s")
    line.append(" " * (width - len(line) - len(right)))
    return line.append_text(right)


class Body:
    """Dial and gauges side by side, in the middle. (A table would do, but takes longer than all the rest.)"""

    def __init__(self, dial: Dial, gauges: Gauges) -> None:
        self.dial = dial
        self.gauges = gauges

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        used = 2 * self.dial.rows + 2 + self.gauges.width
        margin = Segment(" " * ((options.max_width - used) // 2))
        lines = console.render_lines(self.gauges, options.update_dimensions(self.gauges.width, self.dial.rows))
        for left, right in zip(self.dial.lines(), lines, strict=False):
            yield from (margin, *left, Segment("  "), *right, Segment.line())


class Dial:
    """The wheels as rings, the finest inside; two pixels a character in colour, eight dots without."""

    def __init__(self, reading: Reading, rows: int, is_coloured: bool) -> None:
        self.reading = reading
        self.rows = rows
        self.is_coloured = is_coloured
        self.rings = max(RINGS, len(reading.levels))
        self.fineness = 1 if is_coloured else 2  # pixels to the width of a character
        self.pixels = map_pixels(2 * rows, self.fineness, self.rings, reading.wheel_size)

    def lines(self) -> Iterator[list[Segment]]:
        return self._blocks() if self.is_coloured else self._dots()

    def _shades(self) -> list[int]:
        """What each area shows: 0 an empty bucket, 1 to SHADES one with more and more timers, beyond that a hand."""
        shades: list[int] = []
        gaps: list[int] = []
        for ring in range(self.rings):
            counts = self.reading.levels[ring] if ring < len(self.reading.levels) else [0] * self.reading.wheel_size
            of_ring = [shade for shade in shades_of(counts) for _ in range(STEPS)]
            of_gaps = [GAP] * len(of_ring)
            hand = int(self.reading.turn(ring) * len(of_ring))
            reach = hand_reach(ring, self.rings, len(of_ring), 2 * self.rows)
            for step in range(hand - reach, hand + reach + 1):
                of_ring[step % len(of_ring)] = of_gaps[step % len(of_ring)] = SHADES + 1
            shades += of_ring
            gaps += of_gaps
        return [GAP, SHADES, *shades, *gaps]

    def _blocks(self) -> Iterator[list[Segment]]:
        steps = self.reading.wheel_size * STEPS
        paint = [colour((area - 2) // steps % self.rings, shade) for area, shade in enumerate(self._shades())]
        paint[CENTRE] = HUES[0]
        for top, bottom in zip(self.pixels[::2], self.pixels[1::2], strict=True):
            pairs = ((paint[above], paint[below]) for above, below in zip(top, bottom, strict=True))
            runs = ((block(*pair), len(list(same))) for pair, same in groupby(pairs))
            yield [Segment(character * length, style) for (character, style), length in runs]

    def _dots(self) -> Iterator[list[Segment]]:
        # 16 dots of 16 are the hand's alone; an empty bucket keeps one dot of 16, so that the ring is seen.
        density = [16 if shade > SHADES else 1 + shade for shade in self._shades()]
        for y in range(0, len(self.pixels), 4):
            line = [0x2800] * (len(self.pixels) // 2)
            for dy in range(4):
                thresholds = BAYER[dy]
                for x, area in enumerate(self.pixels[y + dy]):
                    if density[area] > thresholds[x % 4]:
                        line[x // 2] |= BRAILLE[dy][x % 2]
            yield [Segment("".join(map(chr, line)))]


class Gauges:
    """The same wheels as bars, what was counted, and how late timers ran: `width` x `rows` characters."""

    def __init__(self, reading: Reading, width: int, rows: int) -> None:
        self.reading = reading
        self.width = width
        levels = max(RINGS, len(reading.levels))
        spare = rows - GAUGES_HEIGHT - levels
        self.bar_rows = 1 + max(0, min(4, spare // levels - 1))
        self.gap = [Text()] if self.bar_rows > 1 else []
        self.late_rows = 2 + max(0, min(6, spare - (self.bar_rows - 1 + len(self.gap)) * levels))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._levels()
        yield Text()
        yield from self._counters()
        yield Text()
        yield from self._lateness()

    def _levels(self) -> Iterator[Text]:
        yield self._level_row("  wheel", "buckets", "timers", "dim")
        for level, counts in enumerate(self.reading.levels):
            hue = HUES[level % len(HUES)]
            hand = int(self.reading.turn(level) * len(counts))
            name = f"● {duration(self.reading.level_tick_ms(level))} x {len(counts)}"
            *upper, lowest = bars(counts, self.bar_rows, self.width - LABEL_WIDTH - COUNT_WIDTH, hue, hand)
            for line in upper:
                yield Text(" " * LABEL_WIDTH).append_text(line)
            yield self._level_row(name, lowest, f"{sum(counts):,}", hue)
            yield from self.gap

    def _level_row(self, name: str, middle: Text | str, count: str, style: str) -> Text:
        row = Text(name.ljust(LABEL_WIDTH), style=style).append(middle)
        row.pad_right(self.width - COUNT_WIDTH - len(row))
        return row.append(count.rjust(COUNT_WIDTH))

    def _counters(self) -> Iterator[Text]:
        has_room = self.width >= GAUGES_WIDTH + max(map(len, MEANINGS.values()))
        for name, meaning in MEANINGS.items():
            row = Text(f"{name:<{NAME_WIDTH}}").append(f"{self.reading.totals[name]:>12,}", "bold")
            row.append(f"{self.reading.rates[name]:>12,.0f}/s" if name != "pending" else " " * 14, "dim")
            yield row.append(f"   {meaning}" if has_room else "", "dim")
        yield Text("cost".ljust(NAME_WIDTH)).append(self.reading.costs, "bold")

    def _lateness(self) -> Iterator[Text]:
        shown = round(LATE_MS / self.reading.ms_a_bin)
        bins = self.reading.late_bins
        yield Text("lateness".ljust(NAME_WIDTH)).append(self.reading.lateness, "bold")
        yield from bars([*bins[: shown - 1], sum(bins[shown - 1 :])], self.late_rows, self.width, HUES[4])
        column = self.width // shown * shown // LATE_MS
        marks = "".join(f"{ms} ms".ljust(column) for ms in range(LATE_MS))
        yield Text(marks[: self.width - 2] + f"{LATE_MS}+", style="dim")


def bars(values: Sequence[int], rows: int, width: int, hue: str, hand: int | None = None) -> list[Text]:
    """A bar chart, top line first; any value above zero can be seen. The hand, if there is one, is a line."""
    column = max(1, width // len(values))
    bar_width = column - (column > 2)  # wide bars stand apart
    top = max(1, *values)
    heights = [math.ceil(value / top * rows * 8) for value in values]
    lines = []
    for row in reversed(range(rows)):
        parts = [(BLOCKS[max(0, min(8, height - 8 * row))] * bar_width).ljust(column) for height in heights]
        if hand is not None:
            parts[hand] = "│".ljust(column)
        line = Text("".join(parts), style=hue)
        if hand is not None:
            line.stylize("bold default", hand * column, (hand + 1) * column)
        lines.append(line)
    return lines


def shades_of(counts: Sequence[int]) -> list[int]:
    """The fullest bucket of the wheel gets SHADES, the others less; by root, or small numbers would not be seen."""
    most = max(1, *counts)
    return [math.ceil(SHADES * math.sqrt(count / most)) for count in counts]


def duration(ms: int) -> str:
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("s", 1_000)):
        if ms >= unit_ms:
            return f"{ms / unit_ms:.3g} {unit}"
    return f"{ms} ms"


def ring_radii(ring: int, rings: int, diameter: int) -> tuple[float, float]:
    """Where a ring begins and ends, as distances from the centre."""
    pitch = diameter / 2 / (rings + HOLE)
    inner = (ring + HOLE) * pitch
    return inner, inner + pitch - max(1.0, pitch / 5)


def hand_reach(ring: int, rings: int, steps: int, diameter: int) -> int:
    """How many steps a hand covers to either side, to be a line of about the same width on every ring."""
    radius = sum(ring_radii(ring, rings, diameter)) / 2
    return round(max(0.8, diameter / 80) / (math.tau * radius) * steps)


@cache
def map_pixels(diameter: int, fineness: int, rings: int, buckets: int) -> list[list[int]]:
    """The area each pixel lies in: OUTSIDE, CENTRE, or 2 + ring * steps + step, clockwise from the top.

    Gaps between buckets, over which only a hand passes, count as a second set of rings. All lengths are in characters'
    widths, with `fineness` pixels to each.
    """
    radii = [ring_radii(ring, rings, diameter) for ring in range(rings)]
    has_gaps = [math.pi * (inner + outer) / buckets >= MIN_BUCKET for inner, outer in radii]
    steps = buckets * STEPS

    def area(x: float, y: float) -> int:
        distance, turn = math.hypot(x, y), math.atan2(x, -y) / math.tau % 1
        if distance < radii[0][0] / 2:
            return CENTRE
        past_edge = turn * buckets % 1 * math.tau * distance / buckets
        for ring, (inner, outer) in enumerate(radii):
            if inner <= distance < outer:
                is_gap = has_gaps[ring] and past_edge < 1
                return 2 + (ring + is_gap * rings) * steps + int(turn * steps) % steps
        return OUTSIDE

    axis = [(pixel + 0.5) / fineness - diameter / 2 for pixel in range(diameter * fineness)]
    return [[area(x, y) for x in axis] for y in axis]


@cache
def colour(ring: int, shade: int) -> str | None:
    """From EMPTY to the level's hue, in SHADES steps; the hand beyond them."""
    if shade == GAP:
        return None
    if shade > SHADES:
        return HAND
    share = 0 if shade == 0 else 0.25 + 0.75 * shade / SHADES
    mixed = (
        round(int(EMPTY[at : at + 2], 16) * (1 - share) + int(HUES[ring % len(HUES)][at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


@cache
def block(above: str | None, below: str | None) -> tuple[str, Style | None]:
    """The character and style that show these two colours, one above the other; None is the terminal's background."""
    if above == below:
        return " ", Style(bgcolor=above) if above else None
    if above is None:
        return "▄", Style(color=below)
    return "▀", Style(color=above, bgcolor=below)
