"""JSON in and out. Times are epoch milliseconds, or ISO 8601 texts where they come in; durations as in rule files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from ...durable.state.wait import Ended, Told, Wait
from ...errors import RuleError
from ...hub._ending import progress_of
from ...rules import Condition, Rule
from ...rules.account import Progress, missing_text
from ...rules.duration import LIMIT_MS, duration_ms
from ...rules.plain import SETTINGS, condition_of, plain_condition, plain_rule, rule_of
from .problems import Problem, problem_of, refused

if TYPE_CHECKING:
    from ...hub._plan import WaitPlan
    from ...timer import LatenessHistogram

T = TypeVar("T")

_OUTCOME = (
    "operation_id",
    "rule",
    "key",
    "opened_at",
    "deadline",
    "outcome",
    "at",
    "waited_ms",
    "met_at",
    "decided_by",
    "missing",
    "seen",
    "number",
    "payload",
)
"""Fields of an outcome that was told, in the order of `Told`."""


class Asked(NamedTuple):
    """A wait that somebody asks for."""

    key: str | list[str]
    until: Condition | None
    within: int | None
    rule: str | None
    payload: Any
    id: str | None = None


class Signal(NamedTuple):
    key: str
    kind: str
    source: str | int | None
    value: int | float | Decimal | None
    id: str | None
    at: int | None


# Out


def json_bytes(shape: Any) -> bytes:
    """JSON in UTF-8. Half a surrogate pair, which UTF-8 cannot write, stays escaped."""
    try:
        return json.dumps(shape, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(shape, separators=(",", ":")).encode()


def outcome_shape(told: Told) -> dict[str, Any]:
    return {"number": told.number, **dict(zip(_OUTCOME, told, strict=True))}


def wait_shape(wait: Wait) -> dict[str, Any]:
    """All of a wait; call it in the hub's turn, or once the wait has ended."""
    plan = wait._plan
    shape = {
        "id": wait.id,
        "rule": rule_name(plan),
        "keys": list(wait.keys),
        "until": plan_until(plan),
        "within_ms": wait.within_ms,
        "opened_at": wait.opened_at,
        "deadline": wait.deadline,
        "status": wait.outcome or "pending",
        "payload": wait.payload,
        "outcome": outcome_shape(wait._conclude()) if wait.done() else None,
    }
    if not wait.done():
        shape["missing"] = missing_of(wait)
    return shape


def new_wait_bytes(wait: Wait) -> bytes:
    """`wait_shape` as JSON, of one that has just been opened and has heard nothing yet."""
    before, middle, after = _around(wait._plan)
    keys = ",".join(map(_quoted, wait.keys))
    payload = "null" if wait.payload is None else _encode(wait.payload)
    times = f'{wait.within_ms},"opened_at":{wait.opened_at},"deadline":{wait.deadline}'
    text = f'{{"id":{_quoted(wait.id)}{before}{keys}{middle}{times}{after}{payload},"outcome":null}}'
    return text.encode("utf-8", "backslashreplace")


@lru_cache(maxsize=1_000)
def _around(plan: WaitPlan) -> tuple[str, str, str]:
    """What is the same in all waits of a plan, in the order of `wait_shape`."""
    return (
        f',"rule":{_encode(rule_name(plan))},"keys":[',
        f'],"until":{_encode(plan_until(plan))},"within_ms":',
        f',"status":"pending","missing":{_encode(nothing_yet(plan))},"payload":',
    )


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_quoted = json.encoder.encode_basestring


def rule_name(plan: WaitPlan) -> str | None:
    """The name of its rule; None for a wait that brought a condition of its own."""
    rule = plan.rule
    return None if rule.name == "wait" and rule.opens == "wait" and rule.within == 0 else rule.name


def missing_of(wait: Wait) -> str:
    if wait._progress is None:
        return nothing_yet(wait._plan)
    return missing_text(wait._plan.rule.until, progress_of(cast(Any, Ended(wait))))


@lru_cache(maxsize=1_000)
def plan_until(plan: WaitPlan) -> Any:
    return plain_condition(plan.rule.until)


@lru_cache(maxsize=1_000)
def nothing_yet(plan: WaitPlan) -> str:
    """What is missing of a wait that has seen nothing."""
    return missing_text(plan.rule.until, lambda leaf: Progress(0))


def rule_shape(rule: Rule) -> dict[str, Any]:
    shape = plain_rule(rule)
    return {**shape, "within_ms": rule.within if isinstance(rule.within, int) else None, "text": str(rule)}


def histogram_shape(histogram: LatenessHistogram) -> dict[str, Any]:
    """How many there are up to each bound; the last one has none."""
    bounds = [None if bound == inf else bound for bound in histogram.bounds_ms]
    return {"bounds_ms": bounds, "counts": list(histogram.counts), "max_ms": histogram.max_ms}


# In


def parsed(body: bytes | bytearray, where: str = "the body") -> Any:
    """The value of a JSON text; 400 if it is not JSON."""
    try:
        return _decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise Problem(400, "not JSON", f"{where} is not JSON: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def an_object(value: Any, allowed: tuple[str, ...], where: str = "the body") -> dict[str, Any]:
    """A JSON object with no other fields than these."""
    if not isinstance(value, dict):
        raise refused(f"{where} is {_kind(value)}; an object with {', '.join(allowed)} is expected")
    if not value.keys() <= set(allowed):
        name = next(name for name in value if name not in allowed)
        raise refused(f"{where} has a field {name!r}; allowed are {', '.join(allowed)}", name)
    return value


_WAIT = ("key", "keys", "rule", "until", "within", "payload", "id")
_WAIT_FIELDS = frozenset(_WAIT)


def asked(value: Any, wait_id: str | None = None) -> Asked:
    """The wait that a body asks for; its id is the one of the path, if there is one."""
    body = value if type(value) is dict and value.keys() <= _WAIT_FIELDS else an_object(value, _WAIT)
    key, rule, payload, given = body.get("key"), body.get("rule"), body.get("payload"), body.get("id", wait_id)
    if type(key) is not str or "keys" in body or not key.isascii():
        key = _key(body)
    if wait_id is not None and given != wait_id:
        raise refused(f"id={given!r} in the body is not {wait_id!r}, as in the path; leave it out", "id")
    if given is not None and type(given) is not str:
        a_text(given, "id")
    if rule is not None:
        for name in ("until", "within"):
            if body.get(name) is not None:
                raise refused(f"{name} beside rule {rule!r}, which says it itself: leave one of them out", name)
        return Asked(key, None, None, a_text(rule, "rule"), payload, given)
    if "within" not in body:
        raise refused('neither rule nor within is there; give within, as in "30 min", or the name of a rule', "within")
    until, within = body.get("until"), body["within"]
    if type(until) is str and type(within) is str:
        return Asked(key, *_plain_plan(until, within), None, payload, given)
    condition_ = None if until is None else condition(until)
    return Asked(key, condition_, duration(within, "within"), None, payload, given)


@lru_cache(maxsize=1_000)
def _plain_plan(until: str, within: str) -> tuple[Condition, int]:
    """What most waits ask for, understood once."""
    return condition(until), duration(within, "within")


def _key(body: dict[str, Any]) -> str | list[str]:
    if ("key" in body) == ("keys" in body):
        raise refused("give either key, a text, or keys, a list of texts", "key")
    if "key" in body:
        return a_text(body["key"], "key")
    keys = body["keys"]
    if not isinstance(keys, list) or not keys:
        raise refused(f"keys is {_kind(keys)}; a list of at least one text is expected", "keys")
    return [a_text(key, "keys") for key in keys]


_SIGNAL = ("key", "kind", "source", "value", "id", "at")


def signal(value: Any) -> Signal:
    body = an_object(value, _SIGNAL)
    source, at, given = body.get("source"), body.get("at"), body.get("id")
    if source is not None and (not isinstance(source, str | int) or isinstance(source, bool)):
        raise refused(f"source is {_kind(source)}; a text or a whole number is expected", "source")
    return Signal(
        a_text(body.get("key"), "key"),
        a_text(body.get("kind"), "kind", least=1),
        source,
        None if body.get("value") is None else _number(body["value"]),
        None if given is None else a_text(given, "id"),
        None if at is None else time_ms(at, "at"),
    )


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            raise refused(f"value={value!r} is not a number", "value") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused(f"value is {_kind(value)}; a number is expected, or one as a text to be taken exactly", "value")
    return value


def rule(value: Any, name: str | None) -> Rule:
    """The rule that a body describes, under the name of the path."""
    body = an_object(value, SETTINGS)
    name = body.get("name", name) if name is None else name
    if name is None:
        raise refused("the rule has no name", "name")
    if body.get("name", name) != name:
        raise refused(f"name={body['name']!r} in the body is not {name!r}, as in the path; leave it out", "name")
    return checked(lambda: rule_of({"opens": name, **body, "name": name}))


def condition(value: Any) -> Condition:
    try:
        return checked(lambda: condition_of(value), "until")
    except Problem as problem:  # which shows the value as it was sent, not as Python writes it
        problem.detail = problem.detail.replace(repr(value), json.dumps(value, ensure_ascii=False))
        raise


def duration(value: Any, field: str) -> int:
    """Milliseconds, from a text as in rule files or a whole number of milliseconds."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise refused(f'{field} is {_kind(value)}; a duration is expected, as in "30 min"', field)
    return checked(lambda: duration_ms(value), field)


def checked(make: Callable[[], T], field: str | None = None) -> T:
    """What `make` gives; what it refuses is refused with the field."""
    try:
        return make()
    except RuleError as error:
        problem = problem_of(error)
        problem.field = problem.field if field is None else field
        raise problem from None
    except (TypeError, ValueError) as error:
        raise refused(str(error), field) from None


def time_ms(value: Any, field: str) -> int:
    """Epoch milliseconds, from such a number or from ISO 8601; without a zone it is UTC."""
    if isinstance(value, str) and not value.lstrip("-").isdigit():
        try:
            at = datetime.fromisoformat(value)
            at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            return int((at - _EPOCH).total_seconds() * 1000)
        except (ValueError, OverflowError):
            raise refused(f"{field}={value!r} is not a time; {_TIMES}", field) from None
    try:
        ms = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    except ValueError:
        ms = None
    if ms is None or abs(ms) > LIMIT_MS:
        raise refused(f"{field}={value!r} is not a time; {_TIMES}", field)
    return ms


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = 'allowed are epoch milliseconds and ISO 8601, as in "2026-03-01T09:00:00Z"'


def a_text(value: Any, field: str, least: int = 0) -> str:
    if not isinstance(value, str) or len(value) < least:
        raise refused(f"{field} is {_kind(value)}; a text is expected", field)
    if not value.isascii():
        _check_whole(value, field)
    return value


def _check_whole(text: str, field: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = json.dumps(text)[:60]
        raise refused(f"{field}={shown} has half a surrogate pair in it, which UTF-8 cannot write", field) from None


def a_bool(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise refused(f"{field} is {_kind(value)}; true or false is expected", field)
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if value == "":
        return "empty"
    names: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return f"{names.get(type(value), 'a number')} ({json.dumps(value, default=str)[:60]})"
