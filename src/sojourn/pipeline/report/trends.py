"""How the share completed, and the time it takes, change: from period to period, and from group to group."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ..results import survival
from ..results.bins import rounded_up
from ..results.named import OTHERS
from ..results.periods import Periods
from ..results.survival import Curve, Estimate
from ..results.tally import Counts, Tally
from .axis import Axis
from .charts import percent_grid, period_edges, period_ticks
from .parts import TableColumn, split, table
from .plot import Plot
from .scale import duration_step, multiples
from .words import Labels, count_text, estimate_text, share_text, short

PERCENTILES = (0.5, 0.9, 0.95)

GROUPS = 24
"""How many groups are shown, the largest; the others are left out."""


class Point(NamedTuple):
    """A period: the share completed, and by when each of `PERCENTILES` is; None if it was never seen to be."""

    share: Estimate
    within: Sequence[int | None]


def points(periods: Periods) -> list[Point | None]:
    """A point for each period in which anything opened."""
    bins = [periods.spells.bins(place) for place in range(len(periods.counts))]
    return [
        Point(survival.curve(part, only_completed=True).last(), within(survival.curve(part)))
        if len(part.places)
        else None
        for part in bins
    ]


def within(curve: Curve) -> list[int | None]:
    """By when each percentile is completed, in round numbers."""
    return [None if at is None else rounded_up(at) for at in (curve.deadline_for(share).at for share in PERCENTILES)]


def share_over_time(periods: Periods, found: Sequence[Point | None]) -> Plot:
    """The share completed of what each period opened, with its band."""
    plot = Plot(f"Share completed by {periods.unit.name} of opening")
    top = percent_grid(plot, max(point.share.high for point in found if point))
    edges = period_edges(periods)
    for run in _runs(found):
        xs = [(edges[i] + edges[i + 1]) / 2 for i in run]
        shares = [point.share for i in run if (point := found[i])]
        low, mid, high = ([(x, share[k] / top) for x, share in zip(xs, shares, strict=True)] for k in (1, 0, 2))
        plot.band(low, high)
        plot.line(mid, "curve")
    for i, point in enumerate(found):
        if point:
            band = f"{share_text(point.share.low, 1)} to {share_text(point.share.high, 1)}"
            text = f"{periods.unit.label(periods.first + i)}: {estimate_text(point.share)} completed ({band})"
            plot.strip(edges[i], edges[i + 1], f"{text}, of {int(periods.counts[i].sum()):,}")
    period_ticks(plot, periods)
    return plot


def time_over_time(periods: Periods, found: Sequence[Point | None], axis: Axis) -> Plot:
    """The percentiles of the time to completion, a line each, and the deadline."""
    plot = Plot(f"Time to completion by {periods.unit.name} of opening")
    zero = axis.allowed or 0
    known = [at for point in found if point for at in point.within if at is not None]
    start, end = min(0, *known) if axis.allowed is None else 0, max(*known, zero, 1)
    step = duration_step((end - start) / 5)
    bottom, top = start // step * step, -(-end // step) * step
    for value in multiples(step, bottom, top):
        plot.grid((value - bottom) / (top - bottom), axis.tick_text(value))
    edges = period_edges(periods)
    for k, name in enumerate(("p50", "p90", "p95")):
        for run in _runs([point and point.within[k] for point in found]):
            line = [((edges[i] + edges[i + 1]) / 2, (_at(found[i], k) - bottom) / (top - bottom)) for i in run]
            plot.line(line, name)
    plot.level((zero - bottom) / (top - bottom), axis.deadline_text())
    for i, point in enumerate(found):
        if point:
            text = ", ".join(
                f"{percentile_text(share)} {at_text(at, axis)}"
                for share, at in zip(PERCENTILES, point.within, strict=True)
            )
            plot.strip(edges[i], edges[i + 1], f"{periods.unit.label(periods.first + i)}: {text}")
    period_ticks(plot, periods)
    return plot


def _at(point: Point | None, k: int) -> int:
    assert point is not None
    at = point.within[k]
    assert at is not None
    return at


def _runs(values: Sequence[object]) -> list[list[int]]:
    """The places of values that are there, in runs without a gap."""
    runs: list[list[int]] = []
    for place, value in enumerate(values):
        if value is not None:
            if not runs or runs[-1][-1] != place - 1:
                runs.append([])
            runs[-1].append(place)
    return runs


def percentile_text(share: float) -> str:
    return f"p{share * 100:g}"


def at_text(at: int | None, axis: Axis) -> str:
    """By when: "20 days", "5 min late"; or that it was never seen."""
    return "not reached" if at is None else axis.text(at - (axis.allowed or 0))


def key_of_lines() -> str:
    """What the lines mean."""
    meaning = {"p50": "half", "p90": "nine in ten", "p95": "nineteen in twenty"}
    entries = (f'<span><i class="{name}"></i>{text} complete</span>' for name, text in meaning.items())
    return f'<div class="key lines">{"".join(entries)}</div>'


def group_table(tally: Tally, by: str, axis: Axis | None, labels: Labels) -> str:
    """The largest groups, the one with the smallest share completed first."""
    names = sorted(tally.groups, key=lambda name: (name == OTHERS, -tally.groups[name].opened, name))
    shown = sorted(names[:GROUPS], key=lambda name: (tally.groups.completed(name).share, name))
    rows = [_group_row(name, tally, axis, labels) for name in shown]
    if rest := names[GROUPS:]:
        together = Counts(*map(sum, zip(*(tally.groups[name] for name in rest), strict=True)))
        cells = [
            f"{count_text(len(rest))} others",
            split(together, labels),
            share_text(together.completed, together.opened),
        ]
        rows.append([*cells, *([""] * len(PERCENTILES) if axis else []), count_text(together.opened)])
    columns = [TableColumn(by, "id"), TableColumn("", "bar"), TableColumn("completed", "n")]
    if axis:
        columns += [TableColumn(percentile_text(share), "n wide") for share in PERCENTILES]
    return table([*columns, TableColumn("opened", "n")], rows, "cards groups")


def _group_row(name: str, tally: Tally, axis: Axis | None, labels: Labels) -> list[str]:
    counts = tally.groups[name]
    times = [at_text(at, axis) for at in within(tally.groups.curve(name))] if axis else []
    share = estimate_text(tally.groups.completed(name))
    return [escape(short(name or "(none)")), split(counts, labels), share, *times, count_text(counts.opened)]
