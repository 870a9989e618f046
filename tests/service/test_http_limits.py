"""What one connection may hold up: slow senders, callers who do not read, and pipelines."""

from __future__ import annotations

import asyncio

import pytest

from handful.service import http
from handful.service.auth import new_key
from tests.service.connection import DECIDE, connections, request
from tests.service.requests import in_loop


@pytest.mark.parametrize(
    ("piece", "seconds"),
    [
        (b"", http.HEADER_SECONDS),  # a connection on which nothing came
        (DECIDE[:9], http.HEADER_SECONDS),
        (DECIDE, http.IDLE_SECONDS),
        (DECIDE + DECIDE[:9], http.HEADER_SECONDS),
    ],
    ids=["nothing", "half a head", "idle", "half of a second head"],
)
@in_loop
async def test_how_long_a_request_is_waited_for(piece: bytes, seconds: float) -> None:
    """An idle connection was closed after 30 seconds, while proxies keep theirs for 60."""
    async with connections() as connect:
        line = connect()
        for part in (piece[: len(DECIDE)], piece[len(DECIDE) :]):
            if part:
                line.protocol.data_received(part)
                line.protocol.hang_up_if_late(1e12 if part == DECIDE else 0.0)
                assert not line.line.closed  # a request is being handled
                await asyncio.sleep(0)
        await line.answers(len(piece) // len(DECIDE))
        now = asyncio.get_running_loop().time()
        line.protocol.hang_up_if_late(now + seconds - 2.0)
        assert not line.line.closed
        line.protocol.hang_up_if_late(now + seconds + 2.0)
        assert line.line.closed


@in_loop
async def test_who_is_answered_before_the_end_of_a_request_does_not_count_as_idle() -> None:
    """A refused caller whose body never ended kept the connection for the idle time."""
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(
            b"POST /v1/nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 82\r\n\r\n{"
        )
        await line.answers(1)
        now = asyncio.get_running_loop().time()
        line.protocol.hang_up_if_late(now + http.HEADER_SECONDS - 2.0)
        assert not line.line.closed
        line.protocol.hang_up_if_late(now + http.HEADER_SECONDS + 2.0)
        assert line.line.closed


@in_loop
async def test_a_caller_who_does_not_read_is_not_answered_any_more() -> None:
    """Answers were written as long as requests came, and filled the memory."""
    async with connections() as connect:
        line = connect()
        line.protocol.pause_writing()
        for _ in range(3):
            line.protocol.data_received(DECIDE)
        assert not line.is_short
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert line.line.written == b""
        assert not line.line.reads
        line.protocol.resume_writing()
        assert len(await line.answers(3)) == 3
        assert line.line.reads


@in_loop
async def test_a_caller_who_takes_nothing_of_an_answer_is_hung_up_on() -> None:
    """The connection was closed only after all was sent, which may be never."""
    async with connections() as connect:
        line = connect()
        for now, unsent, hung_up in (
            (0, 500, False), (29, 500, False), (31, 499, False), (60, 499, False), (62, 499, True)
        ):  # fmt: skip
            line.line.unsent = unsent
            line.protocol.hang_up_if_late(now - 1e6)
            assert line.line.aborted is hung_up, now


@pytest.mark.parametrize("raw", [DECIDE, request("GET", "/healthz")], ids=["short", "uvicorn's"])
@in_loop
async def test_nothing_is_read_while_requests_wait_for_others(
    raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer made the server read on, however many requests it had already."""
    async with connections() as connect:
        line = connect()
        waiting = []
        read_on = line.line.resume_reading

        def resume_reading() -> None:
            waiting.append(len(line.protocol.pipeline))
            read_on()

        monkeypatch.setattr(line.line, "resume_reading", resume_reading)
        line.protocol.data_received(raw * 40)
        assert not line.line.reads
        assert len(await line.answers(40)) == 40
        await asyncio.sleep(0)
        assert line.line.reads
        assert set(waiting) == {0}


@in_loop
async def test_more_requests_than_may_wait_on_a_connection() -> None:
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(DECIDE * (http.MOST_PIPELINED + 10))
        answers = await line.answers(http.MOST_PIPELINED + 2)
        statuses = [answer[9:12] for answer in answers]
        assert statuses == [b"201"] * (http.MOST_PIPELINED + 1) + [b"429"]
        assert line.line.closed


CHUNKED = (
    b"POST /v1/bandits/front/decisions HTTP/1.1\r\nHost: localhost\r\n%s"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n%s\r\n"
)


@pytest.mark.parametrize("in_pieces", [False, True])
@in_loop
async def test_trailers_are_not_headers(in_pieces: bool) -> None:
    """A key in a trailer was taken, if the request came in one piece."""
    async with connections(key_needed=True) as connect:
        line = connect()
        key, row = new_key("k", ["admin"], None, 0)
        line.protocol._service.keys.load([row])
        said = b"Authorization: Bearer %s\r\n" % key.encode()
        for raw, status in (
            (CHUNKED % (said, b""), b"404"),
            (CHUNKED % (said, b"X: y\r\n"), b"404"),
            (CHUNKED % (b"", said), b"401"),
        ):
            line = connect()
            for piece in [raw[:-20], raw[-20:]] if in_pieces else [raw]:
                line.protocol.data_received(piece)
            (answer,) = await line.answers(1)
            assert answer[9:12] == status


@in_loop
async def test_trailers_without_an_end_are_refused() -> None:
    """They were kept, whatever their size."""
    async with connections() as connect:
        line = connect()
        head, end = (CHUNKED % (b"", b""))[:-2], b"X-Trailer: %s\r\n" % (b"x" * 2000)
        line.protocol.data_received(head)
        for _ in range(http.MOST_HEAD // len(end)):
            line.protocol.data_received(end)
        assert not line.line.closed
        line.protocol.data_received(end)
        (answer,) = await line.answers(1)
        assert answer[9:12] == b"431"
        assert line.line.closed


OTHER = request("GET", "/healthz")
UNREADABLE = {
    "garbage": b"\x00\x01\r\n\r\n",
    "no URL": b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
    "half a body": CHUNKED.partition(b"2\r\n")[0].replace(b"%s", b"") + b"zz\r\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize(
    "before", [[], [DECIDE], [OTHER], [DECIDE, OTHER], [OTHER, DECIDE, DECIDE]], ids=len
)
@in_loop
async def test_what_cannot_be_read_is_refused_after_the_answers_before_it(
    name: str, before: list[bytes]
) -> None:
    """The refusal was sent first, and the connection closed."""
    async with connections() as connect:
        line = connect()
        line.protocol.data_received(b"".join(before) + UNREADABLE[name])
        answers = await line.answers(len(before) + 1)
        expected = [b"201" if each is DECIDE else b"200" for each in before]
        assert [answer[9:12] for answer in answers] == [*expected, b"400"]
        assert line.line.closed
