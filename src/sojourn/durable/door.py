"""What can be stored, and what cannot: everything is checked here, before it comes near the log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any

from .._arguments import items_of
from ..errors import NotStorableError, RuleError
from ..hub._plan import parts_of, plan_for
from ..rules import Event, Rule
from ..rules.duration import duration_ms
from ..rules.exact import PLACES, fits

MOST_PAYLOAD_BYTES = 65_536
MOST_DEPTH = 100
"""Lists and dicts inside each other in a payload: readers of JSON have limits of their own, and a log must be read."""
MOST_INT = 10**308
"""Beyond that no float is."""
TOO_LARGE = "is too large: it has more than 308 digits before the point"


def key_text(key: object) -> str:
    if not isinstance(key, str):
        raise NotStorableError(f"key={key!r} is not a text; a log keeps texts only: use str(key)")
    return key if type(key) is str else str.__str__(key)


def keys_of(key: object) -> str | list[str]:
    """One key, or the different keys of a list."""
    if type(key) is str:
        return key
    if not isinstance(key, list):
        return key_text(key)
    keys = list(dict.fromkeys(map(key_text, key)))
    if not keys:
        raise ValueError("key=[] is empty; a wait that watches no key could only expire: name one")
    return keys[0] if len(keys) == 1 else keys


def asked_id(given: object, what: str = "id") -> str:
    """An id that somebody asks for, which may be one that the hub made up."""
    if not isinstance(given, str):
        raise NotStorableError(f"{what}={given!r} is not a text; a log keeps texts only: use str(...)")
    if not given:
        raise NotStorableError(f"{what}='' is empty; an id has at least one character: give such a text")
    return given if type(given) is str else str.__str__(given)


def id_text(what: str, given: object) -> str | None:
    """An id that somebody gave, if any. `#` and a number stand for a wait without one."""
    if given is None:
        return None
    text = asked_id(given, what)
    if text.startswith("#"):
        raise NotStorableError(f"{what}={text!r} starts with '#', as the ids that the hub makes up do; use another one")
    return text


def payload_copy(payload: Any) -> Any:
    """What a log gives back of a payload: JSON, at most 64 KiB."""
    if payload is None:
        return None
    try:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
        copy = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except (TypeError, ValueError) as error:
        raise NotStorableError(
            f"payload cannot be written as JSON: {error}; give texts, numbers, lists, dicts"
        ) from None
    if size > MOST_PAYLOAD_BYTES:
        raise NotStorableError(
            f"payload has {size:,} bytes as JSON, and {MOST_PAYLOAD_BYTES:,} are allowed; "
            "keep it elsewhere, and give where that is"
        )
    if _depth(copy) > MOST_DEPTH:
        raise _too_deep()
    if copy != payload:  # nearly always it is equal, and then has the same keys
        _check_keys(payload)
    return copy


def _check_keys(payload: Any) -> None:
    """JSON would have a text in place of any other key, and lose one of two that look the same then."""
    for key in payload if isinstance(payload, dict) else ():
        if not isinstance(key, str):
            raise NotStorableError(
                f"payload has the key {key!r}, which is not a text, as keys of JSON are; use str(...)"
            )
    for item in _items(payload) if isinstance(payload, list | tuple | dict) else ():
        _check_keys(item)


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two payloads are the same as JSON, in which 1, 1.0 and true are three things."""
    return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def bare_columns(signals: list[Any]) -> list[Any] | None:
    """Kinds, keys and no more, if all signals are like that: most are, and checking them together takes little time."""
    if set(map(type, signals)) != {tuple} or set(map(len, signals)) != {2}:
        return None
    keys, kinds = zip(*signals, strict=True)
    if set(map(type, keys)) != {str} or set(map(type, kinds)) != {str} or "" in kinds:
        return None
    is_one = kinds.count(kinds[0]) == len(kinds)
    return [kinds[0] if is_one else list(kinds), list(keys), None, None]


def signal_of(signal: Event | tuple[Any, ...]) -> tuple[str, str, str | int | None, int | float | str | None]:
    """Key, kind, source and value of a signal, as a record has them."""
    if isinstance(signal, Event):
        key, kind, _, source, value, columns = signal
        if columns is not None:
            raise NotStorableError(f"signal {kind!r} to {key!r} has further columns; a log keeps source and value only")
    else:
        key, kind, source, value = parts_of(signal)
    if type(kind) is not str or not kind:
        raise NotStorableError(f"kind={kind!r} must be a text that is not empty")
    if source is not None and type(source) is not str and (type(source) is not int or abs(source) > MOST_INT):
        raise NotStorableError(f"source={_short(source)} is neither a text nor a whole number of at most 308 digits")
    return key if type(key) is str else key_text(key), kind, source, None if value is None else _number(value)


def _number(value: object) -> int | float | str:
    """A number as JSON has it: a decimal, exact as it is, as a text."""
    if isinstance(value, Decimal) and fits(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_INT:
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value)
    raise NotStorableError(f"value={_short(value)} {_why_not(value)}; a log keeps ints, floats and decimals")


def _why_not(value: object) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        has_more = -int(value.as_tuple().exponent) > PLACES
        return f"has more than {PLACES} decimal places" if has_more else TOO_LARGE
    return TOO_LARGE if isinstance(value, int) and not isinstance(value, bool) else "is not a finite number"


def _short(value: object) -> str:
    return "a number of too many digits" if isinstance(value, int) and abs(value) > MOST_INT else repr(value)


def _depth(payload: Any) -> int:
    """How many lists and dicts are inside each other, where that is deepest."""
    depth, level = 0, [payload]
    while level := [item for thing in level if isinstance(thing, list | dict) for item in _items(thing)]:
        depth += 1
    return depth


def _too_deep() -> NotStorableError:
    return NotStorableError(
        f"payload is nested too deep: at most {MOST_DEPTH} lists and dicts inside each other are kept; "
        "keep it elsewhere, and give where that is"
    )


def _items(thing: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> Iterable[Any]:
    return thing.values() if isinstance(thing, dict) else thing


def rule_text(until: Any, within: Any, rule: Rule | None) -> tuple[str, int]:
    """The rule that the arguments of `wait` ask for, as a log has it, and how long it gives.

    Waits without a rule of their own share one for each condition, whatever time they have.
    """
    plan = plan_for(until, within, rule)
    if rule is not None:
        return rule.to_toml(), plan.within_ms
    return Rule("wait", "wait", until, 0).to_toml(), plan.within_ms


def check_rule(rule: object) -> Rule:
    if not isinstance(rule, Rule):
        raise TypeError(f"rule={rule!r} is not a Rule; give one, as in Rule('shipped', opens='order', ...)")
    plan_for(None, None, rule)
    return rule


LONGEST_SHIFT_MS = 100 * 366 * 86_400_000
"""A hundred years: deadlines fit an index of 64 bits however often they are moved."""


def by_ms(by: Any) -> int:
    ms = duration_ms(by)
    if ms > LONGEST_SHIFT_MS:
        raise RuleError(f"by={by!r} is more than a hundred years; give a duration such as '2 h'")
    if not ms:
        raise RuleError(f"by={by!r} moves nothing; give a duration such as '2 h'")
    return ms


def column(name: str, values: Iterable[Any] | None, count: int) -> list[Any] | None:
    """One value for each of `count` things, or none at all."""
    if values is None:
        return None
    items = list(items_of(name, values, "give a list"))
    if len(items) != count:
        raise ValueError(f"{name} has {len(items)} items for {count} keys; give one for each")
    return items if any(item is not None for item in items) else None
