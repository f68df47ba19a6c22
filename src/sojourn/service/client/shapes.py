"""Waits, signals and outcomes as JSON, and back. What cannot be sent is refused here, as a durable hub does."""

from __future__ import annotations

from typing import Any

from ...durable.door import id_text, keys_of, payload_copy, signal_of
from ...durable.hub import DurableStats
from ...durable.state.wait import Told
from ...errors import RuleError
from ...hub._plan import plan_for
from ...rules import Event, Outcome, Rule
from ...rules.plain import plain_condition
from ...timer import LatenessHistogram

_FIELDS = Outcome._fields


def told_from(shape: dict[str, Any]) -> Told:
    values = [shape[name] for name in _FIELDS]
    return tuple.__new__(Told, (*values, shape["number"], shape["payload"]))


def plan_shape(until: Any, within: Any, rule: Rule | str | None) -> dict[str, Any]:
    """What a wait waits for, by the name of its rule or written out."""
    if isinstance(rule, str):
        if until is not None or within is not None:
            raise RuleError(f"until or within beside rule {rule!r}, which says both itself: leave them out")
        return {"rule": rule}
    plan = plan_for(until, within, rule)
    if rule is not None:
        return {"rule": rule.name}
    return {"until": plain_condition(plan.rule.until), "within": plan.within_ms}


def wait_shape(plan: dict[str, Any], key: Any, id: str, payload: Any) -> dict[str, Any]:
    keys = keys_of(key)
    where = {"key": keys} if isinstance(keys, str) else {"keys": keys}
    kept = payload_copy(payload)
    return {"id": id, **where, **plan} if kept is None else {"id": id, **where, **plan, "payload": kept}


def checked_id(given: object) -> str | None:
    return id_text("id", given)


def signal_shape(signal: Event | tuple[Any, ...], id: str, at: int | None) -> dict[str, Any]:
    key, kind, source, value = signal_of(signal)
    shape = {"key": key, "kind": kind, "source": source, "value": value, "id": id, "at": at}
    return {name: value for name, value in shape.items() if value is not None}


def stats_from(shape: dict[str, Any]) -> DurableStats:
    overdue = shape.get("overdue")
    if overdue is not None:
        overdue = LatenessHistogram(tuple(overdue["counts"]), overdue.get("max_ms") or 0)
    values = {name: shape[name] for name in DurableStats._fields if name != "overdue"}
    return DurableStats(overdue=overdue, **values)
