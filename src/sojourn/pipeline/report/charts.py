"""The charts of a report, each from a tally."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..results.tally import STATUSES, Counts, Tally
from .axis import Axis
from .plot import Plot
from .scale import calendar, count_step, duration_step, spread
from .words import Labels, count_text, counts_text, share_text

COLUMNS = 60
"""How many columns a chart has at most, or about."""

CURVE_POINTS = 120
TICKS = 9
GAP = 0.1
"""How much of a column's place is left free."""


def over_time(tally: Tally, labels: Labels) -> tuple[Plot, str]:
    """What became of operations by when they were opened; and the unit of the calendar that a column stands for."""
    unit = calendar(tally.opened_at, COLUMNS)
    numbers = unit.number(tally.opened_at.places * tally.opened_at.width)
    first, length = int(numbers[0]), int(numbers[-1] - numbers[0]) + 1
    counts = np.zeros((length, len(STATUSES)), np.int64)
    np.add.at(counts, numbers - first, tally.opened_at.counts)
    plot = Plot(f"Outcomes by {unit.name} of opening")
    tips = [f"{unit.label(first + i)}: {counts_text(Counts(*row), labels)}" for i, row in enumerate(counts.tolist())]
    _columns(plot, counts.tolist(), [i / length for i in range(length + 1)], tips)
    plot.ticks(((i + 0.5) / length, unit.short(first + i)) for i in spread(length, TICKS))
    return plot, unit.name


def met_when(tally: Tally, axis: Axis, labels: Labels) -> Plot:
    """How many were met when; the deadline is where one column ends and the next begins."""
    counts = axis.columns(tally.slack)
    edges = axis.edges()
    plot = Plot("When the condition was met")
    tips = [
        f"{axis.text(start)} to {axis.text(end)}: {counts_text(Counts(*row), labels)}"
        for start, end, row in zip(edges, edges[1:], counts, strict=False)
    ]
    _columns(plot, counts, [axis.share(edge) for edge in edges], tips)
    plot.ticks(axis.ticks(TICKS))
    plot.deadline(axis.share(0), axis.deadline_text())
    return plot


def share_met(tally: Tally, axis: Axis) -> Plot:
    """The share of operations that would have completed, by deadline."""
    step = duration_step((axis.end - axis.start) / CURVE_POINTS, multiple_of=tally.slack.width)
    fine = Axis(axis.start // step * step, -(-axis.end // step) * step, step, axis.allowed)
    earlier = fine.outside(tally.slack)[0]
    met = earlier + np.cumsum(np.sum(fine.columns(tally.slack), axis=1))
    shares = met / tally.counts.opened
    plot = Plot("Share of operations completed, by deadline")
    top = _percent_grid(plot, float(shares[-1]))
    points = [(axis.share(fine.start), earlier / tally.counts.opened / top)]
    points += [(axis.share(edge), float(share) / top) for edge, share in zip(fine.edges()[1:], shares, strict=True)]
    middle = sum(edge <= 0 for edge in fine.edges())
    plot.area(points[:middle], "completed")
    plot.area(points[middle - 1 :], "met_late")
    plot.line(points, "curve")
    for before, edge, number in zip(fine.edges(), fine.edges()[1:], met.tolist(), strict=False):
        text = f"{share_text(number, tally.counts.opened)} would have completed ({count_text(number)})"
        plot.strip(axis.share(before), axis.share(edge), f"{axis.text(edge)}: {text}")
    for deadline, counts in tally.what_if.items():
        if deadline.is_shift or axis.allowed is not None:
            ms = deadline.ms if deadline.is_shift else deadline.ms - (axis.allowed or 0)
            if axis.start <= ms <= axis.end:
                share = counts.completed / counts.opened
                plot.dot(axis.share(ms), share / top, f"{deadline}: {share_text(counts.completed, counts.opened)}")
    plot.ticks(axis.ticks(TICKS))
    plot.deadline(axis.share(0), axis.deadline_text())
    return plot


def lifetimes(tally: Tally, labels: Labels) -> Plot:
    """How long operations were pending, for rules that await nothing."""
    longest = int(tally.waited.places[-1] + 1) * tally.waited.width
    step = duration_step(longest / COLUMNS, multiple_of=tally.waited.width)
    bins = tally.waited.coarser(step)
    counts = np.zeros((int(bins.places[-1]) + 1, len(STATUSES)), np.int64)
    counts[bins.places] = bins.counts
    axis = Axis(0, len(counts) * step, step, 0)
    edges = axis.edges()
    plot = Plot("How long operations were pending")
    tips = [
        f"{axis.text(start)} to {axis.text(end)}: {counts_text(Counts(*row), labels)}"
        for start, end, row in zip(edges, edges[1:], counts.tolist(), strict=False)
    ]
    _columns(plot, counts.tolist(), [axis.share(edge) for edge in edges], tips)
    plot.ticks(axis.ticks(TICKS))
    return plot


def _columns(plot: Plot, counts: Sequence[Sequence[int]], edges: Sequence[float], tips: Sequence[str]) -> None:
    """Stacked columns between the edges, one for each row of counts, over a grid."""
    step = count_step(max(map(sum, counts), default=0))
    top = step * max(1, -(-max(map(sum, counts), default=0) // step))
    for value in range(0, top + 1, step):
        plot.grid(value / top, f"{value:,}")
    for row, left, right, tip in zip(counts, edges, edges[1:], tips, strict=False):
        gap = (right - left) * GAP / 2
        y = 0
        for status, number in zip(STATUSES, row, strict=True):
            if number:
                plot.bar(left + gap, right - gap, y / top, (y + number) / top, status, tip)
            y += number


def _percent_grid(plot: Plot, highest: float) -> float:
    """Horizontal lines up to the share given; the share at the top."""
    step = next(
        s for s in (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if s * 5 >= highest
    )
    number = max(1, int(np.ceil(highest / step - 1e-9)))
    for i in range(number + 1):
        plot.grid(i / number, f"{i * step:.4%}".rstrip("%").rstrip("0").rstrip(".") + "%")
    return step * number
