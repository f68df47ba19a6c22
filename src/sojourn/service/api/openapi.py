"""/openapi.json: OpenAPI 3.1, written from the routes themselves."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ... import __version__
from .endpoint import ApiRoute
from .problems import MEDIA_TYPE
from .schemas import SCHEMAS, ref

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.routing import BaseRoute

    from .endpoint import Parameter

_EVERYWHERE = (400, 401, 403, 405, 413, 422, 429, 503)
"""With these, every route may refuse."""


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, Any] = {}
    for route in routes:
        if isinstance(route, ApiRoute):
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sojourn",
            "version": __version__,
            "summary": "Waits that end exactly once: completed, expired or cancelled.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "Needed where the service has tokens."}
            },
        },
    }


def _operation(route: ApiRoute) -> dict[str, Any]:
    docs = route.docs
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": docs.summary,
        "tags": [docs.tag],
        "parameters": [_path_parameter(name) for name in route.names if name] + [_parameter(one) for one in docs.query],
        "responses": _responses(route),
        "security": [] if route.scope is None else [{"bearer": []}, {}],
    }
    if route.scope is not None:
        operation["x-scope"] = route.scope
    if docs.about:
        operation["description"] = docs.about
    if docs.body is not None:
        content = {kind: {"schema": _schema(docs.body)} for kind in docs.body_types if "toml" not in kind}
        content |= {kind: {"schema": {"type": "string"}} for kind in docs.body_types if "toml" in kind}
        operation["requestBody"] = {"required": docs.body_is_required, "content": content}
    return operation


def _operation_id(route: ApiRoute) -> str:
    words = route.path.replace("/v1/", "").replace(":", "/").replace(".", "/").split("/")
    return "-".join([route.method.lower(), *(word.strip("{}") for word in words if word)])


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.place,
        "required": False,
        "description": one.about,
        "schema": dict(one.schema),
    }


def _responses(route: ApiRoute) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, (meaning, schema) in route.docs.answers.items():
        content = {} if schema is None else {kind: {"schema": _schema(schema)} for kind in route.docs.answer_types}
        responses[str(status)] = {"description": meaning, "content": content}
    for status in sorted({*_EVERYWHERE, *route.docs.problems}):
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": ref("Problem")}},
        }
    return responses


def _schema(schema: str | Mapping[str, Any]) -> dict[str, Any]:
    return ref(schema) if isinstance(schema, str) else dict(schema)
