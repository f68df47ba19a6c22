"""Standard Webhooks (standardwebhooks.com): secrets, the headers of a message, and how a receiver checks them."""

from __future__ import annotations

import binascii
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

from ...errors import ConfigError

PREFIX = "whsec_"
FEWEST_BYTES, MOST_BYTES = 24, 64
TOLERANCE_S = 300
"""How old or new a message may look to a receiver: an older one may be a replay."""


def new_secret() -> str:
    return PREFIX + b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: object) -> bytes:
    """The key in a secret; `ConfigError` if it is not a valid one."""
    if isinstance(secret, str) and secret.startswith(PREFIX):
        try:
            key = b64decode(secret[len(PREFIX) :], validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if FEWEST_BYTES <= len(key) <= MOST_BYTES:
            return key
    raise ConfigError(  # without the value: it may be a secret with a typing error
        f"secret is not {PREFIX} and {FEWEST_BYTES} to {MOST_BYTES} bytes in base64; leave it out, and one is made"
    )


def signature(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + b64encode(hmac.digest(key_of(secret), signed, "sha256")).decode()


def headers(secrets_valid: Iterable[str], message_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """With a signature for each secret, so that a receiver may change its own when it likes."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(signature(one, message_id, timestamp_s, body) for one in secrets_valid),
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now_s: float) -> bool:
    """For receivers: whether a message was signed with this secret, not long before or after `now_s`.

    Header names are those of the standard, in small letters.
    """
    message_id, timestamp = headers.get("webhook-id"), headers.get("webhook-timestamp", "")
    if not message_id or not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 15:
        return False
    if abs(now_s - int(timestamp)) > TOLERANCE_S:
        return False
    expected = signature(secret, message_id, int(timestamp), body).encode()
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any([hmac.compare_digest(expected, one) for one in given])  # noqa: C419  (each is looked at, found or not)
