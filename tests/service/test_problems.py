from __future__ import annotations

import msgspec

from handful.service.bodies import ProblemShown
from handful.service.openapi import COMMON_REFUSALS
from handful.service.problems import TITLES, Problem


def test_a_problem_as_json() -> None:
    problem = Problem(409, "take another name \x00 é \U0001f400", retry_after=3)
    shown = msgspec.json.decode(problem.body("id-1"), type=ProblemShown)
    assert shown == ProblemShown("about:blank", "Conflict", 409, problem.detail, "id-1")
    assert str(problem) == problem.detail


def test_every_status_has_a_title() -> None:
    assert set(COMMON_REFUSALS) <= set(TITLES)
    assert Problem(418, "x").title
