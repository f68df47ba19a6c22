"""The quota on changes to topics: a bucket of tokens, one per partition."""

from __future__ import annotations


class MutationQuota:
    """Refills by `rate` tokens per second, up to `rate * burst_s`. As in Kafka a change may overdraw the bucket; then
    the next must wait until it is no longer overdrawn."""

    def __init__(self, rate: int | None, burst_s: int, now: int) -> None:
        self._rate = rate
        self._most = (rate or 0) * burst_s * 1_000
        self._tokens = self._most
        """In thousandths: so `rate` tokens per second are `rate` thousandths per millisecond."""
        self._filled_ms = now

    def throttle_ms(self, now: int) -> int:
        """How long to wait until a change is allowed; 0 if it is now."""
        if self._rate is None:
            return 0
        self._tokens = min(self._most, self._tokens + self._rate * (now - self._filled_ms))
        self._filled_ms = now
        return -(-max(0, -self._tokens) // self._rate)

    def take(self, partitions: int) -> None:
        """This many partitions have been created or deleted."""
        if self._rate is not None:
            self._tokens -= partitions * 1_000
