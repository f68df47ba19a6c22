"""The screen, played with textual's pilot: keys do what they say, and everything fits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Footer

from demo.outside import HandDriver
from sojourn.demo.app import EXPLANATION, DemoApp, DialView, Panel
from sojourn.demo.driver import DemoDriver

SIZES = [(80, 24), (120, 34), (200, 60)]
Play = Callable[[DemoApp, Pilot[None]], Awaitable[None]]


def play(driver: HandDriver, script: Play, size: tuple[int, int] = (80, 24), **options: float) -> DemoApp:
    """Run the app without a terminal, and that script in it."""

    async def run() -> DemoApp:
        app = DemoApp(driver, **options)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(app, pilot)
        return app

    return asyncio.run(run())


def shown(app: DemoApp, panel: str) -> str:
    """What a panel says."""
    app.draw(app.demo_driver.reading)
    return app.query_one(f"#{panel}", Panel).render().plain


def press_each(driver: HandDriver, keys: Sequence[str], look: Callable[[], object]) -> list[object]:
    """What there is to see after each key."""
    seen: list[object] = []

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            driver.turn()
            seen.append(look())

    play(driver, script)
    return seen


def test_space_pauses_and_goes_on() -> None:
    driver = HandDriver()
    assert press_each(driver, ["space"] * 3, lambda: driver.reading.is_paused) == [True, False, True]


def test_plus_and_minus_change_the_speed_of_virtual_time() -> None:
    driver = HandDriver()
    keys = ["plus", "equals_sign", "right", "left", "minus", "minus", "minus", "minus", "minus"]
    assert press_each(driver, keys, lambda: driver.reading.speed) == [2, 5, 10, 5, 2, 1, 0.1, 0.01, 0.01]


def test_h_lets_in_a_herd() -> None:
    driver = HandDriver(1_000)
    driver.play(2)
    assert press_each(driver, ["h", "h"], lambda: driver.world.hub.pending) == [1_200, 1_400]


def test_a_number_kills_that_service_and_once_more_revives_it() -> None:
    driver = HandDriver()
    dead = press_each(
        driver, "1234512345", lambda: [at for at, source in enumerate(driver.world.sources, 1) if not source.is_alive]
    )
    once = [[*range(1, number + 1)] for number in range(1, 6)]
    assert dead == once + [[*range(number + 1, 6)] for number in range(1, 6)]


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
def test_q_quits(key: str) -> None:
    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running

    play(HandDriver(), script)


def test_news_is_shown_in_the_next_frame_and_figures_in_every_third() -> None:
    driver = HandDriver()

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        header = app.query_one("#header", Panel)
        for command in (
            DemoDriver.pause,
            DemoDriver.pause,
            DemoDriver.let_in_herd,
            lambda driver: driver.shift_speed(1),
        ):
            driver.do(command)
            app.look()
            assert header.reading is driver.reading
        app._frames = 1
        driver.play(0.1)
        app.look()
        assert header.reading is not driver.reading
        assert app.query_one(DialView).reading is driver.reading
        app.look()
        app.look()
        assert header.reading is driver.reading

    play(driver, script)


def test_it_ends_by_itself_when_its_seconds_are_over() -> None:
    driver = HandDriver()

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        driver.play(2.9)
        app.look()
        await pilot.pause()
        assert app.is_running
        driver.play(0.2)
        app.look()
        await pilot.pause()
        assert not app.is_running

    play(driver, script, seconds=3)


def test_it_ends_when_the_driver_has_failed() -> None:
    driver = HandDriver()

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        driver.failure = RuntimeError()
        app.look()
        await pilot.pause()
        assert not app.is_running

    play(driver, script)


def test_the_figures_are_those_of_the_hub() -> None:
    driver = HandDriver(3_000)

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        for _ in range(3):
            driver.play(4)
            driver.do(lambda driver: None)
            stats = driver.world.hub.stats()
            words = [line.split() for line in shown(app, "outcomes").splitlines()[1:]]
            counts = {line[0]: int(line[1].replace(",", "")) for line in words}
            assert counts == {name: getattr(stats, name) for name in ("completed", "expired", "cancelled")}
            assert f" {stats.pending:,} waits " in shown(app, "header")
            assert sum(int(line.split()[-1].replace(",", "")) for line in wheel_lines(app)) == stats.pending

    play(driver, script)


def wheel_lines(app: DemoApp) -> list[str]:
    return [line for line in shown(app, "wheels").splitlines() if line.startswith("●")]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_everything_fits_on_the_screen(size: tuple[int, int]) -> None:
    driver = HandDriver(3_000)
    driver.play(10)

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        app.draw(driver.reading)
        await pilot.pause()
        views = [*app.query(Panel), app.query_one(DialView), app.query_one(Footer)]
        assert sum(view.region.area for view in views) <= app.screen.region.area
        for view in views:
            assert view.region.area > 0
            assert app.screen.region.contains_region(view.region)
            assert not any(view.region.overlaps(other.region) for other in views if other is not view)
        for view in app.query(Panel).exclude("#words"):
            lines = view.render().plain.split("\n")
            assert len(lines) <= view.size.height
            assert max(Text(line).cell_len for line in lines) <= view.size.width
        dial = app.query_one(DialView)
        assert {dial.render_line(y).cell_length for y in range(dial.size.height)} == {dial.size.width}
        assert not app.screen.show_vertical_scrollbar

    play(driver, script, size)


def test_sentences_fit_into_their_three_lines() -> None:
    driver = HandDriver(3_000)
    driver.play(10)

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        width, height = app.query_one("#words", Panel).size
        sentence = "Request 9,999,999: cancelled by cancel at 2026-01-01 00:00:07.457 UTC after 1min52s137ms: no reply"
        herd = "Herd: 20,000 waits fell due; the last was told 1234 ms late"
        for text in (EXPLANATION, driver.reading.word, sentence, herd):
            assert len(Text(text).wrap(app.console, width)) <= height

    play(driver, script)


def test_a_resized_screen_fits_again() -> None:
    driver = HandDriver()
    driver.play(1)

    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(200, 60)
        await pilot.pause()
        assert app.query_one(DialView).size.height > 50
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.query_one(DialView).size.height == 19

    play(driver, script)


def test_a_terminal_too_small_for_it_gets_what_fits() -> None:
    async def script(app: DemoApp, pilot: Pilot[None]) -> None:
        app.draw(app.demo_driver.reading)
        await pilot.resize_terminal(20, 5)
        await pilot.pause()
        assert app.is_running

    play(HandDriver(), script, size=(30, 8))
