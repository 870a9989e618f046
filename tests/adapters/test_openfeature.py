"""Flags that are bandits of a real service: the decisions of the client, rewards, and defaults."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from handful.adapters import openfeature as adapter
from handful.adapters.openfeature import HandfulProvider
from handful.client import Client, Decision, Limits
from handful.errors import SettingError
from tests.client.serving import served

ARMS = [f"headline {i}" for i in range(6)]
NOWHERE = "http://127.0.0.1:9"
pytestmark = pytest.mark.xdist_group("openfeature")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture
def service(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client
    api.clear_providers()


def flags_of(provider: HandfulProvider) -> OpenFeatureClient:
    api.set_provider_and_wait(provider)
    return api.get_client()


def visitor(key: str | None) -> EvaluationContext:
    return EvaluationContext(targeting_key=key, attributes={"country": "NZ"})


def test_its_choices_are_those_of_the_client(service: Client) -> None:
    for name in ("adapted", "alone"):
        service.create_bandit(name, memory=2, arms=ARMS, seed=5)
    flags = flags_of(HandfulProvider(service))
    for number in range(60):
        key = f"visitor {number}"
        decision = service.decide("alone", key=key)
        details = flags.get_string_details("adapted", "nothing", visitor(key))
        assert (details.value, details.variant) == (decision.arm, decision.arm)
        assert details.reason == Reason.SPLIT
        assert details.error_code is None
        assert flags.get_string_value("adapted", "nothing", visitor(key)) == decision.arm
        if number % 3:
            reward = float(ARMS.index(decision.arm) >= 3)
            service.reward(decision, reward)
            flags.track("adapted", visitor(key), TrackingEventDetails(reward))
    adapted, alone = service.bandit("adapted"), service.bandit("alone")
    assert adapted.decisions == alone.decisions == 60
    assert adapted.rewards == alone.rewards > 20
    assert adapted.arms_in_memory == alone.arms_in_memory
    assert adapted.recommended == alone.recommended


def test_events_may_be_rewards_of_other_flags(service: Client) -> None:
    for name in ("front", "banner"):
        service.create_bandit(name, memory=2, arms=ARMS)
    flags = flags_of(HandfulProvider(service, events={"checkout": ["front", "banner"]}))
    for name in ("front", "banner"):
        flags.get_string_value(name, "", visitor("a"))
    flags.track("page view", visitor("a"))
    flags.track("front", visitor("a"))
    assert service.bandit("front").rewards == 0
    flags.track("checkout", visitor("a"))  # without a value it is a reward of 1
    for name in ("front", "banner"):
        assert service.bandit(name).reward_rate == 1.0


def test_values_of_all_types(service: Client) -> None:
    arms = {"boolean": ["true", "false"], "integer": ["8", "16"], "float": ["0.5", "2"]}
    arms["object"] = [json.dumps({"size": 1}), json.dumps([1, 2])]
    for name, labels in arms.items():
        service.create_bandit(name, memory=2, arms=labels, seed=1)
    provider = HandfulProvider(service)
    flags = flags_of(provider)
    halves = ""  # a visitor who gets 0.5
    seen: dict[str, set[str]] = {name: set() for name in arms}
    for number in range(20):
        who = visitor(f"v{number}")
        for name, value in (
            ("boolean", flags.get_boolean_value("boolean", True, who)),
            ("integer", flags.get_integer_value("integer", -1, who)),
            ("float", flags.get_float_value("float", -1.0, who)),
            ("object", flags.get_object_value("object", {}, who)),
        ):
            halves = f"v{number}" if value == 0.5 else halves
            seen[name].add(f"{type(value).__name__} {value}")
    assert seen == {
        "boolean": {"bool True", "bool False"},
        "integer": {"int 8", "int 16"},
        "float": {"float 0.5", "float 2.0"},
        "object": {"dict {'size': 1}", "list [1, 2]"},
    }
    assert flags.get_integer_value("boolean", 7, visitor("v0")) == 7
    who = visitor("v0")
    for error in (
        provider.resolve_integer_details("boolean", 7, who).error_code,
        provider.resolve_boolean_details("integer", True, who).error_code,
        provider.resolve_integer_details("float", 7, visitor(halves)).error_code,
        provider.resolve_object_details("integer", {}, who).error_code,
    ):
        assert error == ErrorCode.TYPE_MISMATCH


@pytest.mark.parametrize("arm", ["8.5", "[]", "Welcome"])
def test_a_visitor_who_got_the_default_for_an_arm_of_another_type_gives_no_reward(
    service: Client, arm: str
) -> None:
    name = f"typed-{len(arm)}"
    service.create_bandit(name, memory=2, arms=[arm, arm + " "])
    flags = flags_of(HandfulProvider(service))
    details = flags.get_boolean_details(name, True, visitor("a"))
    assert (details.value, details.error_code) == (True, ErrorCode.TYPE_MISMATCH)
    flags.track(name, visitor("a"))
    assert service.bandit(name).rewards == 0
    assert flags.get_string_value(name, "", visitor("a")).strip() == arm  # now it sees the arm
    flags.track(name, visitor("a"))
    assert service.bandit(name).rewards == 1


def test_arms_that_no_float_or_structure_can_be() -> None:
    for kind, arm in (("float", "1" + "0" * 400), ("object", "[" * 100_000)):
        decision = Decision("id", arm)
        client = cast(Client, SimpleNamespace(decide=lambda *_, made=decision, **__: made))
        resolve = getattr(HandfulProvider(client), f"resolve_{kind}_details")
        assert resolve("front", None, visitor("a")).error_code == ErrorCode.TYPE_MISMATCH


def test_events_name_lists_of_flags(service: Client) -> None:
    with pytest.raises(SettingError, match=r"give \['front'\]"):
        HandfulProvider(service, events={"checkout": "front"})


def test_a_closed_client_means_defaults_and_disturbs_nobody(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(address) as closed:
        provider = HandfulProvider(closed)
    with caplog.at_level(logging.WARNING, adapter.__name__):
        provider.track("front", visitor("a"))
    assert "was not sent" in caplog.text
    details = provider.resolve_string_details("front", "d", visitor("a"))
    assert (details.value, details.error_code) == ("d", ErrorCode.GENERAL)


def test_asyncio(service: Client) -> None:
    service.create_bandit("awaited", memory=2, arms=ARMS, seed=5)
    flags = flags_of(HandfulProvider(service))

    async def all_at_once() -> list[str]:
        keys = [f"visitor {number}" for number in range(10)]
        calls = (flags.get_string_value_async("awaited", "", visitor(key)) for key in keys)
        return list(await asyncio.gather(*calls))

    values = asyncio.run(all_at_once())
    again = [
        flags.get_string_value("awaited", "", visitor(f"visitor {number}")) for number in range(10)
    ]
    assert values == again
    assert service.bandit("awaited").decisions == 10


def test_mistakes_are_defaults_that_say_why(
    service: Client, caplog: pytest.LogCaptureFixture
) -> None:
    service.create_bandit("strict", memory=2, arms=ARMS)
    flags = flags_of(HandfulProvider(service))
    for details, code in (
        (flags.get_string_details("wibble", "d", visitor("a")), ErrorCode.FLAG_NOT_FOUND),
        (flags.get_string_details("strict", "d"), ErrorCode.TARGETING_KEY_MISSING),
        (flags.get_string_details("strict", "d", visitor(None)), ErrorCode.TARGETING_KEY_MISSING),
    ):
        assert (details.value, details.error_code, details.reason) == ("d", code, Reason.ERROR)
    flags.get_string_value("strict", "d", visitor("a"))
    with caplog.at_level(logging.WARNING, adapter.__name__):
        flags.track("strict", visitor("nobody"))
        flags.track("strict")
        flags.track("strict", visitor("a"), TrackingEventDetails(7.0))
        flags.track("strict", visitor("a"), TrackingEventDetails(float("nan")))
    assert len(caplog.records) == 4
    assert service.bandit("strict").rewards == 0


def test_a_service_that_is_down_means_defaults(
    service: Client,
    address: str,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    service.create_bandit("shaky", memory=2, arms=ARMS)
    limits = Limits(attempts=1, first_wait=0.001, failures=1000)
    request.addfinalizer((down := Client(NOWHERE, limits=limits)).close)
    provider = HandfulProvider(down, total=0.5)
    flags = flags_of(provider)
    details = flags.get_string_details("shaky", "plain", visitor("a"))
    assert (details.value, details.variant) == ("plain", None)
    assert details.error_code == ErrorCode.GENERAL
    with caplog.at_level(logging.WARNING, adapter.__name__):
        flags.track("shaky", visitor("b"))
    assert "was not sent" in caplog.text

    # The answer was lost, not the decision: the visitor saw the default, and not its arm.
    service.decide("shaky", key="a")
    down._url = address
    flags.track("shaky", visitor("a"), TrackingEventDetails(1.0))
    assert service.bandit("shaky").rewards == 0
    arm = flags.get_string_value("shaky", "plain", visitor("a"))
    assert arm in ARMS  # and now it sees the arm
    flags.track("shaky", visitor("a"), TrackingEventDetails(1.0))
    assert service.bandit("shaky").rewards == 1


def test_the_keys_of_defaults_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_FALLBACKS", 3)
    with Client(NOWHERE, limits=Limits(attempts=1, failures=1)) as nobody:
        provider = HandfulProvider(nobody, total=0.2)
        for number in range(10):
            provider.resolve_string_details("front", "d", visitor(str(number)))
    assert [key.key for key in provider._fallbacks] == ["7", "8", "9"]
    assert provider.get_metadata().name == "handful"
