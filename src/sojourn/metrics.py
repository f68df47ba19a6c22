"""Prometheus metrics of timers, purgatories, hubs and clusters, read from their `stats()` whenever they are scraped.

    from prometheus_client import REGISTRY
    from sojourn.metrics import Metrics

    REGISTRY.register(Metrics(timer, hub))

Between two scrapes this costs nothing. Names and meanings, beside Kafka's, are in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf
from typing import NamedTuple, Protocol

from .durable import DurableStats
from .hub import HubStats
from .kafka import ClusterStats
from .purgatory import PurgatoryStats
from .timer import LatenessHistogram, TimerStats

try:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise ImportError("sojourn.metrics needs the Prometheus client: pip install 'sojourn[metrics]'") from missing

Stats = TimerStats | PurgatoryStats | HubStats | DurableStats | ClusterStats
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


class Measured(Protocol):
    """A timer, a purgatory, a hub or a `sojourn.kafka.Cluster`."""

    name: str

    def stats(self) -> Stats: ...


class _Family(NamedTuple):
    kind: type[Family]
    name: str
    help: str
    labels: tuple[str, ...] = ()


_PENDING = _Family(GaugeMetricFamily, "sojourn_timer_pending", "Tasks pending.")
_TASKS = _Family(CounterMetricFamily, "sojourn_timer_tasks", "Tasks that left the timer, by how.", ("state",))
_SCHEDULED = _Family(CounterMetricFamily, "sojourn_timer_scheduled", "Tasks put in.")
_EXTENDED = _Family(CounterMetricFamily, "sojourn_timer_extended", "Tasks re-armed in place.")
_CASCADED = _Family(CounterMetricFamily, "sojourn_timer_cascaded", "Moves from an overflow wheel to a finer one.")
_LEVELS = _Family(GaugeMetricFamily, "sojourn_timer_levels", "Wheels in use.")
_BUCKETS = _Family(GaugeMetricFamily, "sojourn_timer_buckets_queued", "Buckets that are not empty.")
_LATENESS = _Family(HistogramMetricFamily, "sojourn_timer_lateness_seconds", "How late tasks ran after their deadline.")
_WATCHED = _Family(GaugeMetricFamily, "sojourn_purgatory_watched", "Operations on watch lists, once for each key.")
_DELAYED = _Family(GaugeMetricFamily, "sojourn_purgatory_delayed", "Operations pending.")
_OPERATIONS = _Family(
    CounterMetricFamily, "sojourn_purgatory_operations", "Operations that ended, by outcome.", ("outcome",)
)
_WAITING = _Family(GaugeMetricFamily, "sojourn_hub_pending", "Waits pending.")
_WAITS = _Family(CounterMetricFamily, "sojourn_hub_waits", "Waits that ended, by outcome.", ("outcome",))
_REMEMBERED = _Family(GaugeMetricFamily, "sojourn_hub_remembered", "Signals kept for waits that have not come yet.")
_OVERDUE = _Family(
    HistogramMetricFamily, "sojourn_hub_overdue_seconds", "How long after their deadline waits were told of it."
)
_KAFKA_WAITING = _Family(GaugeMetricFamily, "sojourn_kafka_waiting", "Operations that wait, by kind.", ("kind",))
_KAFKA_PRODUCES = _Family(
    CounterMetricFamily,
    "sojourn_kafka_produce_expired",
    "Produce requests that expired while the partition was pending.",
    ("topic", "partition"),
)
_KAFKA_FETCHES = _Family(
    CounterMetricFamily, "sojourn_kafka_fetch_expired", "Fetches that expired, by who fetches.", ("fetcher_type",)
)
_KAFKA_DELETES = _Family(
    CounterMetricFamily, "sojourn_kafka_delete_records_expired", "Partitions not deleted from everywhere in time."
)

Sample = tuple[_Family, tuple[str, ...], float | LatenessHistogram]


class Metrics(Collector):
    """A collector for `prometheus_client`: all metrics of these, by their names."""

    def __init__(self, *measured: Measured) -> None:
        self._measured: list[Measured] = list(measured)

    def add(self, measured: Measured) -> None:
        """From now on, this one too."""
        self._measured.append(measured)

    def collect(self) -> Iterable[Family]:
        families: dict[_Family, Family] = {}
        for measured in self._measured:
            for family, labels, value in _samples(measured.stats()):
                if family not in families:
                    families[family] = family.kind(family.name, family.help, labels=("name", *family.labels))
                _put(families[family], (measured.name, *labels), value)
        return families.values()


def _samples(stats: Stats) -> Iterator[Sample]:
    match stats:
        case TimerStats():
            yield _PENDING, (), stats.pending
            for state in ("expired", "cancelled", "undone"):
                yield _TASKS, (state,), getattr(stats, state)
            yield _SCHEDULED, (), stats.scheduled
            yield _EXTENDED, (), stats.extended
            yield _CASCADED, (), stats.cascaded
            yield _LEVELS, (), stats.levels
            yield _BUCKETS, (), stats.buckets_queued
            yield _LATENESS, (), stats.lateness
        case PurgatoryStats():
            yield _WATCHED, (), stats.watched
            yield _DELAYED, (), stats.delayed
            yield from _outcomes(_OPERATIONS, stats)
        case HubStats() | DurableStats():
            yield _WAITING, (), stats.pending
            yield from _outcomes(_WAITS, stats)
            yield _REMEMBERED, (), stats.remembered
            if stats.overdue is not None:
                yield _OVERDUE, (), stats.overdue
        case ClusterStats():
            yield from _cluster_samples(stats)


def _cluster_samples(stats: ClusterStats) -> Iterator[Sample]:
    for kind, count in stats.waiting.items():
        yield _KAFKA_WAITING, (kind,), count
    for partition, count in stats.expired_produces.items():
        yield _KAFKA_PRODUCES, (partition.topic, str(partition.partition)), count
    for fetcher_type, count in stats.expired_fetches.items():
        yield _KAFKA_FETCHES, (fetcher_type,), count
    yield _KAFKA_DELETES, (), stats.expired_delete_records


def _outcomes(family: _Family, stats: PurgatoryStats | HubStats | DurableStats) -> Iterator[Sample]:
    for outcome in ("completed", "expired", "cancelled"):
        yield family, (outcome,), getattr(stats, outcome)


def _put(family: Family, labels: Sequence[str], value: float | LatenessHistogram) -> None:
    match family, value:
        case HistogramMetricFamily(), LatenessHistogram():
            bounds = ("+Inf" if bound_ms == inf else repr(bound_ms / 1000) for bound_ms in value.bounds_ms)
            # The sum is not known: lateness is counted by powers of two. Quantiles need the buckets only.
            family.add_metric(labels, list(zip(bounds, accumulate(value.counts), strict=True)), sum_value=None)
        case ((CounterMetricFamily() | GaugeMetricFamily()), float() | int()):
            family.add_metric(labels, value)
