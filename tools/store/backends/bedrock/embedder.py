"""Amazon Titan Text Embeddings V2 on Bedrock (AWS documentation, "Amazon Titan Text Embeddings models").

A call takes 50 to 500 ms, holds one text, and the account's requests a minute are few. So each text of a batch is asked for
once, and when a batch was throttled half way, trying it again asks for the rest. Queries are kept where they are searched
(`query_vectors`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.bedrock.client import BedrockClient
from tools.store.failures import TimedOut

Floats = NDArray[np.float32]

DIMENSIONS = 512
"""Titan offers 256, 512 and 1024. The index has to be made with the same number; the doctor compares them."""
LONGEST_CHARACTERS = 8_000
AT_ONCE = 16
KEPT = 256
CALL_SECONDS = 5.0


class BedrockEmbedder:
    """An `Embedder`. Get one from `open`; its connections end with it. What it asks ends with the call that asked."""

    def __init__(self, model: str, client: BedrockClient) -> None:
        self._model, self._client = model, client
        self._kept: Lru[str, Floats] = Lru(KEPT)

    @classmethod
    @asynccontextmanager
    async def open(cls, model: str, region: str | None = None) -> AsyncIterator[BedrockEmbedder]:
        """Opens an embedder as `BedrockClient.open` does, whose failures it raises."""
        async with BedrockClient.open("embedder", "vector", region, at_once=AT_ONCE, seconds=CALL_SECONDS) as client:
            yield cls(model, client)

    @property
    def name(self) -> str:
        return f"{self._model}/{DIMENSIONS}"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> Floats:
        """Shape (len(texts), 512), rows of length 1. Texts are cut at 8,000 characters.

        Raises `TimedOut` at the deadline, `Throttled`, `DependencyFailure`.
        """
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        cut = [text[:LONGEST_CHARACTERS] for text in texts]
        each = {text: asyncio.create_task(self._vector(text), name="bedrock embed") for text in dict.fromkeys(cut)}
        try:
            async with asyncio.timeout(deadline.remaining()):
                found = dict(zip(each, await asyncio.gather(*each.values()), strict=True))
        except TimeoutError:
            raise TimedOut("The embedder did not answer in time.", dependency="embedder") from None
        finally:
            for other in each.values():  # where one fails, nobody waits for the rest
                other.cancel()
            await asyncio.gather(*each.values(), return_exceptions=True)
        return np.stack([found[text] for text in cut])

    async def _vector(self, text: str) -> Floats:
        if (known := self._kept.use(text)) is not None:
            return known
        vector = _vector_of(await self._client.call(lambda client: self._invoke(client, text), CALL_SECONDS))
        if vector is None:
            raise self._client.nonsense()
        self._kept.put(text, vector)
        return vector

    async def _invoke(self, client: Any, text: str) -> bytes:
        body = json.dumps({"inputText": text, "dimensions": DIMENSIONS, "normalize": True})
        answer = await client.invoke_model(
            modelId=self._model, body=body, contentType="application/json", accept="application/json"
        )
        async with answer["body"] as stream:
            read: bytes = await stream.read()
            return read


def _vector_of(body: bytes) -> Floats | None:
    """The vector of an answer; None for anything else than a vector of the right length."""
    try:
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused below
            vector = np.asarray(from_json(body)["embedding"], np.float64)
            length = float(np.linalg.norm(vector)) if vector.shape == (DIMENSIONS,) else 0.0
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        length = 0.0
    if not np.isfinite(length) or length == 0:
        return None
    return np.asarray(vector / length, np.float32)
