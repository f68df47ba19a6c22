"""Charts as small pieces of HTML: marks in an SVG that stretches to any width, labels as text that does not.

A position is a share of the plot, 0 to 1, from the left and from the bottom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 1_000, 400
"""The units of the SVG; it is stretched, so they mean nothing outside."""


@dataclass(slots=True)
class Plot:
    """Marks and labels, added one by one, drawn in that order."""

    name: str
    marks: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def bar(self, x0: float, x1: float, y0: float, y1: float, kind: str, tip: str, cases: str = "") -> None:
        """A rectangle in the colour of its kind; `tip` shows when it is pointed at, `cases` when it is clicked."""
        link = f' tabindex="0" role="button" data-cases="{cases}"' if cases else ""
        self.marks.append(f'<rect class="{kind}"{link} {_box(x0, x1, y0, y1)}><title>{escape(tip)}</title></rect>')

    def strip(self, x0: float, x1: float, tip: str) -> None:
        """An invisible column from bottom to top that can be pointed at."""
        self.bar(x0, x1, 0, 1, "strip", tip)

    def area(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """What lies below the points, which go from left to right."""
        inner = list(points)
        if inner:
            self._shape([(inner[0][0], 0), *inner, (inner[-1][0], 0)], f"{kind} area")

    def band(self, low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]]) -> None:
        """What lies between two lines."""
        self._shape([*low, *reversed(high)], "band")

    def line(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        coordinates = " ".join(f"{_x(x)},{_y(y)}" for x, y in points)
        self.marks.append(f'<polyline class="{kind}" points="{coordinates}"/>')

    def grid(self, y: float, text: str) -> None:
        """A horizontal line with its value on the left."""
        self.marks.append(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{_y(y)}" y2="{_y(y)}"/>')
        self.labels.append(f'<span class="y" style="bottom:{_percent(y)}">{escape(text)}</span>')

    def tick(self, x: float, text: str, is_minor: bool = False) -> None:
        """A value under the plot; a narrow screen leaves the minor ones out."""
        kind = "x minor" if is_minor else "x end" if x > 0.9 else "x"
        self.labels.append(f'<span class="{kind}" style="left:{_percent(x)}">{escape(text)}</span>')

    def ticks(self, values: Iterable[tuple[float, str]]) -> None:
        for place, (x, text) in enumerate(values):
            self.tick(x, text, is_minor=place % 2 == 1)

    def deadline(self, x: float, text: str) -> None:
        """A vertical line with a flag."""
        self.marks.append(f'<line class="deadline" x1="{_x(x)}" x2="{_x(x)}" y1="0" y2="{HEIGHT}"/>')
        side = " left" if x > 0.6 else ""
        self.labels.append(f'<span class="flag{side}" style="left:{_percent(x)}">{escape(text)}</span>')

    def level(self, y: float, text: str) -> None:
        """A horizontal line with a flag."""
        self.marks.append(f'<line class="deadline" x1="0" x2="{WIDTH}" y1="{_y(y)}" y2="{_y(y)}"/>')
        self.labels.append(f'<span class="level" style="bottom:{_percent(y)}">{escape(text)}</span>')

    def dot(self, x: float, y: float, text: str) -> None:
        style = f"left:{_percent(x)};bottom:{_percent(y)}"
        self.labels.append(f'<span class="dot" style="{style}" title="{escape(text)}"></span>')

    def html(self) -> str:
        return (
            f'<div class="plot" role="img" aria-label="{escape(self.name)}">'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">{"".join(self.marks)}</svg>'
            f"{''.join(self.labels)}</div>"
        )

    def _shape(self, points: list[tuple[float, float]], kind: str) -> None:
        coordinates = " ".join(f"{_x(x)},{_y(y)}" for x, y in points)
        self.marks.append(f'<polygon class="{kind}" points="{coordinates}"/>')


def _box(x0: float, x1: float, y0: float, y1: float) -> str:
    width, height = _number((x1 - x0) * WIDTH), _number((y1 - y0) * HEIGHT)
    return f'x="{_x(x0)}" y="{_y(y1)}" width="{width}" height="{height}"'


def _x(share: float) -> str:
    return _number(share * WIDTH)


def _y(share: float) -> str:
    return _number((1 - share) * HEIGHT)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _percent(share: float) -> str:
    return f"{_number(share * 100)}%"
