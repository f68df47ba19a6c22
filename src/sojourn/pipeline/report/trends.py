"""How the share completed, and the time it takes, change: from period to period, and from group to group."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple, TypeVar

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
from .words import Labels, band_text, count_text, estimate_text, share_text, short

PERCENTILES = (0.5, 0.9, 0.95)

_Value = TypeVar("_Value")

GROUPS = 24
"""How many groups are shown, the largest; the others are left out."""


class Point(NamedTuple):
    """A period: the share completed, and by when each of `PERCENTILES` is; None if nobody was seen for so long."""

    share: Estimate | None
    within: Sequence[int | None]


def points(periods: Periods, deadline: int) -> list[Point | None]:
    """A point for each period in which anything opened; the deadline lies there in its curve."""
    bins = [periods.spells.bins(place) for place in range(len(periods.counts))]
    return [
        Point(survival.curve(part, only_completed=True).all_by(deadline), within(survival.curve(part)))
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
    top = percent_grid(plot, max((point.share.high for point in found if point and point.share), default=1))
    edges = period_edges(periods)
    for run in _runs([point and point.share for point in found]):
        low, mid, high = (_line(edges, [(i, share[k] / top) for i, share in run]) for k in (1, 0, 2))
        plot.band(low, high)
        plot.line(mid, "curve")
    for i, point in enumerate(found):
        if point and point.share:
            share = f"{estimate_text(point.share)} completed{band_text(point.share)}"
            text = f"{periods.unit.label(periods.first + i)}: {share}"
            plot.strip(edges[i], edges[i + 1], f"{text}, of {int(periods.counts[i].sum()):,}")
    period_ticks(plot, periods)
    return plot


def time_over_time(periods: Periods, found: Sequence[Point | None], axis: Axis) -> Plot:
    """The percentiles of the time to completion, a line each, and the deadline."""
    plot = Plot(f"Time to completion by {periods.unit.name} of opening")
    zero = axis.allowed or 0
    known = [at for point in found if point for at in point.within if at is not None]
    start, end = min([0, *known]) if axis.allowed is None else 0, max([*known, zero, 1])
    step = duration_step((end - start) / 5)
    bottom, top = start // step * step, -(-end // step) * step
    for value in multiples(step, bottom, top):
        plot.grid((value - bottom) / (top - bottom), axis.tick_text(value))
    edges = period_edges(periods)
    for k, name in enumerate(("p50", "p90", "p95")):
        for run in _runs([point and point.within[k] for point in found]):
            plot.line(_line(edges, [(i, (at - bottom) / (top - bottom)) for i, at in run]), name)
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


def _line(edges: Sequence[float], run: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """From the middle of one period to that of the next; a period on its own is crossed."""
    if len(run) == 1:
        [(place, y)] = run
        return [(edges[place], y), (edges[place + 1], y)]
    return [((edges[place] + edges[place + 1]) / 2, y) for place, y in run]


def _runs(values: Sequence[_Value | None]) -> list[list[tuple[int, _Value]]]:
    """The values that are there, each with its place, in runs without a gap."""
    runs: list[list[tuple[int, _Value]]] = []
    for place, value in enumerate(values):
        if value is not None:
            if not runs or runs[-1][-1][0] != place - 1:
                runs.append([])
            runs[-1].append((place, value))
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
    shares = {name: tally.groups.completed(name, tally.deadline) for name in names[:GROUPS]}
    shown = sorted(shares, key=lambda name: (1 if (share := shares[name]) is None else share.share, name))
    rows = [_group_row(name, shares[name], tally, axis, labels) for name in shown]
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


def _group_row(name: str, share: Estimate | None, tally: Tally, axis: Axis | None, labels: Labels) -> list[str]:
    counts = tally.groups[name]
    times = [at_text(at, axis) for at in within(tally.groups.curve(name))] if axis else []
    cells = [escape(short(name or "(none)")), split(counts, labels), estimate_text(share)]
    return [*cells, *times, count_text(counts.opened)]
