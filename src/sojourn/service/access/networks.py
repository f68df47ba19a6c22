"""Networks by their names, as people write them in settings."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

from ...errors import ConfigError

Network = IPv4Network | IPv6Network


def network_of(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ConfigError(
            f"{text!r} is not a network; write an address, or a network such as 10.0.0.0/8 or fd00::/8"
        ) from None
