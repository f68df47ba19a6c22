"""/metrics: those of the hub and its timer (`sojourn.metrics`), and those that only a service has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from ..metrics import Family, Metrics

if TYPE_CHECKING:
    from .service import Service


def exposition(service: Service) -> bytes:
    registry = CollectorRegistry()
    registry.register(Metrics(service.hub, service.hub.timer))
    registry.register(ServiceMetrics(service))
    return generate_latest(registry)


class ServiceMetrics(Collector):
    """Requests, streams, the log."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterable[Family]:
        service, stats = self._service, self._service.hub.stats()
        counters, log = service.counters, service.hub._engine.log
        requests = CounterMetricFamily("sojourn_http_requests", "Requests answered, by status.", labels=["status"])
        for status, count in sorted(counters.by_status.items()):
            requests.add_metric([str(status)], count)
        yield requests
        yield GaugeMetricFamily("sojourn_http_streams", "Open event streams.", counters.streams)
        yield GaugeMetricFamily("sojourn_outcomes_last_number", "Of the last outcome told.", stats.last_number)
        yield CounterMetricFamily("sojourn_log_written_bytes", "Written to the log.", log.written_bytes)
        yield GaugeMetricFamily("sojourn_log_failing", "1 while the disk refuses writes.", int(stats.is_failing))
        yield CounterMetricFamily("sojourn_clock_steps", "How often the wall clock was set.", stats.clock_steps)
