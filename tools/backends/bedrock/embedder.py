"""Embeddings by Amazon Titan Text Embeddings V2 on Bedrock (AWS documentation, "Amazon Titan Text Embeddings models").

A call takes 50 to 500 ms and the account's requests a minute are few, so equal texts are asked for once: those asked
before come from memory, and those under way are waited for together.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import BotoCoreError, ClientError
from numpy.typing import NDArray

from session.deadline import Deadline
from tools.failures import BackendFailure, DependencyFailure, Throttled, TimedOut

Floats = NDArray[np.float32]

DIMENSIONS = 512
"""Titan offers 256, 512 and 1024. The index has to be made with the same number; the doctor compares them."""
LONGEST_CHARACTERS = 8_000
AT_ONCE = 16
KEPT = 4_096
CALL_SECONDS = 5.0
THROTTLED = ("ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "ModelNotReadyException")


class BedrockEmbedder:
    """An `Embedder`. Get one from `open`; its connections end with it.

    A text under way is its own task, bounded by `CALL_SECONDS`, and outlives the caller that began it only while another
    waits for it.
    """

    def __init__(self, client: Any, model: str) -> None:
        self._client = client
        self._model = model
        self._places = asyncio.Semaphore(AT_ONCE)
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        self._asked: dict[str, asyncio.Task[Floats]] = {}
        self._waiting: dict[str, int] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, model: str, region: str | None = None) -> AsyncIterator[BedrockEmbedder]:
        """Credentials, region and endpoint come from the environment as for every AWS client."""
        config = AioConfig(
            connect_timeout=1.0,
            read_timeout=CALL_SECONDS,
            max_pool_connections=AT_ONCE,
            # Whoever calls has a deadline and knows whether there is time to ask again.
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        async with get_session().create_client("bedrock-runtime", region_name=region, config=config) as client:
            embedder = cls(client, model)
            try:
                yield embedder
            finally:
                await embedder._cancel_all()

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
        try:
            async with asyncio.timeout(deadline.remaining()):
                vectors = await asyncio.gather(*(self._vector(text[:LONGEST_CHARACTERS]) for text in texts))
        except TimeoutError:
            raise TimedOut("The embedder did not answer in time.", dependency="embedder") from None
        return np.stack(vectors)

    async def _vector(self, text: str) -> Floats:
        if (known := self._kept.get(text)) is not None:
            self._kept.move_to_end(text)
            return known
        task = self._asked.get(text)
        if task is None:
            task = self._asked[text] = asyncio.create_task(self._ask(text), name="bedrock embed")
            task.add_done_callback(lambda _: self._asked.pop(text, None))
        self._waiting[text] = self._waiting.get(text, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._leave(text, task)

    def _leave(self, text: str, task: asyncio.Task[Floats]) -> None:
        self._waiting[text] -= 1
        if not self._waiting[text]:
            del self._waiting[text]
            task.cancel()

    async def _ask(self, text: str) -> Floats:
        body = json.dumps({"inputText": text, "dimensions": DIMENSIONS, "normalize": True})
        try:
            async with self._places, asyncio.timeout(CALL_SECONDS):
                answer = await self._client.invoke_model(
                    modelId=self._model, body=body, contentType="application/json", accept="application/json"
                )
                vector = _vector_of(await answer["body"].read())
        except (ClientError, BotoCoreError, OSError, TimeoutError) as error:
            raise _translated(error) from None
        self._keep(text, vector)
        return vector

    def _keep(self, text: str, vector: Floats) -> None:
        self._kept[text] = vector
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def _cancel_all(self) -> None:
        tasks = list(self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _vector_of(body: bytes) -> Floats:
    """Raises `DependencyFailure` for anything that is not a vector of the right length."""
    try:
        vector = np.asarray(json.loads(body)["embedding"], np.float32)
    except (ValueError, KeyError, TypeError):
        vector = np.zeros(0, np.float32)
    length = float(np.linalg.norm(vector)) if vector.shape == (DIMENSIONS,) else 0.0
    if not np.isfinite(length) or length == 0:
        raise DependencyFailure("The embedder answered with something that is no vector.", dependency="embedder")
    return np.asarray(vector / length, np.float32)


def _translated(error: Exception) -> BackendFailure:
    if isinstance(error, TimeoutError):
        return TimedOut("The embedder did not answer in time.", dependency="embedder")
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    if code in THROTTLED:
        return Throttled("The embedder asks for fewer calls.", dependency="embedder", retry_after_ms=1000)
    return DependencyFailure("The embedder cannot be used.", dependency="embedder")
