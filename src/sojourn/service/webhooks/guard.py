"""Where webhooks may go. A URL comes from outside, and must not be a way into the network that the service is in.

The name is resolved for every connection, each address is judged, and the connection is made to an address that was
judged: a name that points elsewhere a moment later (DNS rebinding) gains nothing. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..access.networks import network_of

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]

NAT64 = ip_network("64:ff9b::/96")
MOST_URL = 2_000
RESOLVE_S = 10


class RefusedError(ConfigError):
    """A URL or an address that webhooks may not go to."""

    field = "url"


class Target(NamedTuple):
    """A URL, taken apart."""

    url: str
    is_secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"


async def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Guard:
    """`allowed` are networks that webhooks may go to though they are private, and in the clear."""

    def __init__(self, allowed: Iterable[str] = (), resolve: Resolve = resolve) -> None:
        self.allowed = tuple(map(network_of, allowed))
        self._resolve = resolve

    async def addresses(self, target: Target) -> list[str]:
        """The addresses of a target, to be used as they are; `RefusedError` if one of them is not allowed.

        One is enough: a name with a public and a private address is either a mistake or an attempt.
        """
        try:
            async with asyncio.timeout(RESOLVE_S):
                found = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            why = str(error) or f"no answer within {RESOLVE_S} s"
            raise RefusedError(f"url={target.url!r}: host {target.host!r} cannot be resolved: {why}") from None
        for text in found:
            self._judge(target, text)
        return found

    def _judge(self, target: Target, text: str) -> None:
        address = embedded(ip_address(text.partition("%")[0]))
        if any(address in network for network in self.allowed if network.version == address.version):
            return
        if not is_public(address):
            raise RefusedError(
                f"url={target.url!r}: {target.host!r} is {text}, which is not a public address; webhooks go there only "
                f"if the service allows its network: --webhooks-to {address}"
            )
        if not target.is_secure:
            raise RefusedError(f"url={target.url!r} is not https; outcomes cross a public network only encrypted")


def is_public(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or _is_site_local(address))


def _is_site_local(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.is_site_local


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does: there is more than one way to write 127.0.0.1."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address.teredo is not None:
            return address.teredo[1]
        if address in NAT64 or 1 < int(address) < 2**32:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def target_of(url: object) -> Target:
    """A URL, taken apart; `RefusedError` if nothing can be sent there."""
    if not isinstance(url, str) or len(url) > MOST_URL:
        raise RefusedError(f"url={url!r:.100} is not a text of at most {MOST_URL} characters")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise RefusedError(f"url={url!r} has characters that a URL has not; percent-encode them")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise RefusedError(f"url={url!r} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise RefusedError(f"url={url!r} is not a URL to send to, such as https://example.org/hooks")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise RefusedError(f"url={parts.scheme}://{host} has a user, a password or a fragment; leave them out")
    is_secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(url, is_secure, host, port or (443 if is_secure else 80), path)
