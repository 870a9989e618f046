from __future__ import annotations

import asyncio
import socket

from handful.service.serving import Address, _listen


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Without TCP_NODELAY, Nagle's algorithm delays the body of every answer by 40 ms."""

    async def option() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            used = writer.get_extra_info("socket")
            found.set_result(used.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = _listen(Address("127.0.0.1", 0))
        async with await asyncio.start_server(accepted, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            value = await found
            writer.close()
            return value

    assert asyncio.run(option()) == 1
