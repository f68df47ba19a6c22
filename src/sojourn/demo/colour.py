"""The colours of the demo. All are `#rrggbb`: mixing them is how the dial gets its smooth edges."""

from __future__ import annotations

from functools import cache

BACKGROUND = "#0d1017"
TEXT, DIM, FAINT = "#d5dae3", "#7b8496", "#3a4252"
EMPTY = "#1d2330"  # a bucket that holds nothing
HAND = "#ffffff"
HUES = ("#ffd75f", "#ff9457", "#d678f5", "#5aa2ff", "#3fd9c4")  # one per wheel, finest first
OUTCOMES = {"completed": "#3ddc97", "expired": "#ff5d73", "cancelled": "#9aa5b8"}
SIGNAL = "#5cc8ff"
LATE = "#ffd75f"


def hue(level: int) -> str:
    return HUES[level % len(HUES)]


@cache
def mix(below: str, above: str, share: float) -> str:
    """`share` of the colour above over the one below."""
    parts = (round(int(below[at : at + 2], 16) * (1 - share) + int(above[at : at + 2], 16) * share) for at in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)
