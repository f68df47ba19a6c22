"""Who comes in: tokens and their scopes, and from which page a browser asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .problems import Problem
from .settings import is_local
from .tokens import ANYBODY, Bearer

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from .settings import Settings

_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Door:
    """Lets requests in, or refuses them with 401, 403 or 429."""

    def __init__(self, settings: Settings) -> None:
        self._tokens = settings.tokens
        self._is_local = is_local(settings.host)

    def admit(self, scope: MutableMapping[str, Any], needed: str | None) -> Bearer:
        """Who asks; `needed` is the scope that a route needs, None if it is for everybody."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._refuse_other_pages(scope["method"], headers)
        if needed is None or not self._tokens:
            return ANYBODY
        bearer = self._bearer(headers.get(b"authorization"))
        if not bearer.may(needed):
            raise Problem(
                403, "scope", f"token of {bearer.name!r} has scope {bearer.scope!r}, and this needs {needed!r}"
            )
        return bearer

    def _bearer(self, given: bytes | None) -> Bearer:
        kind, _, token = (given or b"").partition(b" ")
        bearer = self._tokens.find(token.strip().decode("latin-1")) if kind.lower() == b"bearer" else None
        if bearer is None:
            why = "there is no token" if given is None else "the token is not known"
            raise Problem(
                401,
                "token",
                f"{why}; send the header `Authorization: Bearer TOKEN`",
                headers={"www-authenticate": 'Bearer realm="sojourn"'},
            )
        return bearer

    def _refuse_other_pages(self, method: str, headers: dict[bytes, bytes]) -> None:
        """A page from elsewhere, open in a browser on this machine, must not reach what only this machine may."""
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and not self._tokens and host and not is_local(_without_port(host)):
            raise Problem(
                403, "host", f"host {host!r} is not this machine; ask for 127.0.0.1 or localhost, or use tokens"
            )
        origin = headers.get(b"origin")
        if origin is not None and method in _CHANGING and origin.decode("latin-1").partition("://")[2] != host:
            raise Problem(403, "origin", f"a page of {origin.decode('latin-1')!r} must not write here")


def _without_port(host: str) -> str:
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
