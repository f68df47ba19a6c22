"""/v1/webhooks: who is told of outcomes, and how that goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...rules.outcome import ENDED
from ..api.endpoint import ApiRequest, ApiRoute, Docs, Parameter, answer
from ..api.problems import Problem, refused
from ..api.shapes import a_bool, a_text, an_object, checked, duration, parsed
from .store import Delivery, Webhook
from .webhooks import Webhooks

if TYPE_CHECKING:
    from .part import WebhooksPart

_NEW = ("url", "id", "rule", "outcomes", "secret", "after")
_CHANGES = ("url", "rule", "outcomes", "enabled")
PAGE, LONGEST_PAGE = 100, 1_000
STATUSES = ("waiting", "dead", "delivered")

Handle = Callable[[Webhooks, ApiRequest], Awaitable[Response]]


def hook_shape(hook: Webhook) -> dict[str, Any]:
    """Without its secrets: they are shown once, when they are made."""
    return {
        "id": hook.id,
        "url": hook.url,
        "rule": hook.rule,
        "outcomes": None if hook.outcomes is None else list(hook.outcomes),
        "created_at": hook.created_at,
        "enabled": hook.disabled is None,
        "disabled_because": hook.disabled,
    }


def delivery_shape(delivery: Delivery) -> dict[str, Any]:
    outcome = delivery.outcome or {}
    return {**delivery._asdict(), "outcome": {name: outcome.get(name) for name in ("operation_id", "rule", "outcome")}}


async def full_shape(webhooks: Webhooks, hook: Webhook) -> dict[str, Any]:
    return {**hook_shape(hook), **await webhooks.standing(hook.id)}


def found(webhooks: Webhooks, request: ApiRequest) -> Webhook:
    hook = webhooks.get(request.path_params["id"])
    if hook is None:
        raise Problem(404, "no such webhook", f"there is no webhook {request.path_params['id']!r}", "id")
    return hook


async def post(webhooks: Webhooks, request: ApiRequest) -> Response:
    body = an_object(await request.shape(), _NEW)
    url = a_text(body.get("url"), "url")
    given = {name: value for name, value in body.items() if name != "url" and value is not None}
    hook, is_new = await webhooks.add(url, **given)
    shape = await full_shape(webhooks, hook)
    return answer({**shape, "secret": hook.secret} if is_new else shape, 201 if is_new else 200)


async def listing(webhooks: Webhooks, request: ApiRequest) -> Response:
    request.allow()
    return answer({"webhooks": [await full_shape(webhooks, hook) for hook in webhooks.list()]})


async def get(webhooks: Webhooks, request: ApiRequest) -> Response:
    return answer(await full_shape(webhooks, found(webhooks, request)))


async def patch(webhooks: Webhooks, request: ApiRequest) -> Response:
    hook, body = found(webhooks, request), an_object(await request.shape(), _CHANGES)
    if "url" in body:
        a_text(body["url"], "url")
    if "enabled" in body:
        a_bool(body["enabled"], "enabled")
    return answer(await full_shape(webhooks, await webhooks.change(hook.id, **body)))


async def delete(webhooks: Webhooks, request: ApiRequest) -> Response:
    hook = found(webhooks, request)
    await webhooks.remove(hook.id)
    return answer(hook_shape(hook))


async def rotate(webhooks: Webhooks, request: ApiRequest) -> Response:
    hook, data = found(webhooks, request), await request.body()
    body = an_object(parsed(data) if data else {}, ("secret", "keep_old"))
    keep_ms = duration(body.get("keep_old", "1 day"), "keep_old")
    changed = await webhooks.rotate(hook.id, body.get("secret"), keep_ms)
    return answer({**hook_shape(changed), "secret": changed.secret, "old_until": changed.old_until})


async def deliveries(webhooks: Webhooks, request: ApiRequest) -> Response:
    request.allow("status", "after", "limit")
    hook, status = found(webhooks, request), request.query_params.get("status")
    if status is not None and status not in STATUSES:
        raise refused(f"status={status!r} is not known; allowed are {', '.join(STATUSES)}", "status")
    limit = request.whole("limit", PAGE, 1, LONGEST_PAGE)
    some = await webhooks.deliveries(hook.id, status, request.whole("after", 0), limit)
    following = some[-1].number if len(some) == limit else None
    return answer({"deliveries": [delivery_shape(one) for one in some], "next": following})


async def retry(webhooks: Webhooks, request: ApiRequest) -> Response:
    """One delivery, or all of the webhook."""
    hook, text = found(webhooks, request), request.path_params.get("number")
    if text is None:
        return answer({"retried": await webhooks.retry(hook.id)})
    number = checked(lambda: int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1)
    if not await webhooks.retry(hook.id, number):
        raise Problem(404, "no such delivery", f"outcome {text} is neither waiting nor dead for {hook.id!r}", "number")
    return answer({"retried": 1})


# What /openapi.json says

_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
_BOOL: dict[str, Any] = {"type": "boolean"}
_DURATION: dict[str, Any] = {"type": ["string", "integer"]}
_OUTCOMES: dict[str, Any] = {"type": "array", "minItems": 1, "items": {"type": "string", "enum": list(ENDED)}}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


_HOOK: dict[str, Any] = {
    "id": _TEXT,
    "url": _TEXT,
    "rule": _or_null(_TEXT),
    "outcomes": _or_null(_OUTCOMES),
    "created_at": {"type": "integer"},
    "enabled": _BOOL,
    "disabled_because": _or_null(_TEXT),
}
_STANDING: dict[str, Any] = {"after": _WHOLE, "behind": _WHOLE, "is_down": _BOOL, "waiting": _WHOLE, "dead": _WHOLE}
_WEBHOOK = _object(tuple(_HOOK), **_HOOK, **_STANDING, secret=_TEXT)
_DELIVERY = _object(
    number=_WHOLE,
    status={"type": "string", "enum": list(STATUSES)},
    attempts=_WHOLE,
    next_at=_or_null({"type": "integer"}),
    last_at=_or_null({"type": "integer"}),
    last_status=_or_null({"type": "integer"}),
    last_error=_or_null(_TEXT),
    outcome={"type": "object"},
)


def make_routes(part: WebhooksPart) -> list[BaseRoute]:
    def route(method: str, path: str, handle: Handle, scope: Any, docs: Docs) -> ApiRoute:
        async def handler(request: ApiRequest) -> Response:
            return await handle(part.webhooks, request)

        return ApiRoute(method, f"/v1/webhooks{path}", handler, scope=scope, docs=docs)

    def docs(summary: str, answers: dict[int, Any], about: str = "", **more: Any) -> Docs:
        problems = more.pop("problems", (404,))
        return Docs(summary, tag="webhooks", about=about, answers=answers, problems=problems, **more)

    one = {200: ("The webhook.", _WEBHOOK)}
    retried = {200: ("How many.", _object(("retried",), retried=_WHOLE))}
    return [
        route(
            "POST",
            "",
            post,
            "admin",
            docs(
                "Have outcomes sent to a URL",
                {201: ("It is new, with its secret.", _WEBHOOK), 200: ("It was there: the same.", _WEBHOOK)},
                "All outcomes from now on; only of a `rule`, only some `outcomes`, or `after` a number. Messages are "
                "CloudEvents, signed as Standard Webhooks have it, and come at least once.",
                body=_object(("url",), url=_TEXT, id=_TEXT, rule=_TEXT, outcomes=_OUTCOMES, secret=_TEXT, after=_WHOLE),
                problems=(409,),
            ),
        ),
        route(
            "GET",
            "",
            listing,
            "read",
            docs(
                "List the webhooks",
                {200: ("All of them.", _object(("webhooks",), webhooks={"type": "array", "items": _WEBHOOK}))},
                problems=(),
            ),
        ),
        route("GET", "/{id}", get, "read", docs("Read a webhook, and how it is doing", one)),
        route(
            "PATCH",
            "/{id}",
            patch,
            "admin",
            docs(
                "Change a webhook",
                one,
                "What came while it was not `enabled` is sent once it is.",
                body=_object(url=_TEXT, rule=_or_null(_TEXT), outcomes=_or_null(_OUTCOMES), enabled=_BOOL),
            ),
        ),
        route(
            "DELETE",
            "/{id}",
            delete,
            "admin",
            docs("Remove a webhook", {200: ("What it was.", _object(tuple(_HOOK), **_HOOK))}),
        ),
        route(
            "POST",
            "/{id}/rotate",
            rotate,
            "admin",
            docs(
                "Give a webhook a new secret",
                {200: ("With the secret.", _object(("secret",), **_HOOK, secret=_TEXT, old_until=_WHOLE))},
                "Messages are signed with the old one as well for as long as `keep_old`.",
                body=_object(secret=_TEXT, keep_old=_DURATION),
                body_is_required=False,
            ),
        ),
        route(
            "GET",
            "/{id}/deliveries",
            deliveries,
            "read",
            docs(
                "What was delivered, waits for another attempt, or is dead",
                {
                    200: (
                        "A page.",
                        _object(
                            ("deliveries", "next"),
                            deliveries={"type": "array", "items": _DELIVERY},
                            next=_or_null(_WHOLE),
                        ),
                    )
                },
                "Of those that were delivered the last hundred since the service started.",
                query=(
                    Parameter("status", "Only these.", {"type": "string", "enum": list(STATUSES)}),
                    Parameter("after", "The `next` of the page before.", _WHOLE),
                    Parameter("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE}),
                ),
            ),
        ),
        route("POST", "/{id}/deliveries/{number}/retry", retry, "admin", docs("Try one again now", retried)),
        route("POST", "/{id}/retry", retry, "admin", docs("Try all that wait or are dead again now", retried)),
    ]
