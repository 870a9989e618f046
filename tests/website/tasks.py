"""What a newcomer must find within two clicks from the front page, and a walk over links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

CLICKS = 2


class Task(NamedTuple):
    """Something to do, the page that tells how, and the heading or anchor of the place."""

    what: str
    page: str
    anchor: str


TASKS = (
    Task("install the library and run a first policy", "tutorial", "a-first-policy"),
    Task("choose a policy and a memory", "choosing", "how-much-memory"),
    Task("take in rewards that come late or never", "recipes", "rewards-that-never-come"),
    Task("find the settings and the formula of a policy", "policies/ucb-m", "definition"),
    Task("serve decisions over HTTP", "service", "first-decisions"),
    Task("see the fields of an HTTP request", "http-api", "newdecisions"),
    Task("give each of a million users a bandit", "fleets", "decisions-and-rewards"),
    Task("compare two policies with an interval", "notebooks/comparing", "more-memory"),
    Task("simulate on data of one's own", "data", "a-file-as-an-instance"),
    Task("learn from a log what another policy would earn", "replay", "an-example"),
)


def clicks(start: str, links_of: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Return how many clicks each page is away, for those at most `CLICKS` away."""
    away = {start: 0}
    reached = [start]
    for page in reached:
        if away[page] < CLICKS:
            for link in links_of(page):
                if link not in away:
                    away[link] = away[page] + 1
                    reached.append(link)
    return away
