"""Fleets: one bandit for each of millions of users, pages or keywords (`handful.Fleet`)."""

from __future__ import annotations

from handful.fleet.fleet import Fleet
from handful.fleet.stats import FleetStats, Totals

__all__ = ["Fleet", "FleetStats", "Totals"]
