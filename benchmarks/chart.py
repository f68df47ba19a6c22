"""The chart for the docs: one panel an operation, bars on a logarithmic scale, each with its ratio to ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .results import Results
from .table import number, ratio

OURS = "sojourn"
PANELS = (
    ("add", "add", "ns"),
    ("cancel in random order", "cancel_random", "ns"),
    ("extend", "extend", "ns"),
    ("add + cancel, steady state", "churn", "ns"),
    ("expire", "expire", "ns"),
    ("on a real clock, CPU", "real_clock", "cpu_ns"),
)
ACCENT, ACCENT_LIGHT, OTHER, INK = "#c2410c", "#f2b48f", "#b8c0cc", "#30363d"


def draw(results: Results, picture: Path, n: int) -> None:
    """Write the chart for `n` timers; fails aloud where the file has none of that size."""
    # A fixed salt and no date: the same results give the same file.
    rcParams.update({"svg.hashsalt": "sojourn", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    panels = [(title, bars) for title, op, field in PANELS if (bars := _bars(results, n, op, field))]
    if not panels:
        raise SystemExit(f"the file has no timer results for n={n}")
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(4.3 * columns, 3.1 * lines))
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, bars) in zip(grid.flat, panels, strict=False):
        _panel(axes, title, bars)
    figure.suptitle(f"{n:,} timers: nanoseconds an operation, and times what sojourn takes (logarithmic)", color=INK)
    figure.text(0.5, 0.005, _origin(results), ha="center", va="bottom", fontsize=7.5, color="#6b7280")
    figure.tight_layout(rect=(0, 0.03, 1, 0.98))
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def _bars(results: Results, n: int, op: str, field: str) -> list[tuple[str, float]]:
    """(peer, value), the fastest first."""
    found = [(peer, results.get(peer, n, op, field)) for peer in results.peers()]
    return sorted(((peer, value) for peer, value in found if value is not None), key=lambda bar: bar[1])


def _panel(axes: Axes, title: str, bars: Sequence[tuple[str, float]]) -> None:
    ours = dict(bars).get(OURS)
    least, most = bars[0][1], bars[-1][1]
    axes.barh([peer for peer, _ in bars], [value for _, value in bars], color=[_colour(peer) for peer, _ in bars])
    for place, (peer, value) in enumerate(bars):
        times = "" if peer == OURS else ratio(value, ours).replace("x", "\N{MULTIPLICATION SIGN}")
        axes.text(value, place, f"  {number(value)}   {times}".rstrip(), va="center", fontsize=8, color=INK)
    axes.set_xscale("log")
    # Room to the right of the longest bar for its label: a share of the decades shown, as the scale is logarithmic.
    axes.set_xlim(least / 3, most * (3 * most / least) ** 0.55)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold")
    axes.tick_params(left=False, colors=INK, labelsize=8.5)
    axes.xaxis.set_visible(False)
    for side in axes.spines.values():
        side.set_visible(False)


def _colour(peer: str) -> str:
    return ACCENT if peer == OURS else ACCENT_LIGHT if peer.startswith(OURS) else OTHER


def _origin(results: Results) -> str:
    machine = results.facts["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, Java {machine['java'] or '-'}; "
        f"commit {results.facts['commit']}; python -m benchmarks timer"
    )
