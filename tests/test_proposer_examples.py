"""The examples of proposers, run small."""

from __future__ import annotations

import re
import sys
from runpy import run_path
from typing import Any

import pytest

from handful import ArmStats
from tests.pages import ROOT


def printed_by(
    name: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    path = str(ROOT / "examples" / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [path, *words])
    run_path(path, run_name="__main__")
    return capsys.readouterr().out


def example(name: str) -> dict[str, Any]:
    return run_path(str(ROOT / "examples" / f"{name}.py"))


def test_prompts_that_are_rewritten_solve_more_than_prompts_at_random(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = printed_by("rewriting", ["--tasks", "3000"], monkeypatch, capsys)
    at_random, rewritten = map(int, re.findall(r"(\d+)% of the tasks", printed))
    assert 50 < at_random < rewritten
    assert printed.count("recommended (solves ") == 2


def test_prompts_may_be_written_ahead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = printed_by("rewriting", ["--tasks", "1000", "--ahead"], monkeypatch, capsys)
    at_random, rewritten = map(int, re.findall(r"(\d+)% of the tasks", printed))
    # The first prompt solves 30%: others came, and were better.
    assert 45 < at_random < rewritten


def test_the_stand_in_is_shown_the_prompts_and_answers_with_one() -> None:
    parts = example("rewriting")
    memory = tuple(
        ArmStats(prompt, n, 0, mean, low, 1.0, False)
        for prompt, n, mean, low in [
            (parts["FIRST"], 10, 0.3, 0.1),
            ("Check twice, then answer with sources for an expert and stop.", 20, 0.6, 0.4),
            ("Guess in rhyme for a child and apologise.", 0, float("nan"), 0.0),
        ]
    )
    text = parts["message"](memory)
    assert text.splitlines()[1].startswith("60% of 20 tasks: Check twice")
    assert len(text.splitlines()) == 3
    model = parts["Model"](1)
    for _ in range(50):
        prompt = model(memory)
        assert all(any(part in prompt for part in options) for options in parts["PARTS"])
        assert prompt.endswith(".")


def test_hyper_parameters_that_are_changed_cost_fewer_bad_trainings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = printed_by("hyperparameters", ["--trainings", "1000"], monkeypatch, capsys)
    blind, mutated = (float(mean) for mean in re.findall(r"(\d\.\d+) over all", printed))
    # A score has the standard error 0.04 or so; the means, of 1000, 0.002.
    assert mutated > blind + 0.01 > 0.7
    assert all(float(a) > 0.85 for a in re.findall(r"accuracy (\d\.\d+)", printed))
