"""Bearer tokens: who may read, write, or do everything. They are compared in constant time, and never kept as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from hmac import compare_digest
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import ConfigError

Scope = Literal["read", "write", "admin"]
SCOPES: dict[str, int] = {"read": 1, "write": 2, "admin": 3}
"""Each includes those before it."""

SHORTEST = 16
_LEGAL = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_FORM = "write one per line: NAME SCOPE TOKEN, as in `orders write 5f0c...`"


class Bearer(NamedTuple):
    """Who a token stands for."""

    name: str
    scope: str
    digest: bytes

    def may(self, scope: str) -> bool:
        return SCOPES[self.scope] >= SCOPES[scope]


ANYBODY = Bearer("anybody", "admin", b"")
"""Who asks where there are no tokens: only this machine can."""


class Tokens:
    """All tokens of a service; none at all if it is empty."""

    def __init__(self, bearers: Iterable[Bearer] = ()) -> None:
        self._bearers = tuple(bearers)

    def __len__(self) -> int:
        return len(self._bearers)

    def __repr__(self) -> str:
        return f"<Tokens of {', '.join(bearer.name for bearer in self._bearers) or 'nobody'}>"

    def find(self, token: str) -> Bearer | None:
        """Whose token it is. Takes equally long for every token, valid or not."""
        digest = sha256(token.encode("utf-8", "replace")).digest()
        found = None
        for bearer in self._bearers:
            if compare_digest(bearer.digest, digest):
                found = bearer
        return found

    @staticmethod
    def read(path: str | PathLike[str]) -> Tokens:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"tokens {str(path)!r} cannot be read: {error}") from None
        return Tokens.parse(text, str(path))

    @staticmethod
    def parse(text: str, where: str = "SOJOURN_TOKENS") -> Tokens:
        """From lines, or parts between semicolons, of the form NAME SCOPE TOKEN; `#` begins a remark."""
        bearers: list[Bearer] = []
        for number, line in enumerate(re.split(r"[\n;]", text), 1):
            words = line.split("#", 1)[0].split()
            if words:
                bearers.append(_bearer(words, f"{where}, line {number}"))
                _refuse_twice(bearers, f"{where}, line {number}")
        if not bearers:
            raise ConfigError(f"{where} has no token; {_FORM}")
        return Tokens(bearers)


def _bearer(words: list[str], where: str) -> Bearer:
    if len(words) != 3:
        raise ConfigError(f"{where}: {len(words)} words where three are expected; {_FORM}")
    name, scope, token = words
    if scope not in SCOPES:
        raise ConfigError(f"{where}: scope {scope!r} is not known; allowed are {', '.join(SCOPES)}")
    if len(token) < SHORTEST or not _LEGAL.fullmatch(token):
        raise ConfigError(
            f"{where}: the token of {name!r} is not one; at least {SHORTEST} letters, digits or any of -._~+/ are "
            "needed: make one with `openssl rand -hex 24`"
        )
    return Bearer(name, scope, sha256(token.encode()).digest())


def _refuse_twice(bearers: list[Bearer], where: str) -> None:
    *before, last = bearers
    for bearer in before:
        if bearer.name == last.name or bearer.digest == last.digest:
            what = "name" if bearer.name == last.name else "token"
            raise ConfigError(f"{where}: the {what} of {last.name!r} is given twice; give each its own")
