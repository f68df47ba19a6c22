"""/v1/rules: what waits can refer to by name."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...rules import Rule
from ..api import shapes
from ..api.endpoint import JSON, ApiRequest, ApiRoute, Docs, Parameter, answer
from ..api.problems import Problem, refused
from ..turns import acts

TOML = "application/toml"


_BODY = f"the body, which is taken as JSON unless its content-type is {TOML},"


async def put(request: ApiRequest) -> Response:
    request.allow("replace")
    name, body = request.path_params["name"], await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_toml = kind in (TOML, "text/toml", "text/x-toml") or (kind != JSON and body.lstrip().startswith((b"[", b"#")))
    rule = _from_toml(name, body) if is_toml else shapes.rule(shapes.parsed(body, _BODY), name)
    act = shapes.checked(lambda: acts.registering(request.service.verbs, rule, request.flag("replace")))
    is_new = await request.service.act(act)
    return answer(shapes.rule_shape(rule), 201 if is_new else 200)


def _from_toml(name: str, body: bytes) -> Rule:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, "not TOML", f"the body is not UTF-8: {error}") from None
    rule: Rule = shapes.checked(lambda: Rule.from_toml(text + "\n"))
    if rule.name != name:
        raise refused(f"name={rule.name!r} in the body is not {name!r}, as in the path", "name")
    return rule


async def get(request: ApiRequest) -> Response:
    name = request.path_params["name"]
    rules = await request.service.read(lambda state: {name: state.plans[n].rule for name, n in state.rules.items()})
    if name not in rules:
        known = ", ".join(rules) or "none"
        raise Problem(404, "no such rule", f"there is no rule {name!r}; known are: {known}", "name")
    return answer(shapes.rule_shape(rules[name]))


async def listing(request: ApiRequest) -> Response:
    rules = await request.service.read(lambda state: [state.plans[number].rule for number in state.rules.values()])
    return answer({"rules": [shapes.rule_shape(rule) for rule in rules]})


routes: list[BaseRoute] = [
    ApiRoute(
        "PUT",
        "/v1/rules/{name}",
        put,
        scope="write",
        docs=Docs(
            "Register a rule, as JSON or as a TOML file",
            tag="rules",
            about="Another one of the name is refused while waits that have it are pending.",
            query=(Parameter("replace", "Register it all the same, for the waits that follow.", {"type": "boolean"}),),
            body="NewRule",
            body_types=(JSON, TOML),
            answers={201: ("It is new.", "Rule"), 200: ("There was one of that name.", "Rule")},
            problems=(409,),
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/rules/{name}",
        get,
        scope="read",
        docs=Docs("Read a rule", tag="rules", answers={200: ("The rule.", "Rule")}, problems=(404,)),
    ),
    ApiRoute(
        "GET",
        "/v1/rules",
        listing,
        scope="read",
        docs=Docs("List the rules", tag="rules", answers={200: ("All of them.", "Rules")}),
    ),
]
