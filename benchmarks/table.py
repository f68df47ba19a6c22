"""Aligned plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [_line(head, widths), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths) for row in rows]
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Three digits or more: `1,234`, `12.3`, `0.04`; `-` for nothing measured."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(value: float | None, base: float | None) -> str:
    """`value` over `base` as `12x`, or an empty string where one is missing."""
    if value is None or not base:
        return ""
    times = value / base
    return f"{times:.0f}x" if times >= 10 else f"{times:.1f}x" if times >= 1 else f"{times:.2f}x"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
