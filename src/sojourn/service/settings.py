"""What a service is told when it starts. Everything is checked here, before anything is opened."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from .._arguments import check_whole
from ..durable.index.cold import MEMORY
from ..errors import ConfigError
from ..rules.duration import Duration
from .access.networks import network_of
from .access.tokens import Tokens

PORT = 7420
LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True)
class Limits:
    """Beyond these, requests are refused with an answer that says which limit it was."""

    body_bytes: int = 1 << 20
    """Of one request; `batch_bytes` of one to /v1/batch."""
    batch_bytes: int = 64 << 20
    connections: int = 12_000
    pending: int | None = None
    """Waits."""
    per_second: int | None = None
    """Requests per token; lines, of a batch."""
    request_s: int = 60
    """How long a request may take to arrive."""
    longest_wait_ms: int = 300_000
    """How long a request may wait for something to happen."""

    def __post_init__(self) -> None:
        for name in ("body_bytes", "batch_bytes", "connections", "request_s", "longest_wait_ms"):
            check_whole(name, getattr(self, name), 1, 2**40)
        for name in ("pending", "per_second"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1, 2**40)


@dataclass(frozen=True)
class Settings:
    """`tls` is a certificate and its key; `tls_elsewhere` says that a proxy in front has them."""

    data: str
    host: str = "127.0.0.1"
    port: int = PORT
    name: str = "sojourn"
    sync: Literal["always", "os"] = "always"
    clock: Literal["system", "manual"] = "system"
    tokens: Tokens = field(default_factory=Tokens)
    tls: tuple[str, str] | None = None
    tls_elsewhere: bool = False
    limits: Limits = field(default_factory=Limits)
    memory: int = MEMORY
    """About how many bytes pending waits may take."""
    remember: Duration | None = None
    remember_ids: Duration = "1 day"
    recover_grace: Duration = 0
    max_step: Duration = "7 days"
    keep: Duration = "7 days"
    keep_bytes: int | None = None
    archive: bool | None = None
    log_requests: Literal["all", "failed", "none"] = "failed"
    webhooks_to: tuple[str, ...] = ()
    """Private networks that webhooks may go to."""
    drain_s: int = 10
    """How long requests that are under way may take when the service is told to stop."""

    def __post_init__(self) -> None:
        check_whole("port", self.port, 0, 65_535)
        check_whole("drain_s", self.drain_s, 0, 3_600)
        if self.clock not in ("system", "manual"):
            raise ConfigError(f'clock={self.clock!r} is not known; allowed are "system" and "manual"')
        for network in self.webhooks_to:
            network_of(network)
        self._refuse_public()

    def _refuse_public(self) -> None:
        """Refuse a public address without tokens and TLS: anyone could do anything, or read along."""
        if is_local(self.host):
            return
        if not self.tokens:
            raise ConfigError(
                f"host={self.host!r} can be reached from other machines, and there are no tokens: anybody could write; "
                "give a file with --tokens (or SOJOURN_TOKENS), or listen on 127.0.0.1"
            )
        if self.tls is None and not self.tls_elsewhere:
            raise ConfigError(
                f"host={self.host!r} can be reached from other machines, and there is no TLS: tokens could be read on "
                "the way; give --tls-cert and --tls-key, say --tls-elsewhere if a proxy in front has them, or listen "
                "on 127.0.0.1"
            )


@lru_cache(maxsize=100)
def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
