"""Both clients against the stub: every call, every fault, and nothing counted twice."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.client import AsyncClient, Client, Decision, Limits, OwnKey
from handful.client.calls import BATCH
from handful.errors import (
    AccessError,
    ClientError,
    ConflictError,
    NotFoundError,
    RefusedError,
    RewardError,
    SettingError,
    UnavailableError,
)
from tests.client.stub import RETRIED, Fault, Stub

ARMS = ["a", "b", "c"]
QUICK = Limits(timeout=5, total=30, attempts=4, first_wait=0, failures=3, pause=60)


class Awaited:
    """An `AsyncClient` whose calls are awaited here, so that a test can be of either client."""

    def __init__(self, url: str, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(url, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        async def collected(made: Any) -> Any:
            return [one async for one in made] if inspect.isasyncgen(made) else await made

        return lambda *args, **options: self._runner.run(collected(method(*args, **options)))

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


def connected(kind: type[Any], stub: Stub, limits: Limits = QUICK, **options: Any) -> Any:
    transport = stub.transport()
    http: Any = httpx.Client(transport=transport)
    if kind is Awaited:
        http = httpx.AsyncClient(transport=transport)
    return kind("http://127.0.0.1:1/", limits=limits, http=http, **options)


@pytest.fixture
def stub() -> Stub:
    return Stub(bandits={"front": {"name": "front", "policy": "race", "arms": list(ARMS)}})


@pytest.fixture(params=[Client, Awaited], ids=["plain", "asyncio"])
def client(stub: Stub, request: pytest.FixtureRequest) -> Iterator[Any]:
    made = connected(request.param, stub)
    yield made
    made.close()


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[inspect.Parameter]]:
        return {
            name: list(inspect.signature(method).parameters.values())
            for name, method in vars(kind).items()
            if not name.startswith("_")
        }

    assert calls(Client) == calls(AsyncClient)


def test_a_bandit_is_created_as_asked_for(client: Any, stub: Stub) -> None:
    bandit = client.create_bandit(
        "shop", policy="ucb-m", memory=2, arms=(arm for arm in ARMS), settings={"eta": 0.2}, seed=7,
        window=60.0, default=0.0, explore=0.02, rescale=(0, 5), open=True,
    )  # fmt: skip
    assert (bandit.name, bandit.policy, bandit.memory, bandit.arms) == ("shop", "ucb-m", 2, 3)
    assert bandit.rescale == (0, 5)
    assert bandit.answer["new"] == "field"
    assert json.loads(stub.seen[0].body) == {
        "name": "shop", "policy": "ucb-m", "memory": 2, "arms": ARMS, "settings": {"eta": 0.2},
        "seed": 7, "window": 60.0, "default": 0.0, "explore": 0.02, "rescale": [0, 5], "open": True,
    }  # fmt: skip


def test_what_is_not_given_is_not_sent(client: Any, stub: Stub) -> None:
    client.create_bandit("shop", arms=ARMS)
    assert json.loads(stub.seen[0].body) == {"name": "shop", "policy": "race", "arms": ARMS}


def test_a_bandit_that_exists_is_a_conflict(client: Any) -> None:
    with pytest.raises(ConflictError, match="The bandit exists: choose another name"):
        client.create_bandit("front", arms=ARMS)


def test_a_bandit_is_looked_at_changed_and_deleted(client: Any, stub: Stub) -> None:
    client.decide("front")
    assert client.bandit("front").decisions == 1
    assert client.change_bandit("front", window=5.0, default=None).window == 5.0
    assert json.loads(stub.calls("PATCH")[0].body) == {"window": 5.0, "default": None}
    assert client.delete_bandit("front") is None
    with pytest.raises(NotFoundError, match="there is no bandit 'front'"):
        client.bandit("front")


def test_arms_in_memory_are_objects() -> None:
    from handful.client import Bandit

    arm = {"arm": "a", "pulls": 3, "in_flight": 1, "mean": 0.5, "low": 0.1, "high": 0.9,
           "recommended": True, "duel": False, "more": 1}  # fmt: skip
    (found,) = Bandit.of({"name": "front", "arms_in_memory": [arm]}).arms_in_memory
    assert (found.arm, found.pulls, found.mean, found.recommended) == ("a", 3, 0.5, True)


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_all_bandits_are_listed_whatever_the_page(client: Any, stub: Stub, page: int) -> None:
    for name in ("z", "a b", "m&n=1"):
        client.create_bandit(name, arms=ARMS)
    assert [one.name for one in client.bandits(page=page)] == ["a b", "front", "m&n=1", "z"]
    assert [one.name for one in client.bandits("front")] == ["m&n=1", "z"]


@pytest.mark.parametrize("name", ["a b", "a/b", "ü", "a?b#c", "50%"])
def test_a_name_may_have_any_character(client: Any, stub: Stub, name: str) -> None:
    client.create_bandit(name, arms=ARMS)
    assert client.bandit(name).name == name
    assert client.decide(name).arm in ARMS


def test_arms_are_added_and_removed(client: Any, stub: Stub) -> None:
    assert client.add_arms("front", ["d", "e"]) == 5
    assert client.remove_arms("front", iter(["a", "d"])) == 3
    assert stub.bandits["front"]["arms"] == ["b", "c", "e"]


def test_a_decision_and_its_reward(client: Any, stub: Stub) -> None:
    decision = client.decide("front")
    assert decision == Decision(id="d0", arm="a", key=None, probability=0.5)
    assert not decision.is_fallback
    assert client.reward(decision, 1) == "credited"
    assert client.reward(decision.id, 1.0) == "duplicate"
    with pytest.raises(ConflictError, match=r"it is 1\.0"):
        client.reward(decision, 0.5)
    with pytest.raises(NotFoundError):
        client.reward("nonsense", 0.5)
    assert stub.decisions["d0"]["reward"] == 1


def test_many_decisions_at_once(client: Any, stub: Stub) -> None:
    decisions = client.decide("front", 3, allowed={"b"}, keys=["x", "y", "z"])
    assert [(d.arm, d.key) for d in decisions] == [("b", "x"), ("b", "y"), ("b", "z")]
    assert client.decide("front", n=1)[0].id == "d3"
    assert client.decide("front", key="mine").key == "mine"
    assert json.loads(stub.seen[-1].body) == {"key": "mine"}


def test_a_late_reward_is_expired_and_no_error(client: Any, stub: Stub) -> None:
    decision = client.decide("front")
    stub.decisions[decision.id]["status"] = "expired"
    assert client.reward(decision, 1.0) == "expired"


def test_a_dropped_decision(client: Any, stub: Stub) -> None:
    decision = client.decide("front")
    assert client.drop(decision) == "dropped"
    assert stub.decisions[decision.id]["status"] == "dropped"


def test_rewards_in_a_batch_have_an_outcome_each_in_order(client: Any, stub: Stub) -> None:
    one, two, three = client.decide("front", 3, keys=["x", "y", "z"])
    stub.decisions[three.id]["status"] = "expired"
    pairs = [
        (one, 1.0), (Decision.fallback("a"), 1.0), ("nonsense", 0), (OwnKey("front", "y"), 0.5),
        (two, 0.7), (three, 1), (one.id, 1),
    ]  # fmt: skip
    assert client.rewards(pairs) == [
        "credited", "ignored", "unknown", "credited", "conflict", "expired", "duplicate",
    ]  # fmt: skip
    assert len(stub.calls("POST")) == 2


def test_a_large_batch_is_sent_in_parts(client: Any, stub: Stub) -> None:
    decisions = client.decide("front", BATCH + 1)
    assert client.rewards([(d, 1.0) for d in decisions]) == ["credited"] * (BATCH + 1)
    posts = stub.calls("POST")[1:]
    assert [len(json.loads(post.body)["rewards"]) for post in posts] == [BATCH, 1]
    assert posts[0].idempotency_key != posts[1].idempotency_key


def test_a_batch_without_anything_to_send_asks_nobody(client: Any, stub: Stub) -> None:
    assert client.rewards([]) == []
    assert client.rewards([(Decision.fallback("a"), 1.0)]) == ["ignored"]
    assert stub.seen == []


def test_every_post_has_a_key_of_its_own_that_its_retries_repeat(client: Any, stub: Stub) -> None:
    stub.faults.extend([Fault.DOWN_BEFORE, Fault.CUT_AFTER, Fault.NONE, Fault.CUT_BEFORE])
    client.decide("front")
    client.decide("front")
    keys = [seen.idempotency_key for seen in stub.seen]
    assert len(keys) == 5
    assert None not in keys
    assert keys == [keys[0]] * 3 + [keys[3]] * 2
    assert keys[0] != keys[3]
    assert {seen.body for seen in stub.seen} == {b"{}"}


FAULTY = st.lists(st.lists(st.sampled_from(RETRIED), max_size=2), min_size=1, max_size=8)


def conversation(client: Any, stub: Stub, faulty: list[list[Fault]]) -> int:
    """Make a decision and give its reward for each entry, whose faults both calls meet."""
    for number, faults in enumerate(faulty):
        stub.faults.extend([*faults, Fault.NONE])
        if number % 3 == 2:
            decisions = client.decide("front", 2)
            stub.faults.extend([*faults, Fault.NONE])
            client.rewards([(decision, 0.5) for decision in decisions])
        else:
            decision = client.decide("front")
            stub.faults.extend([*faults, Fault.NONE])
            assert client.reward(decision, 0.5) in ("credited", "duplicate")
        assert not stub.faults
    return sum(2 if number % 3 == 2 else 1 for number in range(len(faulty)))


@pytest.mark.parametrize("kind", [Client, Awaited], ids=["plain", "asyncio"])
@given(faulty=FAULTY)
def test_whatever_fails_each_decision_and_reward_is_counted_once(
    kind: type[Any], faulty: list[list[Fault]]
) -> None:
    stub = Stub(bandits={"front": {"name": "front", "arms": ARMS}})
    client = connected(kind, stub)
    made = conversation(client, stub, faulty)
    client.close()
    assert len(stub.decisions) == made
    assert stub.credited == made
    assert all(decision["reward"] == 0.5 for decision in stub.decisions.values())


def test_a_service_without_idempotency_keys_would_be_seen_to_count_twice() -> None:
    stub = Stub(replays=False, bandits={"front": {"name": "front", "arms": ARMS}})
    made = conversation(connected(Client, stub), stub, [[Fault.CUT_AFTER], [Fault.GATEWAY_AFTER]])
    assert len(stub.decisions) == made + 2


def test_other_calls_are_carried_out_once_too(client: Any, stub: Stub) -> None:
    def lost(*faults: Fault) -> None:
        stub.faults.extend(faults)

    lost(Fault.CUT_AFTER, Fault.DOWN_BEFORE)
    assert client.create_bandit("shop", arms=ARMS).arms == 3
    lost(Fault.CUT_AFTER)
    assert client.add_arms("shop", ["d"]) == 4
    lost(Fault.GATEWAY_AFTER)
    assert client.remove_arms("shop", ["d"]) == 3
    decision = client.decide("shop")
    lost(Fault.HANG_AFTER)
    assert client.drop(decision) == "dropped"
    lost(Fault.CUT_AFTER)
    client.delete_bandit("shop")
    assert sorted(stub.bandits) == ["front"]


def test_what_never_existed_is_an_error_after_a_lost_answer_too(client: Any, stub: Stub) -> None:
    """It was taken for something that the first attempt had deleted."""
    for name, args in (
        ("delete_bandit", ["typo"]), ("remove_arms", ["front", ["typo"]]), ("drop", ["typo"]),
    ):  # fmt: skip
        stub.faults.append(Fault.CUT_AFTER)
        with pytest.raises(NotFoundError):
            getattr(client, name)(*args)


@pytest.mark.parametrize("fault", [*RETRIED, Fault.BROKEN_BEFORE])
def test_a_call_that_fails_for_good_is_unavailable(client: Any, stub: Stub, fault: Fault) -> None:
    stub.faults.extend([fault] * 99)
    with pytest.raises(UnavailableError, match="POST /v1/bandits/front/decisions was tried"):
        client.decide("front")
    tries = 1 if fault is Fault.BROKEN_BEFORE else QUICK.attempts
    assert len(stub.seen) == tries


DEAD = [*RETRIED, Fault.BROKEN_BEFORE, Fault.LETTERS_BEFORE]


@pytest.mark.parametrize("fault", DEAD)
def test_a_fallback_stands_in_for_a_dead_service(client: Any, stub: Stub, fault: Fault) -> None:
    stub.faults.extend([fault] * 99)
    decision = client.decide("front", fallback="b", key="mine")
    assert decision == Decision.fallback("b", "mine")
    assert decision.is_fallback
    sent = len(stub.seen)
    assert client.reward(decision, 1.0) == "ignored"
    assert client.reward(decision.id, 1.0) == "ignored"
    assert client.drop(decision) == "ignored"
    assert len(stub.seen) == sent


def test_fallbacks_of_a_batch(client: Any, stub: Stub) -> None:
    stub.faults.extend([Fault.CUT_BEFORE] * 99)
    decisions = client.decide("front", 2, keys=["x", "y"], fallback="b")
    assert decisions == [Decision.fallback("b", "x"), Decision.fallback("b", "y")]
    assert client.decide("front", 3, fallback="b") == [Decision.fallback("b")] * 3


def test_a_dead_service_is_left_alone_after_some_failures(client: Any, stub: Stub) -> None:
    stub.faults.extend([Fault.CUT_BEFORE] * 99)
    for _ in range(50):
        assert client.decide("front", fallback="b").is_fallback
    assert len(stub.seen) == QUICK.failures
    # Without a fallback there is nothing else to do than to try.
    stub.faults.clear()
    assert not client.decide("front").is_fallback
    assert not client.decide("front", fallback="b").is_fallback


@pytest.mark.parametrize("kind", [Client, Awaited], ids=["plain", "asyncio"])
def test_after_a_pause_one_attempt_is_made(kind: type[Any], stub: Stub) -> None:
    stub.faults.extend([Fault.CUT_BEFORE] * 99)
    limits = Limits(attempts=4, first_wait=0, failures=3, pause=1e-9)
    client = connected(kind, stub, limits)
    for calls in range(5):
        assert client.decide("front", fallback="b").is_fallback
        assert len(stub.seen) == 3 + calls
    stub.faults.clear()
    assert not client.decide("front", fallback="b").is_fallback
    client.close()


def test_a_refusal_is_an_error_in_spite_of_a_fallback(client: Any) -> None:
    with pytest.raises(NotFoundError):
        client.decide("nonsense", fallback="b")


@pytest.mark.parametrize("kind", [Client, Awaited], ids=["plain", "asyncio"])
def test_the_key_is_sent_and_never_shown(kind: type[Any], stub: Stub) -> None:
    client = connected(kind, stub, key="secret-1")
    client.bandit("front")
    assert stub.seen[0].headers["authorization"] == "Bearer secret-1"
    assert "secret-1" not in repr(client)
    client.close()
    client = connected(kind, stub, key="wrong")
    with pytest.raises(AccessError, match="Unknown key"):
        client.bandit("front")
    client.close()
    with pytest.raises(SettingError) as caught:
        connected(kind, stub, key="secret 2\n")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: c.decide(""), SettingError),
        (lambda c: c.decide("front", 0), SettingError),
        (lambda c: c.decide("front", 1.5), SettingError),
        (lambda c: c.decide("front", allowed="abc"), SettingError),
        (lambda c: c.decide("front", 2, keys=["x"]), SettingError),
        (lambda c: c.decide("front", keys=["x", "y"]), SettingError),
        (lambda c: c.decide("front", allowed=["a"], fallback="b"), SettingError),
        (lambda c: c.add_arms("front", "abc"), SettingError),
        (lambda c: c.add_arms("front", [object()]), SettingError),
        (lambda c: c.change_bandit("front", window=float("nan")), SettingError),
        (lambda c: c.reward("", 1.0), SettingError),
        (lambda c: c.reward(7, 1.0), SettingError),
        (lambda c: c.reward("d0", float("nan")), RewardError),
        (lambda c: c.reward("d0", "high"), RewardError),
        (lambda c: c.rewards([("d0", float("inf"))]), RewardError),
        (lambda c: c.reward("fallback", float("nan")), RewardError),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(
    client: Any, stub: Stub, call: Callable[[Any], Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call(client)
    assert stub.seen == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0}, {"total": -1}, {"attempts": 0}, {"attempts": 1.5}, {"first_wait": -1},
        {"failures": 0}, {"pause": 0}, {"timeout": float("nan")},
    ],
)  # fmt: skip
def test_limits_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        Limits(**wrong)  # type: ignore[arg-type]


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(SettingError, match="give an address such as"):
        Client("localhost:8000")


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"null", b'{"decisions": [{"arm": "a"}]}'])
def test_an_answer_of_another_shape_is_an_error(answer: bytes) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=answer))
    with Client("http://127.0.0.1:1", http=httpx.Client(transport=transport)) as client:
        with pytest.raises(ClientError, match="something else than expected") as caught:
            client.decide("front")
        assert not isinstance(caught.value, RefusedError)
        assert client.decide("front", fallback="b").is_fallback


def test_a_batch_with_too_few_outcomes_is_an_error() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"outcomes": []}))
    client = Client("http://127.0.0.1:1", http=httpx.Client(transport=transport))
    with pytest.raises(ClientError, match="0 outcomes of 1 rewards"):
        client.rewards([("d0", 1.0)])


def test_a_client_closes_what_it_opened_and_nothing_else(stub: Stub) -> None:
    http = httpx.Client(transport=stub.transport())
    with Client("http://127.0.0.1:1", http=http):
        pass
    assert not http.is_closed
    with Client("http://127.0.0.1:1") as client:
        ours = client._http
    assert ours.is_closed

    async def asynchronous() -> None:
        async with AsyncClient("http://127.0.0.1:1") as client:
            ours = client._http
        assert ours.is_closed

    asyncio.run(asynchronous())


def test_an_option_that_there_is_not_is_refused_before_anything_is_sent(client: Any) -> None:
    with pytest.raises(TypeError, match="has no option 'memroy'"):
        client.create_bandit("shop", arms=ARMS, memroy=2)
    with pytest.raises(TypeError, match="has no option 'alowed'"):
        client.decide("front", alowed=ARMS)
