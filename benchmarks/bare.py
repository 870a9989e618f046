"""The least that a service can do: a starlette app that parses JSON and answers a constant.

    python -m benchmarks.bare --port 8001

`benchmarks.serve` measures the real service beside it. It has the paths that the load generator
asks for, decides nothing and stores nothing.
"""

from __future__ import annotations

import argparse

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

DECIDED = b'{"decisions":[{"id":"constant","arm":"arm 0"}],"recommended":"arm 0"}'
REWARDED = b'{"outcome":"credited"}'


async def created(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return Response(b"{}", 201, media_type="application/json")


async def decided(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return Response(DECIDED, 201, media_type="application/json")


async def rewarded(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    return Response(REWARDED, media_type="application/json")


async def ready(request: Request) -> Response:
    return Response(b"{}", media_type="application/json")


app = Starlette(
    routes=[
        Route("/readyz", ready),
        Route("/v1/bandits", created, methods=["POST"]),
        Route("/v1/bandits/{name}/decisions", decided, methods=["POST"]),
        Route("/v1/decisions/{id}/reward", rewarded, methods=["PUT"]),
    ]
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
