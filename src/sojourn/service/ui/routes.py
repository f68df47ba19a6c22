"""The files of the page, with a policy for the browser: no script, style or image but these; nobody may frame it."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


def _read() -> dict[str, tuple[bytes, str, str]]:
    """Each file: its content, its type and its tag."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        content = file.read_bytes()
        kind = TYPES[file.name.rpartition(".")[2]]
        found[file.name] = content, f"{kind}; charset=utf-8", f'"{sha256(content).hexdigest()[:16]}"'
    return found


FILES = _read()


async def page(request: Request) -> Response:
    return _answer(request, "index.html")


async def file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response("there is no such file", 404, HEADERS, "text/plain")
    return _answer(request, name)


async def without_slash(request: Request) -> Response:
    """Relative addresses in the page are meant from /ui on."""
    return RedirectResponse("../ui")


def _answer(request: Request, name: str) -> Response:
    content, kind, tag = FILES[name]
    headers = {**HEADERS, "etag": tag, "content-type": kind}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers)


routes: list[BaseRoute] = [
    Route("/ui", page, methods=["GET"]),
    Route("/ui/", without_slash, methods=["GET"]),
    Route("/ui/{name}", file, methods=["GET"]),
]
