"""The shapes of `shapes.py` as JSON Schema, by name: for /openapi.json, and for those who check answers against it."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1}
_MS: Schema = {"type": "integer", "description": "Milliseconds."}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_ANY: Schema = {"description": "Any JSON of at most 64 KiB."}


def _object(required: tuple[str, ...] = (), more: bool = False, /, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    if not more:
        schema["additionalProperties"] = False
    return schema


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


_DURATION: Schema = {
    "description": 'As in rule files, "30 min" or "1h30m"; or milliseconds.',
    "anyOf": [
        {"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,3})? ?(ms|s|min|h|days|weeks)$"},
        {"type": "integer", "minimum": 0, "maximum": 2**62 - 1},
    ],
}
_TIME: Schema = {
    "description": "Epoch milliseconds, or ISO 8601.",
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": 2**62 - 1}, {"type": "string", "format": "date-time"}],
}
_PARTS: Schema = _list(ref("Condition"), minItems=1)
_NUMBER: Schema = {"type": "number"}
_TIMES: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_KEYS: Schema = _list(_TEXT, minItems=1)
_WAIT_FIELDS: Schema = {
    "key": _TEXT,
    "keys": _KEYS,
    "rule": _TEXT,
    "until": ref("Condition"),
    "within": ref("Duration"),
}
_RULE: Schema = {
    "name": _NAME,
    "opens": _NAME,
    "per": {"enum": ["first", "each"]},
    "until": ref("Condition"),
    "within": {},
    "cancels": _or_null(_NAME),
    "keeps_alive": _or_null(_NAME),
    "columns": {"type": "object", "additionalProperties": _TEXT},
}

SCHEMAS: dict[str, Schema] = {
    "Duration": _DURATION,
    "Time": _TIME,
    "Condition": {
        "description": "What a wait waits for, as in rule files: a kind, or one of these.",
        "anyOf": [
            _NAME,
            _object(("seen",), seen=_NAME, times=_TIMES, distinct={"const": "source"}),
            _object(("total", "at_least"), total=_NAME, at_least={"type": "number", "exclusiveMinimum": 0}, of=_NAME),
            _object(("reached", "at_least"), reached=_NAME, at_least=_NUMBER, by=_TIMES),
            _object(("all_of",), all_of=_PARTS),
            _object(("any_of",), any_of=_PARTS),
            _object(("n_of", "n"), n_of=_PARTS, n={"type": "integer", "minimum": 1}),
            _object(("never",), never={"const": True}),
        ],
    },
    "NewWait": {
        "description": "A key or several, and either a rule or what to wait for and how long.",
        "oneOf": [
            _object((key, *plan), **{name: _WAIT_FIELDS[name] for name in (key, *plan)}, payload=_ANY)
            for key in ("key", "keys")
            for plan in (("rule",), ("until", "within"))
        ],
    },
    "Wait": _object(
        ("id", "rule", "keys", "until", "within_ms", "opened_at", "deadline", "status", "payload", "outcome"),
        id=_TEXT,
        rule=_or_null(_TEXT),
        keys=_KEYS,
        until=ref("Condition"),
        within_ms=_MS,
        opened_at=_MS,
        deadline=_MS,
        status={"enum": ["pending", "completed", "expired", "cancelled"]},
        missing={"type": "string", "description": "What a pending wait still waits for."},
        payload=_ANY,
        outcome=_or_null(ref("Outcome")),
    ),
    "Outcome": _object(
        ("number", "operation_id", "rule", "key", "opened_at", "deadline", "outcome", "at", "waited_ms"),
        number={"type": "integer", "minimum": 1},
        operation_id=_TEXT,
        rule=_TEXT,
        key=_TEXT,
        opened_at=_MS,
        deadline=_MS,
        outcome={"enum": ["completed", "expired", "cancelled"]},
        at=_MS,
        waited_ms=_MS,
        met_at=_or_null(_MS),
        decided_by=_TEXT,
        missing=_or_null(_TEXT),
        seen=_TEXT,
        payload=_ANY,
    ),
    "Extension": _object(("within",), within=ref("Duration")),
    "Cancelled": _object(("ended_by_this", "wait"), ended_by_this={"type": "boolean"}, wait=ref("Wait")),
    "Page": _object(("waits", "next"), waits=_list(ref("Wait")), next=_or_null(_COUNT)),
    "Text": _object(("text",), text=_TEXT),
    "Where": _object(rule=_TEXT, key_prefix=_TEXT, dry_run={"type": "boolean"}),
    "Shift": _object(
        ("by",), rule=_TEXT, key_prefix=_TEXT, dry_run={"type": "boolean"}, by=ref("Duration"), note=_TEXT
    ),
    "Signal": _object(
        ("key", "kind"),
        key=_TEXT,
        kind=_NAME,
        source={"type": ["string", "integer"]},
        value={"description": "A number, or one as a text to be taken exactly.", "type": ["number", "string"]},
        id={"type": "string", "minLength": 1, "pattern": "^[^#]"},
        at=ref("Time"),
    ),
    "Completed": _object(("completed",), completed=_COUNT),
    "BatchLine": {
        "description": "One line.",
        "oneOf": [
            _object(("wait",), wait={"type": "object"}),
            _object(("signal",), signal=ref("Signal")),
            _object(("extend",), extend=_object(("id", "within"), id=_NAME, within=ref("Duration"))),
            _object(("cancel",), cancel=_object(("id",), id=_NAME)),
            _object(("rule",), rule=ref("NewRule")),
        ],
    },
    "BatchAnswer": _object(("status",), status={"type": "integer"}, body={"type": "object"}),
    "NewRule": _object(("within",), **{**_RULE, "within": ref("Duration")}),
    "Rule": _object(
        ("name", "opens", "per", "until", "within", "within_ms", "text"),
        **_RULE,
        within_ms=_or_null(_MS),
        text={"type": "string", "description": "The rule as a sentence."},
    ),
    "Rules": _object(("rules",), rules=_list(ref("Rule"))),
    "Outcomes": _object(("outcomes", "last"), outcomes=_list(ref("Outcome")), last=_COUNT),
    "Advance": {
        "oneOf": [_object(("by",), by=ref("Duration")), _object(("to",), to=ref("Time"))],
    },
    "Now": _object(("now_ms",), now_ms=_MS),
    "Stats": _object(
        ("pending", "completed", "expired", "cancelled", "last_number", "now_ms", "rules"),
        True,
        **dict.fromkeys(("pending", "completed", "expired", "cancelled", "last_number", "now_ms"), _COUNT),
        rules={"type": "object", "additionalProperties": ref("RuleStats")},
    ),
    "RuleStats": _object(
        ("pending", "completed", "expired", "cancelled"),
        **dict.fromkeys(("pending", "completed", "expired", "cancelled"), _COUNT),
    ),
    "Problem": _object(
        ("type", "title", "status", "detail"),
        True,
        type=_TEXT,
        title=_TEXT,
        status={"type": "integer"},
        detail=_TEXT,
        field=_TEXT,
        request_id=_TEXT,
    ),
}
