"""Rules and conditions as plain data (dicts, lists, texts, numbers), as JSON has them. The words are those of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import RuleError
from .condition import AllOf, AnyOf, Condition, Never, NOf, Reached, Seen, Total
from .duration import duration_text
from .event import Number
from .rule import Rule
from .toml import _SETTINGS, _At, _condition, _rule
from .within import Column, UntilColumn, Within

MOST_DEPTH = 32
"""Conditions inside each other: whoever writes more than that has made a mistake, or means harm."""


def condition_of(value: object) -> Condition:
    """The condition that plain data describe; `RuleError` if they describe none."""
    _check_depth(value)
    return _condition(_exact(value))


def rule_of(data: Mapping[str, Any]) -> Rule:
    """The rule with these settings, and `columns` if a log calls its columns otherwise."""
    settings = {name: value for name, value in data.items() if name != "columns" and value is not None}
    columns = data.get("columns")
    if settings.get("until") is not None:
        _check_depth(settings["until"])
        settings["until"] = _exact(settings["until"])
    try:
        return _rule({"rule": settings, **({} if columns is None else {"columns": columns})})
    except _At as error:
        field = error.path[1] if len(error.path) > 1 else None
        raise RuleError(str(error).replace("[rule] ", "the rule "), field) from None


def _exact(value: object) -> object:
    """The same, with numbers that were written as texts, to be exact, as decimals."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _decimal(item) if name == "at_least" else _exact(item) for name, item in value.items()}
    return value


def _decimal(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return Decimal(value)
    except InvalidOperation:
        raise RuleError(f"at_least={value!r} is not a number", "at_least") from None


def _check_depth(until: object) -> None:
    level = [until]
    for _ in range(2 * MOST_DEPTH):
        level = [item for thing in level for item in _inside(thing)]
        if not level:
            return
    raise RuleError(f"until has more than {MOST_DEPTH} conditions inside each other; write it with fewer", "until")


def _inside(thing: object) -> list[Any]:
    return list(thing.values()) if isinstance(thing, Mapping) else thing if isinstance(thing, list) else []


SETTINGS = (*_SETTINGS, "columns")


def plain_rule(rule: Rule) -> dict[str, Any]:
    """All settings of a rule, from which `rule_of` makes an equal one."""
    return {
        "name": rule.name,
        "opens": rule.opens,
        "per": rule.per,
        "until": plain_condition(rule.until),
        "within": _plain_within(rule.within),
        "cancels": rule.cancels,
        "keeps_alive": rule.keeps_alive,
        "columns": dict(rule.columns),
    }


def plain_condition(condition: Condition) -> Any:
    match condition:
        case Seen(kind, 1, None):
            return kind
        case Seen(kind, times, distinct):
            return _given(seen=kind, times=times, distinct=distinct)
        case Total(kind, at_least, of):
            return _given(total=kind, of=of, at_least=_plain_number(at_least))
        case Reached(kind, at_least, by):
            return _given(reached=kind, at_least=_plain_number(at_least), by=by)
        case Never():
            return {"never": True}
        case AllOf(parts):
            return {"all_of": [plain_condition(part) for part in parts]}
        case AnyOf(parts):
            return {"any_of": [plain_condition(part) for part in parts]}
        case NOf(n, parts):
            return {"n_of": [plain_condition(part) for part in parts], "n": n}


def _plain_within(within: Within) -> Any:
    match within:
        case Column(name):
            return {"column": name}
        case UntilColumn(name):
            return {"until_column": name}
        case _:
            return duration_text(within)


def _plain_number(value: Number) -> int | float | str:
    """A decimal as a text: JSON's readers would make a float of it, which may be another number."""
    return str(value) if isinstance(value, Decimal) else value


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
