"""A server in Bedrock's place, as a process of its own: `python -m tests.load.stack_bedrock`, a worker."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from aiohttp import web

from tests.load.worker import Worker
from tests.support.bedrock import DIMENSIONS, Bedrock, serving

LATENCY_SECONDS = 0.06
"""For a short text on a good day; Titan takes 50 to 500 ms."""


class BedrockWorker(Worker):
    """Commands: where, take (seconds)."""

    def __init__(self, bedrock: Bedrock) -> None:
        self._bedrock = bedrock
        self._seconds = 0.0
        bedrock.answer = self._answer

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[BedrockWorker]:
        async with serving() as bedrock:
            yield cls(bedrock)

    async def where(self) -> dict[str, Any]:
        return {"url": self._bedrock.url}

    async def take(self, seconds: float) -> dict[str, Any]:
        """So long for each text from now on; at first none, for the load of the catalogue."""
        self._seconds = seconds
        return {}

    async def _answer(self, _: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        ready = loop.time() + self._seconds
        vector = _vector(body["inputText"])
        await asyncio.sleep(ready - loop.time())
        return web.json_response({"embedding": vector, "inputTextTokenCount": 3})


def _vector(text: str) -> list[float]:
    """Texts that share words are near each other. Quicker than `vector_of`, which would take the servers' processor time."""
    total = np.sum([_direction(word) for word in text.lower().split()], axis=0)
    return (total / np.linalg.norm(total)).tolist()  # type: ignore[no-any-return]


@lru_cache(maxsize=20_000)
def _direction(word: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8])
    return np.random.default_rng(seed).standard_normal(DIMENSIONS)


if __name__ == "__main__":
    sys.exit(BedrockWorker.main())
