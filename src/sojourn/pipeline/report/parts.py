"""The pieces of HTML that sections are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from ..results.tally import STATUSES, Counts
from .plot import Plot
from .words import Words, count_text, share_text


class Column(NamedTuple):
    """A column of a table; `kind` is its style: n for numbers, id for names, bar for bars, wide if a phone omits it."""

    name: str
    kind: str = ""


def section(title: str | None, *content: str) -> str:
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    return f"<section>{heading}{''.join(content)}</section>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def figure(plot: Plot, legend: str = "", note: str = "") -> str:
    """A plot, with the meaning of its colours above and a remark below."""
    caption = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    return f"<figure>{legend}{plot.html()}{caption}</figure>"


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], kind: str = "", marked: int = -1) -> str:
    """Rows of cells that are HTML already; the row with the number `marked` stands out."""
    head = "".join(f'<th class="{column.kind}">{escape(column.name)}</th>' for column in columns)
    body = "".join(_row(columns, row, "now" if number == marked else "") for number, row in enumerate(rows))
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(columns: Sequence[Column], cells: Sequence[str], kind: str) -> str:
    shown = (
        f'<td class="{column.kind}" data-name="{escape(column.name)}">{cell}</td>'
        for column, cell in zip(columns, cells, strict=True)
    )
    return f'<tr class="{kind}">{" ".join(shown)}</tr>'


def numbers(counts: Counts, words: Words) -> str:
    """The counts as large numbers, and as one bar."""
    cells = [_number(count_text(counts.opened), "operations opened", "")]
    for status, count in shown(counts):
        text = f'<i class="{status}"></i>{words[status]}: {count_text(count)}'
        cells.append(_number(share_text(count, counts.opened), text, status))
    return f'<div class="numbers">{"".join(cells)}</div>{split(counts, words)}'


def _number(value: str, text: str, status: str) -> str:
    return f'<div class="number" data-status="{status}"><b>{value}</b><span>{text}</span></div>'


def split(counts: Counts, words: Words) -> str:
    """One bar, parted like the counts."""
    parts = (
        f'<span class="{status}" style="flex:{count}" title="{count_text(count)} {words[status]} '
        f'({share_text(count, counts.opened)})"></span>'
        for status, count in shown(counts)
    )
    return f'<div class="split">{"".join(parts)}</div>'


def key(counts: Counts, words: Words) -> str:
    """What the colours mean."""
    entries = (f'<span><i class="{status}"></i>{words[status]}</span>' for status, _ in shown(counts))
    return f'<div class="key">{"".join(entries)}</div>'


def shown(counts: Counts) -> list[tuple[str, int]]:
    """The statuses that occur."""
    return [(status, count) for status, count in zip(STATUSES, counts, strict=True) if count]
