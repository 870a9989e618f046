"""How every policy is shown: as text and in a notebook."""

from __future__ import annotations

import json
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
    assert titles.split() == ["arm", "in", "memory", "pulls", "in", "flight", "mean", "95%"]
    assert len(rows) == len(policy.arms_in_memory)
    assert [row[0] for row in rows].count("*") == 1
    marked = next(slot for slot, row in enumerate(rows) if row[0] == "*")
    assert policy.arms_in_memory[marked] == policy.recommend()
    assert foot.startswith("* recommended; 48 decisions, 47 rewards; ")
    assert foot.endswith(f" rewards; {policy.stats().place}")
    assert foot.endswith(f"; {policy.memory_words} words of state")


@every_policy
def test_a_column_of_open_decisions_is_there_when_some_are_open(name: str) -> None:
    policy = mid_way(name, 9, selected=False)
    assert repr(policy).splitlines()[1].split() == ["arm", "in", "memory", "pulls", "mean", "95%"]
    ticket = policy.decide().ticket
    rows = repr(policy).splitlines()[1:-1]
    column = rows[0].index("in flight") + len("in flight") - 1
    assert sorted(row[column] for row in rows[1:]) == sorted(
        "0" * (len(policy.arms_in_memory) - 1) + "1"
    )
    policy.reward(ticket, 1.0)
    assert "in flight" not in repr(policy)


@every_policy
def test_late_doubled_and_unknown_rewards_are_counted_in_the_foot(name: str) -> None:
    policy = mid_way(name, 9, selected=False)
    assert "forgotten" not in repr(policy)
    assert "refused" not in repr(policy)
    ticket = policy.decide().ticket
    policy.reward(ticket, 1.0)
    policy.reward(ticket, 1.0)
    policy.reward(ticket ^ 1, 1.0)
    assert "48 decisions, 48 rewards, 2 refused; " in repr(policy).splitlines()[-1]
    assert "48 decisions, 48 rewards, 2 refused; " in policy._repr_html_()


def test_forgotten_rewards_are_counted_in_the_foot() -> None:
    policy = new("ucb-m", 9, 3)
    ticket = policy.decide().ticket
    drive(policy, 47, random.Random(0))
    assert policy.reward(ticket, 1.0) == "forgotten"
    assert "48 decisions, 47 rewards, 1 forgotten; " in repr(policy)


@every_policy
def test_repr_shows_pulls_means_and_intervals(name: str) -> None:
    policy = new(name, ["red", "green"], 2)
    while len(policy.arms_in_memory) < 2:
        policy.update(policy.select(), 1.0)
    policy.update("red", 0.0)
    policy.update("green", 1.0)
    stats = {arm.arm: arm for arm in policy.stats()}
    rows = {row.split("'")[1]: row for row in repr(policy).splitlines()[2:4]}
    assert set(rows) == {"red", "green"}
    for label, row in rows.items():
        arm = stats[label]
        interval = [f"{arm.low:.3g}", "to", f"{arm.high:.3g}"]
        assert row.split("'")[2].split() == [str(arm.pulls), f"{arm.mean:.4g}", *interval]
        assert arm.mean == policy._state.sums[policy.arms_in_memory.index(label)] / arm.pulls


def test_the_text_of_a_policy_by_hand() -> None:
    # n kl(mean, end) = ln 40: for 3 successes out of 3 the lower end is 40^(-1/3) = 0.292.
    policy = new("ucb-m", ["red", "green"], 2)
    for _ in range(3):
        policy.update("red", 1.0)
    policy.update("green", 0.0)
    assert repr(policy).splitlines() == [
        "UCBM(arms=2, memory=2, eta=1)",
        "  arm in memory  pulls  mean         95%",
        "* 'red'              3     1  0.292 to 1",
        "  'green'            1     0  0 to 0.975",
        "* recommended; 4 decisions, 4 rewards; all arms in memory; 23 words of state",
    ]


@every_policy
def test_stats_are_plain_data(name: str) -> None:
    policy = new(name, ["red", "green", "blue"], 2, rescale=(-1.0, 1.0))
    drive(policy, 30, random.Random(0))
    policy.decide()
    for arm, plain in zip(policy.stats(), policy.stats().to_dicts(), strict=True):
        assert list(plain) == ["arm", "pulls", "in_flight", "mean", "low", "high", "recommended"]
        assert plain["arm"] == arm.arm
        assert (plain["mean"] == arm.mean) or arm.pulls == 0
        assert -1.0 <= plain["low"] <= plain["high"] <= 1.0
    assert json.loads(json.dumps(policy.stats().to_dicts()))[0]["arm"] in ("red", "green", "blue")


@every_policy
def test_a_new_policy_can_be_shown(name: str) -> None:
    policy = new(name, ["red", "green", "blue"], 2)
    assert "0 decisions, 0 rewards" in repr(policy)
    assert "0 decisions, 0 rewards" in policy._repr_html_()


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
