"""Metrics for Prometheus.

With several workers each of them answers for all: they share their counts through the files of
`PROMETHEUS_MULTIPROC_DIR`, which the command sets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

SHARED_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S: Final = (
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0
)  # fmt: skip


class Metrics:
    """What a worker counts."""

    def __init__(self, count_live: Callable[[], int]) -> None:
        """`count_live` says how many episodes are live in the database."""
        registry = CollectorRegistry()
        self._registry: Final = registry
        self._live: Final = _Live(count_live)
        self._requests: Final = Counter(
            "deskgym_requests", "Requests that were answered.", ("operation", "status"),
            registry=registry,
        )  # fmt: skip
        self._seconds: Final = Histogram(
            "deskgym_request_seconds", "How long requests took.", ("operation",),
            buckets=_BUCKETS_S, registry=registry,
        )  # fmt: skip
        self.steps: Final = Counter("deskgym_steps", "Steps that were answered.", registry=registry)
        self.created: Final = Counter(
            "deskgym_episodes_created", "Episodes that were started.", registry=registry
        )
        self.expired: Final = Counter(
            "deskgym_episodes_expired", "Episodes that stood idle for too long.", registry=registry
        )
        self._counters: Final[dict[tuple[str, int], Counter]] = {}
        self._histograms: Final[dict[str, Histogram]] = {}

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        counter = self._counters.get((operation, status))
        if counter is None:
            counter = self._requests.labels(operation, str(status))
            self._counters[operation, status] = counter
        histogram = self._histograms.get(operation)
        if histogram is None:
            histogram = self._histograms[operation] = self._seconds.labels(operation)
        counter.inc()
        histogram.observe(seconds)

    def exposition(self) -> bytes:
        """Everything, in Prometheus's text format."""
        registry = self._registry
        if SHARED_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        live = CollectorRegistry()
        live.register(self._live)
        return generate_latest(registry) + generate_latest(live)


class _Live(Collector):
    """The number of live episodes, which the database knows."""

    def __init__(self, count_live: Callable[[], int]) -> None:
        self._count_live: Final = count_live

    def collect(self) -> Iterator[Metric]:
        """The gauge, read now."""
        yield GaugeMetricFamily(
            "deskgym_episodes_live", "Episodes that are live in the database.", self._count_live()
        )
