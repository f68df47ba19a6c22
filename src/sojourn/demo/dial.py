"""The timing wheels as rings, the finest inside, with hands that turn.

A character shows two pixels, one above the other. Each pixel lies in one area of the dial, by some share of its
surface; what is left of it is background, which gives smooth edges. An area is a slice of a bucket, thin enough for a
hand to glide over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby

from rich.segment import Segment
from rich.style import Style

from .colour import BACKGROUND, EMPTY, HAND, OUTCOMES, hue, mix
from .reading import Reading

RINGS = 4  # drawn from the start, though a wheel is made only when a wait needs it
HOLE = 0.9  # radius of the dial's hole, in rings
SLICES = 24  # areas of a bucket
SHADES, COVERS, BLURS = 12, 4, 6  # steps of brightness, of a pixel's share, of a hand's trail
AFTERGLOW = 0.7  # what is left of a brightness from one frame to the next, when there is less of it
SHORTEST_ARC = 4.5  # pixels from which on a bucket is set apart from the next by a gap
TRAIL = 0.55  # of a turn in one frame: a hand that is faster is not to be seen

Paint = list[str]  # a colour for each share of a pixel, from none of it to all


@dataclass(frozen=True)
class DialShape:
    """A dial, its diameter in pixels."""

    diameter: int
    rings: int
    buckets: int

    def radii(self, ring: int) -> tuple[float, float]:
        """Where a ring begins and ends, as distances from the centre."""
        pitch = (self.diameter / 2 - 0.3) / (self.rings + HOLE)
        inner = (ring + HOLE) * pitch
        return inner, inner + pitch - max(1.0, pitch / 6)

    @property
    def slices(self) -> int:
        """Areas of a ring."""
        return self.buckets * SLICES

    def gap(self, ring: int) -> float:
        """The width of the gap between two buckets; if they are too short to have one, so little that none is seen."""
        arc = math.pi * sum(self.radii(ring)) / self.buckets
        return min(1.2, arc / 8) if arc >= SHORTEST_ARC else -1.0

    def hand_width(self, ring: int) -> float:
        """In areas: about the same width on every ring."""
        return max(1.0, self.diameter / 60) / (math.tau * sum(self.radii(ring)) / 2) * self.slices


class Dial:
    """Draws readings, one after the other: brightness fades and hands leave trails."""

    def __init__(self) -> None:
        self._glow: list[list[float]] = []
        self._turns: list[float] = []
        self._expired = 0
        self._heat = 0.0

    def lines(self, reading: Reading, rows: int) -> list[list[Segment]]:
        """`rows` lines, each of twice as many characters."""
        shape = DialShape(2 * rows, max(RINGS, len(reading.levels)), reading.wheel_size)
        paints = [self._centre(reading), *self._rings(reading, shape)]
        pixels = map_pixels(shape)
        return [list(draw(paints, *pair)) for pair in zip(pixels[::2], pixels[1::2], strict=True)]

    def _centre(self, reading: Reading) -> Paint:
        """It flares up when waits expire."""
        expired = next(series.total for series in reading.outcomes if series.name == "expired")
        self._heat = max(min(1.0, math.log10(1 + expired - self._expired) / 4), self._heat * AFTERGLOW)
        self._expired = expired
        return paint(mix(EMPTY, OUTCOMES["expired"], round(0.25 + 0.75 * self._heat, 1)))

    def _rings(self, reading: Reading, shape: DialShape) -> Iterator[Paint]:
        before, self._turns = self._turns, [reading.turns(ring) for ring in range(shape.rings)]
        self._glow += [[0.0] * shape.buckets for _ in range(shape.rings - len(self._glow))]
        for ring in range(shape.rings):
            counts = reading.levels[ring] if ring < len(reading.levels) else (0,) * shape.buckets
            glow = self._glow[ring] = [
                max(new, old * AFTERGLOW) for new, old in zip(brightness(counts), self._glow[ring], strict=True)
            ]
            turned = self._turns[ring] - before[ring] if ring < len(before) else 0.0
            blurs = trail(self._turns[ring] % 1, turned, shape.hand_width(ring) / shape.slices, shape.slices)
            for at, blur in enumerate(blurs):
                yield shade(ring, round(glow[at // SLICES] * SHADES), blur)


def brightness(counts: Sequence[int]) -> list[float]:
    """The fullest bucket of a wheel gets 1, the others less; by root, or small numbers would not be seen."""
    most = max(1, *counts)
    return [math.sqrt(count / most) for count in counts]


def trail(head: float, turned: float, width: float, slices: int) -> list[int]:
    """How brightly a hand, or the trail it left since the last frame, shines on each area of a ring."""
    blurs = [0] * slices
    if turned > TRAIL:
        return blurs
    tail = max(turned, 0.0)
    reach = math.ceil((width + tail) * slices) + 1
    at = int(head * slices)
    for step in range(-reach, reach + 1):
        distance = head - (at + step + 0.5) / slices  # behind the hand
        if abs(distance) <= width / 2:
            blur = BLURS
        elif 0 < distance <= width / 2 + tail:
            blur = round((BLURS - 2) * (1 - (distance - width / 2) / (tail + 1e-9)))
        else:
            continue
        blurs[(at + step) % slices] = max(blur, blurs[(at + step) % slices])
    return blurs


@cache
def shade(ring: int, brightness: int, blur: int) -> Paint:
    lit = EMPTY if brightness == 0 else mix(EMPTY, hue(ring), round(0.22 + 0.78 * brightness / SHADES, 2))
    return paint(mix(lit, HAND, blur / BLURS))


@cache
def paint(colour: str) -> Paint:
    return [mix(BACKGROUND, colour, cover / COVERS) for cover in range(COVERS + 1)]


def draw(
    paints: Sequence[Paint], above: Sequence[tuple[int, int]], below: Sequence[tuple[int, int]]
) -> Iterator[Segment]:
    """A line of characters from two lines of pixels."""
    colours = (
        (paints[area][cover], paints[other][share]) for (area, cover), (other, share) in zip(above, below, strict=True)
    )
    for pair, same in groupby(colours):
        character, style = block(*pair)
        yield Segment(character * len(list(same)), style)


@lru_cache(maxsize=1 << 16)
def block(above: str, below: str) -> tuple[str, Style]:
    """The character and style that show these two colours, one above the other."""
    if above == below:
        return " ", Style(bgcolor=above)
    return "▀", Style(color=above, bgcolor=below)


@lru_cache(maxsize=8)
def map_pixels(shape: DialShape) -> list[list[tuple[int, int]]]:
    """The area each pixel lies in (0 the centre, then ring by ring, clockwise), and by what share."""
    middle = shape.diameter / 2
    axis = [pixel + 0.5 - middle for pixel in range(shape.diameter)]
    return [[locate(shape, x, y) for x in axis] for y in axis]


def locate(shape: DialShape, x: float, y: float) -> tuple[int, int]:
    distance = math.hypot(x, y)
    turn = (math.atan2(x, -y) / math.tau + 0.5 / shape.buckets) % 1  # no gap falls on an axis: those would look thicker
    centre = shape.radii(0)[0] * 0.55
    if distance < centre + 0.5:
        return 0, cover(centre - distance)
    for ring in range(shape.rings):
        inner, outer = shape.radii(ring)
        if inner - 0.5 <= distance < outer + 0.5:
            to_edge = abs((turn * shape.buckets + 0.5) % 1 - 0.5) * math.tau * distance / shape.buckets
            inside = min(distance - inner, outer - distance, to_edge - shape.gap(ring) / 2)
            return 1 + ring * shape.slices + int(turn * shape.slices) % shape.slices, cover(inside)
    return 0, 0


def cover(inside: float) -> int:
    """The share of a pixel whose middle is so far inside an area."""
    return round(max(0.0, min(1.0, inside + 0.5)) * COVERS)
