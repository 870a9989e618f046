"""What a request reads from the store, as far as is known before it runs.

From a store that several servers share, everything that a batch of requests will need is read in a
few round trips (`shared.py`). A store of a single process does not use this module.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from handful.service.bodies import NewDecisions, Rewards


class About(NamedTuple):
    """What a request reads from the store, as far as is known before it runs."""

    names: tuple[str, ...] = ()
    """Names of bandits."""
    decisions: tuple[str, ...] = ()
    """Ids of decisions."""
    rows: int = 1
    """Rows that it will write, about."""


NOTHING = About()


def about(path: dict[str, str], body: Any) -> About:
    """Return what a request is about, by its path and its body."""
    names = (path["name"],) if "name" in path else ()
    if isinstance(body, NewDecisions):
        return About(names, rows=body.n)
    if isinstance(body, Rewards):
        ids = tuple(each.id for each in body.rewards if each.id is not None)
        named = {each.bandit for each in body.rewards if each.bandit is not None}
        return About(tuple(sorted(named)), ids, len(body.rewards))
    return About(names, (path["id"],) if "id" in path else ())
