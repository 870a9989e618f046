"""Prometheus metrics of the service."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
    """What is counted while the service runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "handful_requests_total",
            "Requests by route and status.",
            ("route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "handful_request_seconds",
            "Time from a request to its answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.decisions = Counter(
            "handful_decisions_total", "Decisions that were made.", registry=self.registry
        )
        self.rewards = Counter(
            "handful_rewards_total",
            "Rewards by what became of them.",
            ("outcome",),
            registry=self.registry,
        )
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

        self._rewarded: dict[str, Counter] = {}
        self._answered: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request and its time."""
        found = self._answered.get((route, status))
        if found is None:
            found = self.requests.labels(route, str(status)), self.seconds.labels(route)
            self._answered[route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def rewarded(self, outcome: str) -> None:
        """Count a reward by what became of it."""
        found = self._rewarded.get(outcome)
        if found is None:
            found = self._rewarded[outcome] = self.rewards.labels(outcome)
        found.inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
