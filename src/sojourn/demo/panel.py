"""The figures beside the dial: each panel turns a reading into lines of text that fill its width and height."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import cycle

from rich.text import Text

from .colour import DIM, FAINT, HAND, LATE, OUTCOMES, SIGNAL, TEXT, hue
from .dial import RINGS
from .reading import LATE_BINS, LATE_RATIO, Reading, Series, late_bin

BLOCKS = " ▁▂▃▄▅▆▇█"
LABEL, NUMBER, RATE = 10, 11, 9
LEAST_LATE, MOST_LATE = 4, 12
MARKS_MS = (0.1, 1, 10, 100)


def heights(reading: Reading, height: int) -> dict[str, int]:
    """How many of the rows each panel gets, from the top, with a free row before each but the first."""
    rows = {
        "wheels": max(RINGS, len(reading.levels)),
        "outcomes": len(reading.outcomes),
        "sources": len(reading.sources),
    }
    shared = {name: count + 1 for name, count in rows.items()} | {"lateness": LEAST_LATE}
    spare = height - sum(shared.values()) - len(rows)
    shared["lateness"] += max(0, min(MOST_LATE - LEAST_LATE, spare // 4))
    spare -= shared["lateness"] - LEAST_LATE
    for name in cycle(rows):
        if spare < rows[name]:
            return shared
        shared[name] += rows[name]
        spare -= rows[name]
    return shared


def wheels(reading: Reading, width: int, height: int) -> list[Text]:
    """Each wheel's buckets as bars, with the hand that comes round."""
    rows = max(1, (height - 1) // max(RINGS, len(reading.levels)))
    lines = [row("wheel", DIM, "buckets", "waits", width)]
    for level, counts in enumerate(reading.levels):
        name = f"● {duration(reading.level_tick_ms(level))}"
        at = int(reading.turns(level) % 1 * len(counts))
        chart = bars(counts, bar_rows(rows), width - LABEL - RATE, hue(level), at)
        lines += chart_rows(name, hue(level), chart, f"{sum(counts):,}", width, rows)
    return lines


def outcomes(reading: Reading, width: int, height: int) -> list[Text]:
    """How waits ended: how many, how many per second, and lately."""
    rows = max(1, (height - 1) // len(reading.outcomes))
    lines = [row("outcome", DIM, "ended".rjust(NUMBER - 1) + " lately", "a second", width)]
    for series in reading.outcomes:
        lines += series_rows(series, series.name, OUTCOMES[series.name], width, rows)
    return lines


def sources(reading: Reading, width: int, height: int) -> list[Text]:
    """The services and their signals; the number is the key that kills or revives one."""
    rows = max(1, (height - 1) // len(reading.sources))
    lines = [row("signals", DIM, "received".rjust(NUMBER - 1) + " lately", "a second", width)]
    for index, series in enumerate(reading.sources, 1):
        lines += series_rows(series, f"{index} {series.name}", SIGNAL, width, rows)
    return lines


def lateness(reading: Reading, width: int, height: int) -> list[Text]:
    """How late waits were told of their deadline, in real time, on a scale of powers."""
    marks = [" "] * width
    for ms in MARKS_MS:
        mark = f"{ms:g} ms"
        at = late_bin(ms * LATE_RATIO**0.01) * width // LATE_BINS
        marks[at : at + len(mark)] = mark
    title = Text("lateness".ljust(LABEL), style=DIM).append(str(reading.lateness), f"bold {TEXT}")
    title.truncate(width)
    chart = bars(reading.lateness.bins, max(1, height - 2), width, LATE)
    return [title, *chart, Text("".join(marks)[:width], style=DIM)]


def series_rows(series: Series, label: str, colour: str, width: int, rows: int) -> list[Text]:
    room = width - LABEL - NUMBER - RATE
    if not series.is_alive:
        colour = OUTCOMES["expired"]
    shown = series.history[-room:] if room > 0 else ()
    chart = bars([0.0] * (room - len(shown)) + list(shown), bar_rows(rows), room, colour)
    rate = f"{series.rate:,.0f}/s" if series.is_alive else "dead"
    for line in chart[:-1]:
        line.pad_left(LABEL + NUMBER)
    last = Text(label.ljust(LABEL), style=colour).append(f"{series.total:>{NUMBER - 1},} ", f"bold {TEXT}")
    last.append_text(chart[-1]).append(rate.rjust(RATE), f"bold {colour}" if not series.is_alive else TEXT)
    return [*padding(rows - len(chart)), *chart[:-1], last]


def row(label: str, colour: str, middle: Text | str, number: str, width: int) -> Text:
    line = Text(label.ljust(LABEL), style=colour).append(middle)
    line.pad_right(width - RATE - len(line))
    return line.append(number.rjust(RATE))


def chart_rows(label: str, colour: str, chart: Sequence[Text], number: str, width: int, rows: int) -> list[Text]:
    *upper, last = chart
    for line in upper:
        line.pad_left(LABEL)
    return [*padding(rows - len(chart)), *upper, row(label, colour, last, number, width)]


def padding(rows: int) -> list[Text]:
    return [Text() for _ in range(rows)]


def bar_rows(rows: int) -> int:
    """How many of a panel's rows are for its bars: of many, one stays free."""
    return rows if rows < 3 else rows - 1


def bars(values: Sequence[float], rows: int, width: int, colour: str, hand: int | None = None) -> list[Text]:
    """A bar chart, top line first; any value above zero can be seen. The hand, if there is one, is a line."""
    top = max([1e-9, *values])
    heights = [math.ceil(value / top * (rows * 8 - 1)) for value in values]  # bars never touch the row above
    edges = [at * width // len(values) for at in range(len(values) + 1)] if values else []
    has_gaps = width >= 3 * len(values)  # wide bars stand apart
    lines = []
    for row in reversed(range(rows)):
        text = Text(style=colour)
        for at, height in enumerate(heights):
            column = edges[at + 1] - edges[at]
            wide = column - has_gaps
            if at == hand:
                text.append("│".ljust(column), HAND)
            elif height == 0 and row == 0:
                text.append(("▁" * wide).ljust(column), FAINT)
            else:
                text.append((BLOCKS[max(0, min(8, height - 8 * row))] * wide).ljust(column))
        lines.append(text)
    return lines


def duration(ms: int) -> str:
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("s", 1_000)):
        if ms >= unit_ms:
            return f"{ms / unit_ms:.3g} {unit}"
    return f"{ms} ms"


def header(reading: Reading, width: int) -> Text:
    """What it is, how fast it goes, and when it is."""
    left = Text.assemble((" SOJOURN ", f"bold {HAND} on #2a5bd7"), (f"  {reading.pending:,}", "bold"), " waits")
    right = Text.assemble(*pace(reading), (f"   {clock(reading.now_ns)}", "bold"), (f"   {reading.build} ", DIM))
    left.pad_right(max(1, width - len(left) - len(right)))
    return left.append_text(right)


def pace(reading: Reading) -> Iterator[tuple[str, str]]:
    if reading.is_paused:
        yield "❚❚ paused", f"bold {LATE}"
    elif reading.reached < reading.speed * 0.9:
        yield f"▶ {reading.reached:.2g}x", f"bold {LATE}"
        yield f" of {reading.speed:g}x", DIM
    else:
        yield f"▶ {reading.speed:g}x", "bold"


def clock(ns: int) -> str:
    seconds, ms = divmod(ns // 1_000_000, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
