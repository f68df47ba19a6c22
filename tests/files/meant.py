"""What a generated log means: counted by whoever wrote it, not by a reader of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.pipeline.files.source import Source
from sojourn.pipeline.replay import Job
from sojourn.rules import Column, Event, Rule, Seen, Total, UntilColumn, column, reached, seen, total, until_column

OPENS, PAYS, STOPS, LEVEL, PING = KINDS = ("sent", "payment", "stop", "level", "ping")
UNKNOWN_KIND = "remark"
COLUMNS = {"key": "case", "kind": "kind", "at": "when", "source": "who", "value": "amount"}

RULES = (
    Rule("paid", OPENS, PAYS, "1 h", "each"),
    Rule("allowed", OPENS, PAYS, column("allowed"), "each", STOPS),
    Rule("due", OPENS, PAYS, until_column("due"), "each"),
    Rule("total", OPENS, total(PAYS, at_least=150), "5 h", "first", STOPS),
    Rule("level", OPENS, reached(LEVEL, at_least=50, by=2), "2 h", "each"),
    Rule("both", OPENS, seen(PAYS, 2, "source"), "3 h", "first"),
    Rule("alive", OPENS, None, "40 min", "each", STOPS, PING),
)
CENSUS = tuple(Rule(f"census of {kind}", kind, "never seen", "1 ms", "each") for kind in KINDS)
"""Under these every event that can be used opens an operation, and so is counted."""

OK, MISSING, BAD, NEGATIVE = "ok", "missing", "bad", "negative"

TIME = (
    "time cannot be read; allowed are timestamps, ISO 8601 texts, epoch numbers, "
    "and with the unit yyyymmdd dates such as 20240131"
)


@dataclass
class Meant:
    """A row: what each of its columns means, and in which of these ways, if any, it is dirty.

    `line` are the reasons for which it cannot even be read, one of which is to be told; `text` is the line then.
    """

    serial: int
    event: Event
    dirt: dict[str, str] = field(default_factory=dict)
    line: tuple[str, ...] = ()
    text: str = ""

    @property
    def name(self) -> str:
        """How it is told from all others, in a quarantine."""
        return self.text if self.line else str(self.serial)

    @property
    def kind(self) -> str | None:
        return None if self.line or self.state("kind") == MISSING else self.event.kind

    def state(self, name: str) -> str:
        return self.dirt.get(name, OK)

    def useless(self) -> tuple[str, ...]:
        """Why no rule can use it; nothing if one may."""
        if self.line:
            return self.line
        for name, word in (("key", "key"), ("kind", "kind"), ("at", "time")):
            if self.state(name) == MISSING:
                return (f"no {word}",)
        if self.state("key") == BAD:
            return ("key is neither a text nor a whole number",)
        return (TIME,) if self.state("at") == BAD else ()

    def unfit(self, rule: Rule) -> str | None:
        """Why a rule cannot use it, if others can."""
        kind = self.event.kind
        within = rule.within
        if kind == rule.opens and not isinstance(within, int) and self.state(within.name) != OK:
            return _within(within, self.state(within.name))
        for leaf in rule.leaves:
            state = self.state("value")
            if isinstance(leaf, Seen) or leaf.kind != kind or state == OK:
                continue
            if state == MISSING:
                return f"no value on {kind!r}"
            if state == BAD:
                return f"value of {kind!r} is not a number"
            if isinstance(leaf, Total):
                return f"value of {kind!r} cannot be added up; allowed are finite numbers >= 0"
        return None


def _within(within: Column | UntilColumn, state: str) -> str:
    what = f"{within.name} of {OPENS!r}"
    if state == MISSING:
        return f"no {within.name} on {OPENS!r}; the deadline is read from that column"
    noun = "time" if isinstance(within, UntilColumn) else "duration"
    return f"{what} is not a {noun}" if state == BAD else f"{what} is a negative duration"


@dataclass(frozen=True)
class Log:
    """Files in a folder, and what they mean. If it `is_refused`, no engine reads them, as they have not one column."""

    seed: int
    about: str
    path: Path
    unit: Any
    rules: tuple[Rule, ...]
    rows: tuple[Meant, ...]
    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))
    options: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    can_stream: bool = True
    is_refused: bool = False

    def job(self, *rules: Rule) -> Job:
        source = Source.of(self.path, self.format, self.options)
        return Job(source, rules or (*self.rules, *CENSUS), self.columns, self.unit)

    def usable(self, rule: Rule) -> list[Event]:
        return [row.event for row in self.rows if not row.useless() and row.unfit(rule) is None]

    def aside(self, *rules: Rule) -> Counter[tuple[str | None, tuple[str, ...], str]]:
        """What is to be set aside: by which rule, None if by all, for one of which reasons, and which row."""
        found: Counter[tuple[str | None, tuple[str, ...], str]] = Counter()
        for row in self.rows:
            if row.useless():
                found[None, row.useless(), row.name] += 1
                continue
            for rule in rules:
                reason = row.unfit(rule)
                if reason is not None:
                    found[rule.name, (reason,), row.name] += 1
        return found

    def kinds(self) -> Counter[str]:
        return Counter(row.kind for row in self.rows if row.kind is not None)

    def census(self) -> Counter[str]:
        """How many rows each rule of `CENSUS` is to use."""
        usable = Counter(row.event.kind for row in self.rows if not row.useless())
        return Counter({rule.name: usable[rule.opens] for rule in CENSUS if usable[rule.opens]})
