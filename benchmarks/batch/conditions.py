"""The rules that are measured: every condition, one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.rules import Rule, all_of, any_of, reached, seen, total

from .data import KEYS_EACH, WITHIN_MS

ALIVE_MS = WITHIN_MS // 2


@dataclass(frozen=True)
class Case:
    """A rule and the log it runs over; `operations` if they are a table of their own."""

    rule: Rule
    log: str = "signals"
    operations: str | None = None


def _rule(name: str, **settings: object) -> Rule:
    return Rule(name, "open", **{"within": WITHIN_MS, **settings})  # type: ignore[arg-type]


CASES = {
    "seen": Case(_rule("seen", until="signal")),
    "count": Case(_rule("count", until=seen("signal", times=2))),
    "distinct": Case(_rule("distinct", until=seen("signal", times=2, distinct="source"))),
    "sum": Case(_rule("sum", until=total("signal", at_least=100))),
    "reached": Case(_rule("reached", until=reached("signal", at_least=60, by=2))),
    "parts": Case(_rule("parts", until=all_of("paid", any_of("packed", "waived")), cancels="stopped"), "parts"),
    "heartbeat": Case(_rule("heartbeat", within=ALIVE_MS, keeps_alive="signal")),
    "many_keys": Case(
        _rule("many_keys", until=seen("ready", times=KEYS_EACH, distinct="source")), "keys", "operations"
    ),
}
