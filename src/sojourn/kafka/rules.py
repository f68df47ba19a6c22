"""The broker's delayed requests as rules, so that the law (and the pipeline) can read the operation log.

`outcomes(RULES["produce"], events)` gives for every produce request in the log the outcome that it really had, and
when. How long each might wait stands on its opening.
"""

from __future__ import annotations

from ..rules import Condition, Rule, any_of, column, never, reached, seen, total
from .operation_log import WHOLE

ALL_PARTS = total("settled", at_least=WHOLE)
ENOUGH_BYTES = any_of(reached("available", at_least=0), seen("interrupted"))


def _rule(kind: str, until: Condition) -> Rule:
    return Rule(kind, opens=kind, until=until, within=column("value"), cancels="cancelled")


RULES: dict[str, Rule] = {
    "produce": _rule("produce", ALL_PARTS),
    "fetch": _rule("fetch", ENOUGH_BYTES),
    "replica-fetch": _rule("replica-fetch", ENOUGH_BYTES),
    "delete-records": _rule("delete-records", ALL_PARTS),
    "create-topics": _rule("create-topics", ALL_PARTS),
    "delete-topics": _rule("delete-topics", ALL_PARTS),
    "elect-leaders": _rule("elect-leaders", ALL_PARTS),
    "initial-join": _rule("initial-join", never()),
    "join": _rule("join", ALL_PARTS),
    "sync": _rule("sync", ALL_PARTS),
    "session": Rule("session", "session", within=column("value"), keeps_alive="heartbeat", cancels="cancelled"),
}
"""By the kind that opens the operation."""
