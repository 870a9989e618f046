"""A store that cannot be reached: callers are told so, and not where it is."""

from __future__ import annotations

import logging

import pytest

from handful.errors import StoreAccessError
from handful.storage.contract import Transaction
from tests.service.requests import in_loop, served

DETAIL = "the store 'postgresql://me@10.9.8.7/db' cannot be reached: no route to host"


def test_the_address_is_in_the_log_and_in_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> Transaction:
        raise StoreAccessError(DETAIL)

    @in_loop
    async def ask() -> None:
        async with served() as call:
            await call.front()
            await call.make_key("admin")
            with monkeypatch.context() as patch:
                patch.setattr(call.world.desk.storage, "begin", refused)
                call.key = None
                for path in ("/readyz", "/readyz"):  # it is noticed, and then probed for
                    await call.service.writer._probe()
                    answer = await call("GET", path)
                    assert answer.status_code == 503
                    assert "the store cannot be reached" in answer.json()["detail"]
                    assert answer.headers["retry-after"] == "5"
                    assert "10.9.8.7" not in answer.text
            assert (await call("GET", "/readyz")).status_code == 200

    with caplog.at_level(logging.ERROR, "handful.service"):
        ask()
    assert [vars(record)["reason"] for record in caplog.records] == [DETAIL]
