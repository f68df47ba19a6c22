"""The settings of a cluster, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Kafka's name is in the comment where it differs by more than dots."""

    replica_lag_ms: int = 30_000  # replica.lag.time.max.ms
    replica_fetch_wait_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_backoff_ms: int = 1_000
    replica_fetch_timeout_ms: int = 2_000
    """A follower's fetch that is not answered this long after its wait counts as lost; in Kafka, a socket timeout."""
    replica_fetchers: int = 1  # num.replica.fetchers
    """How many fetchers a follower runs per leader; each has its share of the partitions."""
    heartbeat_ms: int = 2_000  # broker.heartbeat.interval.ms
    session_ms: int = 9_000  # broker.session.timeout.ms
    """A broker that the controller has not heard from for this long is fenced: it leads nothing, is in sync nowhere."""
    group_initial_delay_ms: int = 3_000  # group.initial.rebalance.delay.ms
    group_min_session_ms: int = 6_000
    group_max_session_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    group_new_member_join_ms: int = 300_000
    """A member that joins for the first time and has waited this long is dropped; in Kafka, a constant."""
    mutation_rate: int | None = None  # controller_mutation_rate
    """How many partitions may be created or deleted per second; None for any number."""
    mutation_burst_s: int = 10
    """How many seconds' worth of changes may come at once."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("replica_fetch_wait_ms", "group_initial_delay_ms") else 1
            if value is not None and value < least:
                raise ConfigError(f"{field.name}={value} is less than {least}")
