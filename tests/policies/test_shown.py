"""How every policy is shown: as text and in a notebook."""

from __future__ import annotations

import random

from tests.helpers import drive, new
from tests.policies.checked import (
    KINDS,
    every_policy,
    every_policy_and_kind,
    mid_way,
)


@every_policy_and_kind
def test_repr_is_a_table_of_the_arms_in_memory(name: str, kind: str) -> None:
    policy = mid_way(name, KINDS[kind](), selected=True)
    head, titles, *rows, foot = repr(policy).splitlines()
    assert head.startswith(f"{type(policy).__name__}(arms={policy.n_arms}, memory=3")
    assert titles.split() == ["arm", "in", "memory", "pulls", "mean", "share"]
    assert len(rows) == len(policy.arms_in_memory)
    assert [row[0] for row in rows].count("*") == 1
    marked = next(slot for slot, row in enumerate(rows) if row[0] == "*")
    assert policy.arms_in_memory[marked] == policy.recommend()
    assert "47 pulls" in foot
    assert f"{policy.memory_words} words" in foot


@every_policy
def test_repr_shows_pulls_means_and_shares(name: str) -> None:
    policy = new(name, ["red", "green"], 2)
    for _ in range(3):
        policy.update("red", 1.0)
    policy.update("green", 0.0)
    rows = {row.split("'")[1]: row.split()[-3:] for row in repr(policy).splitlines()[2:4]}
    assert rows == {"red": ["3", "1.0000", "75.0%"], "green": ["1", "0.0000", "25.0%"]}


@every_policy
def test_a_new_policy_can_be_shown(name: str) -> None:
    policy = new(name, ["red", "green", "blue"], 2)
    assert "0 pulls" in repr(policy)
    assert "0 pulls" in policy._repr_html_()


@every_policy
def test_a_policy_whose_labels_have_no_text_of_their_own_can_still_be_shown(name: str) -> None:
    policy = new(name, [object(), object(), object()], 2)
    assert "arm in memory" in repr(policy)
    assert "arm in memory" in policy._repr_html_()


@every_policy_and_kind
def test_a_notebook_gets_a_table_of_the_arms_in_memory(name: str, kind: str) -> None:
    policy = mid_way(name, KINDS[kind](), selected=True)
    page = policy._repr_html_()
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    assert page.count("<tr>") == page.count("</tr>") == 1 + len(policy.arms_in_memory)
    assert f"{policy.memory_words} words" in page


@every_policy
def test_labels_cannot_smuggle_markup_into_a_notebook(name: str) -> None:
    class Markup:
        def __init__(self, text: str) -> None:
            self.text = text

        def __repr__(self) -> str:
            return self.text

    labels = ["<b>x</b>", "<script>alert(1)</script>", '"&<i>', Markup("<img src=x>")]
    policy = new(name, labels, 4)
    drive(policy, 100, random.Random(0))
    page = policy._repr_html_()
    for markup in ("<b>", "<script>", "<i>", "<img"):
        assert markup not in page
    assert "&lt;b&gt;" in page
    assert "&lt;img src=x&gt;" in page
    assert "&amp;" in page
