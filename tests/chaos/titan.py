"""Bedrock's place, as a process that can be stopped and killed: `python -m tests.chaos.titan PORT`.

Each pair of characters is a direction, so that texts that share some are near each other.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from functools import lru_cache

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from tests.support.bedrock import DIMENSIONS, Bedrock

TITAN_SECONDS = 0.05


@lru_cache(maxsize=2**14)
def direction(pair: str) -> NDArray[np.float32]:
    seed = zlib.crc32(pair.encode("utf-8", "surrogatepass"))
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(DIMENSIONS, np.float32)


@lru_cache(maxsize=2**12)
def vector_of(text: str) -> list[float]:
    total = np.sum([direction(text[at : at + 2]) for at in range(len(text))], axis=0)
    return [round(float(each), 4) for each in total / np.linalg.norm(total)]


async def answer(_: web.Request, body: dict[str, str]) -> web.StreamResponse:
    await asyncio.sleep(TITAN_SECONDS)
    return web.json_response({"embedding": vector_of(body["inputText"]), "inputTextTokenCount": 3})


async def serve(port: int) -> None:
    application = web.Application()
    application.router.add_post("/model/{model}/invoke", Bedrock(answer=answer).invoke)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
