"""A report as one HTML file that needs nothing else: no network, no fonts, no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template

from ...rules import Rule
from ...rules.outcome import time_text
from ..results.calendar import date_text
from ..results.tally import Tallies, Tally, total
from .cases import cases_json
from .parts import TableColumn, section, table
from .sections import sections
from .words import count_text


@dataclass(frozen=True, slots=True)
class Report:
    """What a report shows: the tallies of an outcome table, the rules they are of, and where it came from.

    `by` names the column that operations were grouped by; `quarantined` counts the rows set aside, by reason.
    """

    tallies: Tallies
    rules: Sequence[Rule]
    source: str = "the event log"
    engine: str = ""
    by: str | None = None
    quarantined: Mapping[str, int] = field(default_factory=dict)

    def html(self) -> str:
        """The whole page."""
        return Template(_static("page.html")).substitute(
            title=escape(self._title()),
            style=_static("style.css"),
            script=f"{_static('tips.js')}\n{_static('cases.js')}",
            cases=cases_json(self.rules, self.tallies),
            content=self._content(),
            footer=self._footer(),
        )

    def _title(self) -> str:
        return ", ".join(rule.name for rule in self.rules)

    def _content(self) -> str:
        shown = [(rule, self.tallies[rule.name]) for rule in self.rules if rule.name in self.tallies]
        parts = [self._header(rule, tally) + "".join(sections(rule, tally, self.by)) for rule, tally in shown]
        return self._navigation() + "".join(parts) + self._quarantine()

    def _navigation(self) -> str:
        if len(self.rules) == 1:
            return ""
        links = (f'<a href="#{escape(rule.name)}">{escape(rule.name)}</a>' for rule in self.rules)
        return f'<nav class="nav">{"".join(links)}</nav>'

    def _header(self, rule: Rule, tally: Tally) -> str:
        sentence = str(rule).removeprefix(f"{rule.name}: ")
        return (
            f'<header id="{escape(rule.name)}"><h1>{escape(rule.name)}</h1>'
            f'<p class="lead">{escape(sentence[:1].upper() + sentence[1:])}.</p>'
            f'<p class="soft">{escape(self.source)}, {_period(tally)}</p></header>'
        )

    def _quarantine(self) -> str:
        if not self.quarantined:
            return ""
        order = sorted(self.quarantined.items(), key=lambda entry: (-entry[1], entry[0]))
        rows = [[escape(reason), count_text(number)] for reason, number in order]
        return section("Set aside", table([TableColumn("reason"), TableColumn("rows", "n")], rows))

    def _footer(self) -> str:
        counts = total(self.tallies)
        parts = f"{count_text(counts.completed)} completed + {count_text(counts.expired)} expired"
        if counts.cancelled:
            parts += f" + {count_text(counts.cancelled)} cancelled"
        if counts.pending:
            parts += f" + {count_text(counts.pending)} pending"
        engine = f" ({escape(self.engine)})" if self.engine else ""
        return f"{count_text(counts.opened)} opened = {parts}. Times in UTC. Replayed by Sojourn{engine}."


def _period(tally: Tally) -> str:
    if not tally.counts.opened:
        return "in which nothing opened"
    first, last = map(date_text, tally.opened)
    ends = "" if tally.as_of is None else f", as of {time_text(tally.as_of)}"
    return f"{first if first == last else f'{first} to {last}'}{ends}"


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text("utf-8").strip()
