"""The figures beside the dial fit where they are put, and say what the reading says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.text import Text

from demo.outside import HandDriver
from sojourn.demo import panel
from sojourn.demo.driver import DemoDriver
from sojourn.demo.reading import Reading

PANELS = {
    "wheels": panel.wheels,
    "outcomes": panel.outcomes,
    "sources": panel.sources,
    "lateness": panel.lateness,
    "header": lambda reading, width, height: [panel.header(reading, width)],
}
Lines = Callable[[Reading, int, int], list[Text]]


@pytest.fixture(scope="module")
def reading() -> Reading:
    """After a while, with a dead service and a herd."""
    driver = HandDriver(5_000)
    driver.play(8)
    driver.do(lambda driver: driver.kill_or_revive(2))
    driver.do(DemoDriver.let_in_herd)
    driver.play(2)
    return driver.reading


def huge(reading: Reading) -> Reading:
    """The same with the largest figures that anybody will wait for."""
    grown = [
        tuple(replace(series, total=98_765_432, history=(98_765.0,) * 240) for series in group)
        for group in (reading.outcomes, reading.sources)
    ]
    lateness = replace(reading.lateness, p50=1_234.5, p99=2_345.6, most=9_876.5)
    levels = tuple(tuple(50_000 for _ in counts) for counts in reading.levels)
    return replace(reading, outcomes=grown[0], sources=grown[1], lateness=lateness, levels=levels, pending=1_200_000)


@pytest.mark.parametrize("lines", PANELS.values(), ids=PANELS)
@pytest.mark.parametrize(("width", "height"), [(40, 6), (50, 9), (86, 20)])
def test_a_panel_fills_its_width_and_stays_inside(reading: Reading, lines: Lines, width: int, height: int) -> None:
    for shown in (reading, huge(reading), replace(reading, levels=()), replace(reading, is_paused=True)):
        drawn = lines(shown, max(width, 80) if lines is PANELS["header"] else width, height)
        assert max(line.cell_len for line in drawn) <= max(width, 80)
        assert lines is PANELS["header"] or max(line.cell_len for line in drawn) <= width
        assert len(drawn) <= height


@pytest.mark.parametrize("height", [22, 32, 40, 58, 90])
def test_the_panels_share_the_rows_there_are(reading: Reading, height: int) -> None:
    shared = panel.heights(reading, height)
    assert height - 6 < sum(shared.values()) + 3 <= height or height > 60
    assert list(shared) == ["wheels", "outcomes", "sources", "lateness"]
    for name, rows in shared.items():
        assert len(PANELS[name](reading, 40, rows)) <= rows


def test_every_outcome_is_shown_with_its_count_and_its_rate(reading: Reading) -> None:
    lines = [line.plain for line in panel.outcomes(reading, 40, 4)]
    for line, series in zip(lines[1:], reading.outcomes, strict=True):
        words = line.split()
        assert (words[0], words[1], words[-1]) == (series.name, f"{series.total:,}", f"{series.rate:,.0f}/s")


def test_a_dead_service_is_shown_dead(reading: Reading) -> None:
    lines = [line.plain for line in panel.sources(reading, 40, 6)]
    assert [line.rstrip().endswith("dead") for line in lines[1:]] == [False, False, True, False, False]
    assert lines[3].startswith("3 courier")


def test_the_header_says_how_fast_time_passes(reading: Reading) -> None:
    shown = {
        "▶ 1x": reading,
        "❚❚ paused": replace(reading, is_paused=True),
        "▶ 31x of 50x": replace(reading, speed=50, reached=31.4),
        "▶ 0.01x": replace(reading, speed=0.01, reached=0.01),
    }
    for words, case in shown.items():
        assert f" {words}   0:00:10.000   " in panel.header(case, 80).plain


def test_bars_show_any_value_above_zero_and_the_hand_in_its_place() -> None:
    assert [line.plain for line in panel.bars([0, 1, 1_000], 2, 3, "red")] == ["  ▇", "▁▁█"]
    assert [line.plain for line in panel.bars([1, 1, 1], 1, 9, "red", hand=1)] == ["▇▇ │  ▇▇ "]
    assert panel.bars([], 1, 0, "red")[0].plain == ""


@pytest.mark.parametrize(("ms", "text"), [(1, "1 ms"), (400, "400 ms"), (8_000, "8 s"), (3_600_000, "1 h")])
def test_the_tick_of_a_wheel_is_said_shortly(ms: int, text: str) -> None:
    assert panel.duration(ms) == text
