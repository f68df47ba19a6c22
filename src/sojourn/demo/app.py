"""The screen: textual's widgets around the dial and the panels, and the keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Footer

from . import panel
from .colour import BACKGROUND, DIM, FAINT, LATE, TEXT
from .dial import Dial
from .driver import DemoDriver
from .reading import Reading
from .world import SERVICES

GROUND = Style(bgcolor=BACKGROUND)
FRAME_S = 1 / 15
FIGURES_EVERY = 3  # frames: nobody reads faster, unless there is news
REST = 2.0  # times as long as a frame kept the processor busy, at least: the world needs it too
EXPLANATION = "Each ring is a timing wheel, each cell a bucket of waits. Hands show now; what is due sinks inwards."


class Panel(Widget):
    """Shows a reading as lines of text."""

    def __init__(self, lines: Callable[[Reading, int, int], list[Text]], reading: Reading, id: str) -> None:
        super().__init__(id=id)
        self._lines = lines
        self.reading = reading

    def show(self, reading: Reading) -> None:
        self.reading = reading
        self.refresh()

    def render(self) -> Text:
        return Text("\n", no_wrap=True, end="").join(self._lines(self.reading, *self.size))


class DialView(Widget):
    """The dial, as large as there is room for it."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(id="dial")
        self.reading = reading
        self._dial = Dial()
        self._strips: list[Strip] = []

    def show(self, reading: Reading) -> None:
        self.reading = reading
        self._draw()
        self.refresh()

    def on_resize(self) -> None:
        self._draw()

    def render_line(self, y: int) -> Strip:
        return self._strips[y] if y < len(self._strips) else self._blank()

    def _draw(self) -> None:
        width, height = self.size
        rows = min(height, width // 2)
        lines = self._dial.lines(self.reading, rows) if rows > 0 else []
        left = (width - 2 * rows) // 2
        margins = Segment(" " * left, GROUND), Segment(" " * (width - 2 * rows - left), GROUND)
        drawn = [Strip([margins[0], *line, margins[1]], width) for line in lines]
        self._strips = [self._blank()] * ((height - rows) // 2) + drawn

    def _blank(self) -> Strip:
        return Strip.blank(self.size.width, GROUND)


def words(reading: Reading, width: int, height: int) -> list[Text]:
    """What just happened, or else what there is to see."""
    del width, height
    if reading.herd:
        return [Text(reading.herd, style=LATE)]
    return [Text(reading.word if reading.word and int(reading.seconds / 8) % 2 else EXPLANATION, style=DIM)]


class DemoApp(App[None]):
    """A hundred thousand live waits, and the timing wheels that hold them."""

    CSS = f"""
    Screen {{ background: {BACKGROUND}; color: {TEXT}; }}
    #header {{ height: 1; }}
    #left {{ width: 1fr; }}
    #dial {{ height: 1fr; }}
    #words {{ height: 3; margin: 0 1; }}
    #right {{ align-vertical: middle; width: 40; margin: 0 1 0 1; }}
    #outcomes, #sources, #lateness {{ margin-top: 1; }}
    .wide #right {{ width: 45%; margin: 0 2 0 2; }}
    Footer {{ background: {FAINT} 40%; }}
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "pause"),
        Binding("plus,equals_sign,right", "speed(1)", "faster", key_display="+"),
        Binding("minus,left", "speed(-1)", "slower", key_display="-"),
        Binding("h", "herd", "herd"),
        *(
            Binding(str(index + 1), f"kill_or_revive({index})", "kill or revive", show=index == 0, key_display="1-5")
            for index in range(len(SERVICES))
        ),
        Binding("q,escape", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, driver: DemoDriver, seconds: float | None = None) -> None:
        super().__init__()
        self.demo_driver = driver
        self.seconds = seconds
        self._began = self._began_cpu = 0.0
        self._frames = 0
        self._news: object = None

    def compose(self) -> ComposeResult:
        reading = self.demo_driver.reading
        yield Panel(lambda reading, width, height: [panel.header(reading, width)], reading, "header")
        with Horizontal():
            with Vertical(id="left"):
                yield DialView(reading)
                yield Panel(words, reading, "words")
            with Vertical(id="right"):
                yield Panel(panel.wheels, reading, "wheels")
                yield Panel(panel.outcomes, reading, "outcomes")
                yield Panel(panel.sources, reading, "sources")
                yield Panel(panel.lateness, reading, "lateness")
        yield Footer()

    def on_mount(self) -> None:
        self.look()

    def on_resize(self) -> None:
        self.screen.set_class(self.size.width >= 120, "wide")
        for name, height in panel.heights(self.demo_driver.reading, self.size.height - 2).items():
            self.query_one(f"#{name}").styles.height = height

    def look(self) -> None:
        """Show the latest reading, and again after a while."""
        reading = self.demo_driver.reading
        if self.demo_driver.failure is not None or (self.seconds is not None and reading.seconds >= self.seconds):
            self.exit()
            return
        self._began, self._began_cpu = time.monotonic(), time.thread_time()
        news = (reading.is_paused, reading.speed, bool(reading.herd), [source.is_alive for source in reading.sources])
        self.draw(reading, has_figures=self._frames % FIGURES_EVERY == 0 or news != self._news)
        self._frames += 1
        self._news = news
        self.call_after_refresh(self._rest)

    def draw(self, reading: Reading, *, has_figures: bool = True) -> None:
        """Show that reading; without its figures, the dial alone."""
        for dial in self.query(DialView):  # none, once the screen is being taken down
            dial.show(reading)
        for figures in self.query(Panel) if has_figures else ():
            figures.show(reading)

    def _rest(self) -> None:
        left_s = FRAME_S - (time.monotonic() - self._began)
        self.set_timer(max(left_s, REST * (time.thread_time() - self._began_cpu)), self.look)

    def action_pause(self) -> None:
        self.demo_driver.ask(DemoDriver.pause)

    def action_speed(self, steps: int) -> None:
        self.demo_driver.ask(lambda driver: driver.shift_speed(steps))

    def action_herd(self) -> None:
        self.demo_driver.ask(DemoDriver.let_in_herd)

    def action_kill_or_revive(self, source: int) -> None:
        self.demo_driver.ask(lambda driver: driver.kill_or_revive(source))
