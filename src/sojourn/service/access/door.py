"""Who comes in: tokens and their scopes, and from which page a browser asks."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from ..api.problems import Problem
from ..settings import is_local
from .tokens import ANYBODY, Bearer

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from ..settings import Settings

_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Bucket:
    """So many requests per second, or at once after a pause. After a larger batch, the next request has to wait."""

    def __init__(self, per_second: int) -> None:
        self._per_second = self._left = float(per_second)
        self._at = monotonic()

    def has_some(self) -> bool:
        """Whether there is one left, which is taken then."""
        now = monotonic()
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def spend(self, count: int) -> None:
        self._left -= count


class Door:
    """Lets requests in, or refuses them with 401, 403 or 429."""

    def __init__(self, settings: Settings) -> None:
        self._tokens = settings.tokens
        self._is_local = is_local(settings.host)
        self._per_second = settings.limits.per_second
        self._buckets: dict[str, Bucket] = {}

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

    def lets_in(self, headers: dict[bytes, bytes], needed: str) -> bool:
        """Whether a request may come in; if not, `admit` says why."""
        bearer = ANYBODY
        if self._tokens:
            try:
                bearer = self._bearer(headers.get(b"authorization"))
            except Problem:
                return False
        elif not is_local(_without_port(headers.get(b"host", b"localhost").decode("latin-1"))):
            return False
        return bearer.may(needed) and (self._per_second is None or self._bucket(bearer).has_some())

    def count(self, bearer: Bearer, more: int) -> None:
        """Count what somebody does beyond one request, if there is a limit."""
        if self._per_second is not None:
            self._bucket(bearer).spend(more)

    def take(self, bearer: Bearer) -> None:
        """Count one request of somebody, if there is a limit; 429 if there were too many."""
        if self._per_second is not None and not self._bucket(bearer).has_some():
            raise Problem(
                429,
                "too many requests",
                f"{bearer.name!r} may ask {self._per_second:,} times per second, each line of a batch counted; "
                "ask again in a second",
                headers={"retry-after": "1"},
            )

    def _bucket(self, bearer: Bearer) -> Bucket:
        assert self._per_second is not None
        bucket = self._buckets.get(bearer.name)
        if bucket is None:
            bucket = self._buckets[bearer.name] = Bucket(self._per_second)
        return bucket

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
