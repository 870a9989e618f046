"""What a fleet is given, what it refuses, threads, wide rows, names, shards."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import handful
from handful import Receipt
from handful.errors import RewardError, SettingError, StateError
from handful.fleet import Fleet
from handful.fleet.kernels.members import draws_since
from handful.fleet.layout import WIDE
from handful.policies.given import seed_word

ARMS = list("abcdefgh")


def ucbm(members: Any = 100, **given: Any) -> Fleet:
    return Fleet("ucb-m", members, given.pop("arms", ARMS), memory=2, seed=7, **given)


def test_the_figures_that_are_promised() -> None:
    assert Fleet("race", 10, 1000, 2).bytes_per_member <= 256
    assert Fleet("ucb-m", 10, 1000, 2).bytes_per_member <= 112
    assert Fleet("ts-m", 10, 1000, 2).bytes_per_member <= 112


def test_results_do_not_depend_on_the_threads() -> None:
    rng = np.random.default_rng(1)
    fleets = [ucbm(2000, threads=threads) for threads in (1, 2, 5)]
    for _ in range(3):
        ids, rewards = rng.integers(0, 2000, 6000), rng.random(6000)
        answers = [fleet.decide(ids) for fleet in fleets]
        for fleet, (arms, tickets) in zip(fleets, answers, strict=True):
            assert arms.tolist() == answers[0][0].tolist()
            assert tickets.tolist() == answers[0][1].tolist()
            assert (fleet.reward(ids, tickets, rewards) == 0).all()
    rows = [fleet._members.rows.tobytes() for fleet in fleets]
    assert rows[0] == rows[1] == rows[2]


def test_a_member_that_has_counted_far_gets_a_wide_row() -> None:
    fleet = ucbm()
    single = handful.UCBM(ARMS, memory=2, seed=fleet.seed_of(3))
    for count in (66_000, 70_000):
        arms, tickets = fleet.decide([3] * count)
        decisions = single.decide(count)
        assert [decision.ticket for decision in decisions] == tickets.tolist()
        assert [decision.arm for decision in decisions] == arms.tolist()
        some = random.Random(1).sample(range(count), 5000)
        codes = fleet.reward([3] * 5000, tickets[some], [0.5] * 5000)
        single_codes = [single.reward(decisions[i].ticket, 0.5) for i in some]
        assert fleet.receipts(codes) == single_codes
    assert fleet._members.status(3) == WIDE
    assert fleet.totals().wide == 1
    assert fleet[3].to_bytes() == single.to_bytes()
    fleet[3] = single
    assert fleet[3].to_bytes() == single.to_bytes()


def test_many_members_become_wide_in_one_call() -> None:
    fleet = ucbm(30)
    for member in range(30):
        policy = fleet[member]
        policy._state.clock = policy._state.turned = 65_534
        fleet[member] = policy
    fleet.decide(list(range(30)))
    assert fleet.totals().wide == 30
    assert fleet.stats([29]).decisions[0] == 65_535


def test_a_bad_element_refuses_the_whole_call() -> None:
    fleet = ucbm()
    _, tickets = fleet.decide([1, 2])
    before = fleet._members.rows.tobytes()
    for ids in ([1, 100], [1, -1], [[1]], [1.5], ["x"], [2**63], None):
        with pytest.raises(SettingError, match="ids"):
            fleet.decide(ids)
        with pytest.raises(SettingError, match="ids"):
            fleet.reward(ids, tickets, [1.0, 1.0])
    for wrong in ([0.5, 1.5], [float("nan"), 1.0], ["a", "b"]):
        with pytest.raises(RewardError, match="rewards"):
            fleet.reward([1, 2], tickets, wrong)
    with pytest.raises(SettingError, match="tickets"):
        fleet.reward([1, 2], tickets[:1], [1.0, 1.0])
    with pytest.raises(SettingError, match="one for each"):
        fleet.reward([1, 2], tickets, [1.0])
    assert fleet._members.rows.tobytes() == before
    assert fleet.receipts(fleet.reward([1, 1], [tickets[0], 5], [1, 0])) == [
        Receipt.CREDITED,
        Receipt.UNKNOWN,
    ]
    assert fleet.decide([])[0].tolist() == []


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("ucb1", {}, "every arm"),
        ("sliding-window-ts", {}, "fleet"),
        ("qucb-m", {"arms": str, "memory": 2}, "no end"),
    ],
)
def test_policies_that_cannot_have_a_fleet(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        Fleet(name, 10, **{"arms": ARMS, **given})


def test_what_a_fleet_cannot_be_made_of() -> None:
    for members in (0, -3, "ann", range(3, 9, 2), 2**50, True):
        with pytest.raises(SettingError, match="members"):
            ucbm(members)
    with pytest.raises(SettingError, match="counters"):
        ucbm(counters=8)
    with pytest.raises(SettingError, match="policy"):
        Fleet(3, 3, ARMS)  # type: ignore[arg-type]


def test_a_shard_has_the_members_of_the_whole() -> None:
    whole, shard = ucbm(1000), ucbm(range(500, 600))
    ids = np.array([500, 599, 500, 570])
    assert shard.decide(ids)[1].tolist() == whole.decide(ids)[1].tolist()
    assert shard[570].to_bytes() == whole[570].to_bytes()
    with pytest.raises(SettingError, match="500 to 599"):
        shard.decide([499])


def test_names_let_members_in_and_their_choices_do_not_depend_on_the_order() -> None:
    one, other = ucbm(["ann"]), ucbm(["zoe", "bob"])
    assert one.decide(["bob", "cy"])[0].tolist() == other.decide(["bob", "cy"])[0].tolist()
    assert len(one) == 3
    assert one["cy"].to_bytes() == other["cy"].to_bytes()
    # A reward for nobody is that of no ticket, and lets nobody in.
    assert one.receipts(one.reward(["nobody"], [7], [1.0])) == [Receipt.UNKNOWN]
    assert len(one) == 3
    with pytest.raises(SettingError, match="not a member"):
        one.recommend(["nobody"])
    with pytest.raises(SettingError, match="not a string"):
        one.decide([3])
    assert one.stats(["bob"]).decisions.tolist() == [1]


def test_a_policy_that_does_not_belong_there_is_refused() -> None:
    fleet = ucbm()
    for other, why in (
        (fleet[4], "another seed"),
        (handful.TSM(ARMS, memory=2, seed=1), "TSM"),
        (handful.UCBM(ARMS, memory=3, seed=1), "settings"),
        (handful.UCBM(ARMS[::-1], memory=2, seed=fleet.seed_of(3)), "other arms"),
    ):
        with pytest.raises(StateError, match=why):
            fleet[3] = other
    waiting = fleet[3]
    waiting.select()
    with pytest.raises(StateError, match="select"):
        fleet[3] = waiting


@pytest.mark.parametrize("make", [polars.DataFrame, pandas.DataFrame])
@pytest.mark.parametrize("named", [False, True])
def test_frames_come_back_with_arms_and_tickets(make: Any, named: bool) -> None:
    users: list[Any] = ["ann", "bob", "ann"] if named else [3, 4, 3]
    fleet, twin = (ucbm(["ann", "bob"] if named else 10) for _ in range(2))
    frame = make({"user": users, "size": [1.0, 2.0, 3.0]})
    decided = fleet.decide(frame, id="user")
    arms, tickets = twin.decide(users)
    assert list(decided["arm"]) == arms.tolist()
    assert list(decided["ticket"]) == tickets.tolist()
    assert list(decided.columns) == ["user", "size", "arm", "ticket"]
    won = make({"user": users, "ticket": tickets, "reward": [1, 0, 1]})
    assert fleet.reward(won, id="user").tolist() == [0, 0, 0]
    assert fleet.stats(frame["user"]).rewards.tolist() == [2, 1, 2]
    with pytest.raises(SettingError, match="user, size"):
        fleet.decide(frame, id="person")
    with pytest.raises(SettingError, match="id= is missing"):
        fleet.decide(frame)


@pytest.mark.parametrize("named", [False, True])
def test_tables_of_arrow_come_back_with_arms_and_tickets(named: bool) -> None:
    users: list[Any] = ["ann", "bob", "ann"] if named else [3, 4, 3]
    fleet, twin = (ucbm(["ann", "bob"] if named else 10) for _ in range(2))
    decided = fleet.decide(pyarrow.table({"user": users}), id="user")
    again = fleet.decide(decided, id="user")
    arms, tickets = twin.decide([*users, *users])
    assert decided["arm"].to_pylist() == arms[:3].tolist()
    assert again.column_names == ["user", "arm", "ticket"]
    assert again["ticket"].to_pylist() == tickets[3:].tolist()
    won = again.append_column("reward", pyarrow.array([1.0, 0.0, 1.0]))
    assert fleet.reward(won, id="user").tolist() == [0, 0, 0]
    with pytest.raises(SettingError, match="1 missing"):
        fleet.decide(pyarrow.table({"user": [*users[:2], None]}), id="user")


@pytest.mark.parametrize("make", [polars.DataFrame, pandas.DataFrame, pyarrow.table])
def test_frames_are_looked_up_by_the_name_of_a_column(make: Any) -> None:
    fleet = ucbm(["ann", "bob"])
    fleet.decide(["bob"])
    frame = make({"user": ["ann", "bob"]})
    assert fleet.stats(frame, id="user").decisions.tolist() == [0, 1]
    best = fleet.recommend(["ann", "bob"]).tolist()
    assert fleet.recommend(frame, id="user").tolist() == best
    for look in (fleet.recommend, fleet.stats):
        with pytest.raises(SettingError, match=r"id= is missing: .*user"):
            look(frame)


def test_batches_of_arrow_with_dictionaries_and_booleans() -> None:
    """As Parquet files have them."""
    fleet, twin = ucbm(["ann", "bob"]), ucbm(["ann", "bob"])
    users = ["ann", "bob", "ann"]
    encoded = pyarrow.array(users).dictionary_encode()
    decided = fleet.decide(pyarrow.record_batch({"user": encoded}), id="user")
    assert type(decided).__name__ == "RecordBatch"
    assert decided["ticket"].to_pylist() == twin.decide(users)[1].tolist()
    won = decided.append_column("reward", pyarrow.array([True, False, True]))
    assert fleet.reward(won, id="user").tolist() == [0, 0, 0]
    twin.reward(users, decided["ticket"], pyarrow.array([True, False, True]))
    assert fleet["ann"].to_bytes() == twin["ann"].to_bytes()
    with pytest.raises(SettingError, match="1 missing"):
        fleet.decide(pyarrow.array(["ann", None]).dictionary_encode())
    with pytest.raises(SettingError, match="LazyFrame of polars has no values"):
        fleet.decide(polars.LazyFrame({"user": users}))


def test_arms_are_labels_or_indices() -> None:
    assert ucbm().decide([1])[0].dtype == np.object_
    index = ucbm().decide([1], labels=False)[0]
    assert ARMS[index[0]] == ucbm().decide([1])[0][0]
    assert ucbm(arms=8).decide([1])[0].tolist() == index.tolist()
    assert ucbm(arms=range(10, 18)).decide([1])[0].tolist() == (index + 10).tolist()
    made = handful.FiniteArms(lambda i: f"arm {i}", n=8)
    assert ucbm(arms=made).decide([1])[0].tolist() == [f"arm {index[0]}"]


def test_growing_and_shrinking() -> None:
    fleet = ucbm(10)
    fleet.decide([9])
    before = fleet[9].to_bytes()
    fleet.grow(200)
    assert len(fleet) == 210
    fleet.decide([209])
    assert fleet[9].to_bytes() == before
    fleet.shrink(201)
    fleet.grow(1)
    assert fleet[9].decisions == 0
    assert fleet.totals().begun == 0
    with pytest.raises(SettingError, match="fewer than"):
        fleet.shrink(10)


def test_a_fleet_says_what_it_is() -> None:
    fleet = ucbm()
    fleet.decide([1, 2, 2])
    assert repr(fleet) == "Fleet(UCBM(arms=8, memory=2, eta=1), members=100, 101 bytes each)"
    assert "2 of 100 members have begun" in str(fleet)
    assert "3 decisions" in str(fleet)
    columns = fleet.stats([2, 5]).columns()
    assert columns["decisions"].tolist() == [2, 0]
    assert {"arm_0", "pull_1", "mean_1"} <= set(columns)


def test_draws_are_found_however_far_the_generator_has_gone() -> None:
    key: Any = np.uint64(seed_word(1))
    step: Any = np.uint64(seed_word(2) | 1)
    with np.errstate(over="ignore"):
        for draws, known in ((0, 0), (5, 3), (64, 0), (10**9, 0), (3, 70)):
            position: Any = key + np.uint64(draws) * step
            assert int(draws_since(position, key, step, known)) == draws
