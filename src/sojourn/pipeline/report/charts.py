"""The charts of a report, each from a tally."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..results import survival
from ..results.periods import Periods
from ..results.survival import Estimate
from ..results.tally import STATUSES, Counts, Tally
from .axis import Axis, widest
from .plot import Plot
from .scale import count_step, duration_step, spread
from .words import Labels, band_text, counts_text, estimate_text

COLUMNS = 60
"""How many columns a chart has at most, or about."""

CURVE_POINTS = 120
TICKS = 9
GAP = 0.1
"""How much of a column's place is left free."""


def over_time(periods: Periods, labels: Labels) -> Plot:
    """What became of operations by when they were opened; each bar leads to the cases behind it."""
    unit, counts = periods.unit, periods.counts.tolist()
    plot = Plot(f"Outcomes by {unit.name} of opening")
    tips = [f"{unit.label(periods.first + i)}: {counts_text(Counts(*row), labels)}" for i, row in enumerate(counts)]
    _columns(plot, counts, period_edges(periods), tips, has_cases=True)
    period_ticks(plot, periods)
    return plot


def period_edges(periods: Periods) -> list[float]:
    length = len(periods.counts)
    return [i / length for i in range(length + 1)]


def period_ticks(plot: Plot, periods: Periods) -> None:
    length = len(periods.counts)
    plot.ticks(((i + 0.5) / length, periods.unit.short(periods.first + i)) for i in spread(length, TICKS))


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
    """The share of operations that complete, by deadline, with the band that it lies in."""
    fine = _finer(tally, axis)
    curve = survival.curve(tally.slack)
    edges = [edge for edge in fine.edges() if curve.end is None or edge <= curve.end] or [fine.start]
    shares = [curve.by(edge) for edge in edges]
    plot = Plot("Share of operations completed, by deadline")
    top = percent_grid(plot, max(share.high for share in shares))
    points = [(axis.share(edge), share.share / top) for edge, share in zip(edges, shares, strict=True)]
    middle = sum(edge <= 0 for edge in edges)
    plot.area(points[:middle], "completed")
    plot.area(points[max(0, middle - 1) :], "met_late")
    lows, highs = ([(axis.share(e), share[i] / top) for e, share in zip(edges, shares, strict=True)] for i in (1, 2))
    plot.band(lows, highs)
    plot.line(points, "curve")
    for before, edge, share in zip(edges, edges[1:], shares[1:], strict=False):
        plot.strip(axis.share(before), axis.share(edge), f"{axis.text(edge)}: {completing_text(share)}")
    for deadline, tried in tally.what_if.items():
        estimate = tried.estimate()
        if estimate is not None and (deadline.is_shift or axis.allowed is not None):
            ms = deadline.ms if deadline.is_shift else deadline.ms - (axis.allowed or 0)
            if axis.start <= ms <= axis.end:
                plot.dot(axis.share(ms), estimate.share / top, f"{deadline}: {completing_text(estimate)}")
    plot.ticks(axis.ticks(TICKS))
    plot.deadline(axis.share(0), axis.deadline_text())
    return plot


def _finer(tally: Tally, axis: Axis) -> Axis:
    width = widest(tally.slack, axis.start, axis.end)
    step = duration_step((axis.end - axis.start) / CURVE_POINTS, multiple_of=width)
    return Axis(axis.start // step * step, -(-axis.end // step) * step, step, axis.allowed)


def completing_text(share: Estimate) -> str:
    return f"{estimate_text(share)} would have completed{band_text(share)}"


def lifetimes(tally: Tally, labels: Labels) -> Plot:
    """How long operations were pending, for rules that await nothing."""
    waited = tally.waited
    longest = int(waited.ends[-1])
    step = duration_step(longest / COLUMNS, multiple_of=int(np.max(waited.ends - waited.starts)))
    places = waited.starts // step
    counts = np.zeros((int(places[-1]) + 1, len(STATUSES)), np.int64)
    np.add.at(counts, places, waited.counts)
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


def _columns(
    plot: Plot, counts: Sequence[Sequence[int]], edges: Sequence[float], tips: Sequence[str], *, has_cases: bool = False
) -> None:
    """Stacked columns between the edges, one for each row of counts by status, over a grid."""
    step = count_step(max(map(sum, counts), default=0))
    top = step * max(1, -(-max(map(sum, counts), default=0) // step))
    for value in range(0, top + 1, step):
        plot.grid(value / top, f"{value:,}")
    for place, (row, left, right, tip) in enumerate(zip(counts, edges, edges[1:], tips, strict=False)):
        gap = (right - left) * GAP / 2
        y = 0
        for status, (name, number) in enumerate(zip(STATUSES, row, strict=False)):
            if number:
                cases = f"{place}.{status}" if has_cases else ""
                plot.bar(left + gap, right - gap, y / top, (y + number) / top, name, tip, cases)
            y += number


def percent_grid(plot: Plot, highest: float) -> float:
    """Horizontal lines up to the share given; the share at the top."""
    step = next(
        s for s in (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if s * 5 >= highest
    )
    number = max(1, int(np.ceil(highest / step - 1e-9)))
    for i in range(number + 1):
        plot.grid(i / number, f"{i * step:.4%}".rstrip("%").rstrip("0").rstrip(".") + "%")
    return step * number
