"""`python -m sojourn.demo.picture FILE`: the picture in the README, from a run with a dead service and a herd."""

from __future__ import annotations

import asyncio
import re
import sys
from html import escape, unescape
from itertools import groupby
from typing import Any

from textual.pilot import Pilot

from .app import DemoApp
from .driver import DemoDriver
from .panel import BLOCKS

WIDTH, HEIGHT = 120, 34
SCRIPT = (12.0, "3", 8.0, "h", 2.5)  # seconds to let pass, and keys
# What textual makes of a run of text. Its cells are 12.2 x 24.4 with the text's base line 18.5 below the top.
TEXT = re.compile(r'<text class="(\S+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+" (clip-path="\S+")>([^<]+)</text>')
CELL_WIDTH, CELL_HEIGHT, BASE_LINE = 12.2, 24.4, 18.5


def take() -> str:
    """Play the script, without a terminal, and take the picture."""
    pictures: list[str] = []

    async def play(pilot: Pilot[Any]) -> None:
        for step in SCRIPT:
            await (asyncio.sleep(step) if isinstance(step, float) else pilot.press(step))
        pictures.append(pilot.app.export_screenshot(title="sojourn demo"))
        pilot.app.exit()

    with DemoDriver(100_000, seed=1) as driver:
        DemoApp(driver).run(headless=True, size=(WIDTH, HEIGHT), auto_pilot=play)
    crisp = ' shape-rendering="crispEdges"'
    return (
        TEXT.sub(redraw, pictures[0])
        .replace(crisp, "")
        .replace("<style>", "<style>rect{shape-rendering:crispEdges}", 1)
    )


def redraw(text: re.Match[str]) -> str:
    """A run of text as every viewer shows it the same."""
    content = unescape(text[5]).replace("\xa0", " ")
    return draw_blocks(text, content) if set(content) <= {*BLOCKS, "▀"} else draw_words(text, content)


def draw_words(text: re.Match[str], content: str) -> str:
    """Without the spaces around them, which some viewers drop."""
    words = content.strip()
    left = float(text[2]) + CELL_WIDTH * (len(content) - len(content.lstrip()))
    length = f'textLength="{CELL_WIDTH * len(words):.1f}"'
    shown = escape(words).replace(" ", "&#160;")
    return f'<text class="{text[1]}" x="{left:.1f}" y="{text[3]}" {length} {text[4]}>{shown}</text>'


def draw_blocks(text: re.Match[str], content: str) -> str:
    """Block characters as rectangles: as text they would not touch, in most fonts, and the rings would be striped."""
    left, base = float(text[2]), float(text[3])
    rectangles = []
    for character, same in groupby(content):
        width = CELL_WIDTH * len(list(same))
        part = 0.5 if character == "▀" else BLOCKS.index(character) / 8
        top = base - BASE_LINE + (0 if character == "▀" else CELL_HEIGHT * (1 - part))
        if part:
            box = f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{CELL_HEIGHT * part + 0.25:.2f}"'
            rectangles.append(f'<rect class="{text[1]}" {box}/>')
        left += width
    return "".join(rectangles)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(take())
