"""What the page, and others, ask: now and forecast, rules and what-ifs, one wait; and incidents."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...durable.state.horizon import soonest
from ...durable.state.incidents import FAR, Incident
from ...durable.state.wait import Wait
from ...rules.duration import duration_ms
from ..api.endpoint import ApiRequest, ApiRoute, Docs, Parameter, answer
from ..api.problems import Problem, refused
from ..api.shapes import a_text, an_object, checked, duration, time_ms, wait_shape
from ..turns import acts
from .timeline import Told, timeline

LONGEST_MS = 3_660 * 86_400_000
FARTHEST_MS = 400 * 86_400_000
MOST_BUCKETS = 500
MOST_DEADLINES = 100
OBJECT = {"type": "object"}


async def now(request: ApiRequest) -> Response:
    request.allow("within", "buckets")
    return answer(await request.service.insight.now(_within(request), request.whole("buckets", 60, 1, MOST_BUCKETS)))


async def forecast(request: ApiRequest) -> Response:
    request.allow("within", "buckets")
    shape = await request.service.insight.now(_within(request), request.whole("buckets", 60, 1, MOST_BUCKETS))
    return answer({name: value for name, value in shape.items() if name not in _ONLY_NOW})


_ONLY_NOW = ("seconds", "minutes", "lateness", "disk", "last_number", "stopped_rules", "is_manual", "minute")


def _within(request: ApiRequest) -> int:
    text = request.query_params.get("within", "1 h")
    ms = int(checked(lambda: duration_ms(int(text) if text.isascii() and text.isdigit() else text), "within"))
    if not 1_000 <= ms <= FARTHEST_MS:
        raise refused(f"within={text!r} is not between a second and 400 days", "within")
    return ms


def _not_too_long(ms: int, field: str) -> int:
    if ms > LONGEST_MS:
        raise refused(f"{field} is {ms:,} ms, which is more than ten years", field)
    return ms


async def due(request: ApiRequest) -> Response:
    request.allow("rule", "key_prefix", "due_before", "limit")
    before = request.query_params.get("due_before")
    before_ms = None if before is None else time_ms(before, "due_before")
    rule, prefix = request.query_params.get("rule"), request.query_params.get("key_prefix")

    def is_asked_for(wait: Wait) -> bool:
        return (rule is None or wait.rule == rule) and (
            prefix is None or any(key.startswith(prefix) for key in wait.keys)
        )

    limit = request.whole("limit", 50, 1, 500)

    def look(state: Any) -> tuple[list[dict[str, Any]], bool]:
        waits, is_all = soonest(state, is_asked_for, limit, before_ms)
        return [wait_shape(wait) for wait in waits], is_all

    shapes, is_all = await request.service.read(look)
    return answer({"waits": shapes, "is_all": is_all})


# One wait


async def outlook(request: ApiRequest) -> Response:
    wait_id, now_ms = request.path_params["id"], request.service.now_ms()
    rule, opened_at, deadline, is_over = await request.service.read(lambda state: _times(state, wait_id, now_ms))
    if is_over:
        raise Problem(409, "it has ended", f"wait {wait_id!r} has ended: there is nothing to expect of it", "id")
    history = await request.service.insight.history()
    age_ms, left_ms = now_ms - opened_at, max(0, deadline - now_ms)
    known = history.rules.get(rule)
    nothing = {"p50_ms": None, "p90_ms": None, "completes": None, "like": 0}
    found = nothing if known is None or not known.counts.opened else known.outlook(age_ms, left_ms)
    return answer({"rule": rule, "age_ms": age_ms, "left_ms": left_ms, **found, "as_of": history.as_of})


def _times(state: Any, wait_id: str, now_ms: int) -> tuple[str, int, int, bool]:
    """Of a wait whose clock stands, the deadline is where it would be if that went on now."""
    wait = acts.found(state, wait_id)
    stop = state.stopped.get(wait.rule)
    deadline = wait.deadline if stop is None else wait.deadline - FAR - stop.at + now_ms
    return wait.rule, wait.opened_at, deadline, wait._ending is not None


async def timeline_of(request: ApiRequest) -> Response:
    wait_id, engine = request.path_params["id"], request.service.hub._engine
    told, position, incidents = await request.service.read(
        lambda state: (Told.of(acts.found(state, wait_id)), engine.log.position, list(state.incidents.acts))
    )
    reading = asyncio.get_running_loop().run_in_executor(None, timeline, engine.files, position, told, incidents)
    return answer((await reading)._asdict())


# Rules


async def rules(request: ApiRequest) -> Response:
    request.allow("fresh")
    history = await request.service.insight.history(fresh=request.flag("fresh"))
    loop = asyncio.get_running_loop()
    pictures = [await loop.run_in_executor(None, rule.picture) for rule in history.rules.values()]
    return answer({"as_of": history.as_of, "since": history.since, "hours": history.hours, "rules": pictures})


async def what_if(request: ApiRequest) -> Response:
    body = an_object(await request.shape(), ("rule", "within"))
    asked = body.get("within")
    given = asked if isinstance(asked, list) else [asked]
    if not 0 < len(given) <= MOST_DEADLINES:
        raise refused(f"within has {len(given)} deadlines; between 1 and {MOST_DEADLINES} are allowed", "within")
    deadlines = [_not_too_long(duration(one, "within"), "within") for one in given]
    rule = await _rule(request, body)
    loop = asyncio.get_running_loop()
    tried = [await loop.run_in_executor(None, rule.what_if, within_ms) for within_ms in deadlines]
    return answer({"rule": rule.name, "opened": rule.counts.opened, "deadlines": tried})


async def recommend(request: ApiRequest) -> Response:
    body = an_object(await request.shape(), ("rule", "share"))
    share = body.get("share", 0.95)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise refused(f"share={share!r} is not a share between 0 and 1, as in 0.95", "share")
    rule = await _rule(request, body)
    return answer({"rule": rule.name, "opened": rule.counts.opened, **rule.recommend(float(share))})


async def _rule(request: ApiRequest, body: dict[str, Any]) -> Any:
    name = a_text(body.get("rule"), "rule")
    history = await request.service.insight.history()
    if name not in history.rules:
        known = ", ".join(history.rules) or "none"
        raise Problem(
            404, "no such rule", f"rule {name!r} has no waits in the last week; with waits are: {known}", "rule"
        )
    return history.rules[name]


# Incidents


def incident_shape(act: Incident, undone: set[int]) -> dict[str, Any]:
    by_ms = act.by_ms if act.act in ("shift", "undo") else None
    return {
        "number": act.number,
        "act": act.act,
        "rule": act.rule,
        "key_prefix": act.key_prefix,
        "at": act.at,
        "by_ms": by_ms,
        "waits": act.waits,
        "of": act.of,
        "note": act.note,
        "is_over": act.number in undone,
    }


async def incidents(request: ApiRequest) -> Response:
    found, undone, stopped = await request.service.read(
        lambda state: (list(state.incidents.acts), state.incidents.undone(), dict(state.stopped))
    )
    shapes = [incident_shape(act, undone) for act in reversed(found)]
    return answer({"incidents": shapes, "stopped": {rule: act.at for rule, act in stopped.items()}})


async def act(request: ApiRequest) -> Response:
    body = an_object(await request.shape(), ("act", "rule", "key_prefix", "by", "note"))
    hub, what, note = request.service.hub, body.get("act"), body.get("note")
    note = None if note is None else a_text(note, "note")
    if what not in ("stop", "resume", "shift"):
        raise refused(f"act={what!r} is not known; allowed are stop, resume and shift", "act")
    if what == "shift":
        return await _shift(request, body, note)
    for name in ("key_prefix", "by"):
        if body.get(name) is not None:
            raise refused(f"{name} is only for a shift: a clock is stopped for all waits of a rule", name)
    rule = a_text(body.get("rule"), "rule", least=1)
    done = await (hub.stop_clock(rule, note) if what == "stop" else hub.resume_clock(rule, note))
    return answer(incident_shape(done, set()), 201)


async def _shift(request: ApiRequest, body: dict[str, Any], note: str | None) -> Response:
    rule, prefix = body.get("rule"), body.get("key_prefix")
    if rule is None and prefix is None:
        raise refused('neither rule nor key_prefix: that would be every wait; say so with "key_prefix": ""', "rule")
    moved = await request.service.hub.shift(
        rule=None if rule is None else a_text(rule, "rule"),
        key_prefix=None if prefix is None else a_text(prefix, "key_prefix"),
        by=_not_too_long(duration(body.get("by"), "by"), "by"),
        note=note,
    )
    if not moved:
        raise Problem(
            409, "no waits", "there are no pending waits of that rule, or on such keys: nothing was done", "rule"
        )
    acts_so_far = request.service.hub.incidents()
    return answer(incident_shape(acts_so_far[-1], set()), 201)


async def undo(request: ApiRequest) -> Response:
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Problem(404, "no such incident", f"{text!r} is not the number of an incident", "number")
    number = int(text)
    if number not in {act.number for act in request.service.hub.incidents()}:
        raise Problem(
            404, "no such incident", f"there is no incident {number}, or no longer; see /v1/incidents", "number"
        )
    return answer(incident_shape(await request.service.hub.undo(number), set()), 201)


_TIME = (
    Parameter("within", "How far ahead, as in `1 h`."),
    Parameter("buckets", "In about how many parts.", {"type": "integer", "minimum": 1, "maximum": MOST_BUCKETS}),
)
_ACT = {
    "type": "object",
    "required": ["act"],
    "additionalProperties": False,
    "properties": {
        "act": {"enum": ["stop", "resume", "shift"]},
        "rule": {"type": ["string", "null"]},
        "key_prefix": {"type": ["string", "null"]},
        "by": {"type": ["string", "integer", "null"], "examples": ["2 h"]},
        "note": {"type": ["string", "null"], "maxLength": 1000},
    },
}
_WHAT_IF = {
    "type": "object",
    "required": ["rule", "within"],
    "additionalProperties": False,
    "properties": {"rule": {"type": "string"}, "within": {"examples": ["30 min", ["30 min", "1 h"]]}},
}
_SHARE = {
    "type": "object",
    "required": ["rule"],
    "additionalProperties": False,
    "properties": {"rule": {"type": "string"}, "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}},
}


def _route(method: str, path: str, handler: Any, summary: str, status: int = 200, **more: Any) -> ApiRoute:
    scope, tag = more.pop("scope", "read"), more.pop("tag", "insight")
    return ApiRoute(
        method,
        path,
        handler,
        scope=scope,
        docs=Docs(summary, tag=tag, answers={status: (f"{summary}.", OBJECT)}, **more),
    )


routes: list[BaseRoute] = [
    _route("GET", "/v1/now", now, "How it goes: pending by due time, outcomes, lateness, disk", query=_TIME),
    _route("GET", "/v1/forecast", forecast, "Pending by due time, and how long telling them takes", query=_TIME),
    _route(
        "GET",
        "/v1/due",
        due,
        "Pending waits, those due first",
        query=(
            Parameter("rule", "Of this rule."),
            Parameter("key_prefix", "On keys that start so."),
            Parameter("due_before", "Due before this time: epoch milliseconds or ISO 8601."),
            Parameter("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": 500}),
        ),
    ),
    _route("GET", "/v1/waits/{id}/outlook", outlook, "How long such a wait takes from here", problems=(404, 409, 503)),
    _route("GET", "/v1/waits/{id}/timeline", timeline_of, "What has come for a wait", problems=(404,)),
    _route(
        "GET",
        "/v1/insight/rules",
        rules,
        "How long waits of each rule took, in the last week",
        query=(Parameter("fresh", "Whether to read the folder anew.", {"type": "boolean"}),),
        problems=(503,),
    ),
    _route("POST", "/v1/what-if", what_if, "What other deadlines would have done", body=_WHAT_IF, problems=(404, 503)),
    _route("POST", "/v1/recommend", recommend, "The deadline for a share", body=_SHARE, problems=(404, 503)),
    _route("GET", "/v1/incidents", incidents, "What was done to many at once", tag="incidents"),
    _route(
        "POST",
        "/v1/incidents",
        act,
        "Stop or resume the clock of a rule, or shift deadlines",
        201,
        tag="incidents",
        scope="admin",
        body=_ACT,
        problems=(409,),
    ),
    _route(
        "POST",
        "/v1/incidents/{number}/undo",
        undo,
        "Take a shift back",
        201,
        tag="incidents",
        scope="admin",
        problems=(404,),
    ),
]
