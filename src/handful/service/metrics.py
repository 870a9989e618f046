"""Prometheus metrics of the service.

Requests are counted in plain integers, which a collector converts to metrics when they are read:
each counter of prometheus-client would take a lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Times:
    """How long requests to a route took."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        """For each of the buckets, and beyond the last: not added up."""
        self.total = 0.0


class Counts(Collector):
    """What is counted for every request."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.rewards: Counter[str] = Counter()
        self.decisions = 0
        self.times: dict[str, Times] = {}

    def collect(self) -> Iterator[CounterMetricFamily | HistogramMetricFamily]:
        """Yield the metrics as Prometheus has them."""
        requests = CounterMetricFamily(
            "handful_requests", "Requests by route and status.", labels=("route", "status")
        )
        for (route, status), count in sorted(self.requests.items()):
            requests.add_metric((route, str(status)), count)
        yield requests
        seconds = HistogramMetricFamily(
            "handful_request_seconds", "Time from a request to its answer.", labels=("route",)
        )
        for route, times in sorted(self.times.items()):
            so_far = 0
            buckets = []
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), times.counts, strict=True):
                so_far += count
                buckets.append((bound, so_far))
            seconds.add_metric((route,), buckets, times.total)
        yield seconds
        yield CounterMetricFamily(
            "handful_decisions", "Decisions that were made.", value=self.decisions
        )
        rewards = CounterMetricFamily(
            "handful_rewards", "Rewards by what became of them.", labels=("outcome",)
        )
        for outcome, count in sorted(self.rewards.items()):
            rewards.add_metric((outcome,), count)
        yield rewards


class Metrics:
    """What is counted while the service runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.counts = Counts()
        self.registry.register(self.counts)
        self.waiting = Gauge(
            "handful_requests_waiting", "Requests in the queue.", registry=self.registry
        )
        self.batches = Gauge(
            "handful_commits", "Transactions since the start.", registry=self.registry
        )
        self.live = Gauge("handful_bandits_in_memory", "Bandits in memory.", registry=self.registry)
        self.bytes = Gauge("handful_store_bytes", "The size of the store.", registry=self.registry)
        self.failing = Gauge(
            "handful_store_failing", "1 if the last commit failed.", registry=self.registry
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request and its time."""
        counts = self.counts
        counts.requests[route, status] += 1
        times = counts.times.get(route)
        if times is None:
            times = counts.times[route] = Times()
        times.counts[bisect_left(BUCKETS, seconds)] += 1
        times.total += seconds

    def decided(self, n: int) -> None:
        """Count decisions."""
        self.counts.decisions += n

    def rewarded(self, outcome: str) -> None:
        """Count a reward by what became of it."""
        self.counts.rewards[outcome] += 1

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
