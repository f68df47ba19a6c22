"""A reading as an SVG picture of a terminal."""

from __future__ import annotations

import io
import re
from html import unescape
from itertools import groupby

from rich.console import Console

from .screen import BLOCKS, Reading, frame

# What Rich's SVG export makes of a run of text. Its cells are 12.2 x 24.4 with the text's base line 18.5 below the top.
TEXT = re.compile(r'<text class="(\S+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+" clip-path="\S+">([^<]+)</text>')
CELL_WIDTH, CELL_HEIGHT, BASE_LINE = 12.2, 24.4, 18.5


def save_svg(reading: Reading, path: str, width: int = 120, height: int = 34) -> None:
    """Draw that reading, in a terminal of this size."""
    console = Console(
        file=io.StringIO(), record=True, width=width, height=height, force_terminal=True, color_system="truecolor"
    )
    console.print(frame(reading, console))
    svg = console.export_svg(title="python -m examples.live_timers")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TEXT.sub(draw_blocks, svg))


def draw_blocks(text: re.Match[str]) -> str:
    """Block characters as rectangles: as text they would not touch, in most fonts, and the rings would be striped."""
    style, left, base, content = text[1], float(text[2]), float(text[3]), unescape(text[4]).replace("\xa0", " ")
    if not set(content) <= {*BLOCKS, "▀"}:
        return text[0]
    rectangles = []
    for character, same in groupby(content):
        width = CELL_WIDTH * len(list(same))
        part = 0.5 if character == "▀" else BLOCKS.index(character) / 8
        top = base - BASE_LINE + (0 if character == "▀" else CELL_HEIGHT * (1 - part))
        if part:
            box = f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{CELL_HEIGHT * part + 0.25:.2f}"'
            rectangles.append(f'<rect class="{style}" {box} shape-rendering="crispEdges"/>')
        left += width
    return "".join(rectangles)
