"""Embeddings by Amazon Titan Text Embeddings V2 on Bedrock (AWS documentation, "Amazon Titan Text Embeddings models").

A call takes 50 to 500 ms, holds one text, and the account's requests a minute are few. So each text of a batch is asked for
once, and when a batch was throttled half way, trying it again asks for the rest. Queries are kept where they are searched
(`query_vectors`).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import numpy as np
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from aiohttp import ClientError as HttpError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    MetadataRetrievalError,
    NoRegionError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from numpy.typing import NDArray
from pydantic_core import from_json

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.backends.aws_models import USER_AGENT, service_models
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut

Floats = NDArray[np.float32]

DIMENSIONS = 512
"""Titan offers 256, 512 and 1024. The index has to be made with the same number; the doctor compares them."""
LONGEST_CHARACTERS = 8_000
AT_ONCE = 16
KEPT = 256
CALL_SECONDS = 5.0
START_SECONDS = 1.0
THROTTLED = ("ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "ModelNotReadyException")


class BedrockEmbedder:
    """An `Embedder`. Get one from `open`; its connections end with it. What it asks ends with the call that asked."""

    def __init__(self, model: str, region: str | None) -> None:
        self._model = model
        self._session = get_session()
        self._session.register_component("data_loader", service_models())
        # Botocore reads AWS_DEFAULT_REGION and the profile; ECS sets AWS_REGION.
        self._region = region or self._session.get_config_variable("region") or os.environ.get("AWS_REGION")
        if not self._region:
            raise NoRegionError
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening: asyncio.Task[Any] | None = None
        self._places = asyncio.Semaphore(AT_ONCE)
        self._kept: Lru[str, Floats] = Lru(KEPT)

    @classmethod
    @asynccontextmanager
    async def open(cls, model: str, region: str | None = None) -> AsyncIterator[BedrockEmbedder]:
        """Credentials, region and endpoint come from the environment as for every AWS client.

        Credentials that cannot be had yet neither stop nor hold up a start: each call looks again. Raises what botocore
        raises for a setting that is wrong.
        """
        embedder = cls(model, region)
        try:
            with suppress(CredentialRetrievalError, MetadataRetrievalError, TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    await embedder._ready()
            yield embedder
        finally:
            await embedder._aclose()

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
        vector = await self._ask(text)
        self._kept.put(text, vector)
        return vector

    async def _ask(self, text: str) -> Floats:
        body = json.dumps({"inputText": text, "dimensions": DIMENSIONS, "normalize": True})
        try:
            async with self._places, asyncio.timeout(CALL_SECONDS):
                client = self._client or await self._ready()
                answer = await client.invoke_model(
                    modelId=self._model, body=body, contentType="application/json", accept="application/json"
                )
                async with answer["body"] as stream:
                    read = await stream.read()
        except (ClientError, BotoCoreError, ResponseParserError, HttpError, OSError) as error:
            raise _translated(error) from None
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            # The driver takes an error's body apart without looking what it is.
            raise _nonsense() from None
        return _vector_of(read)

    async def _ready(self) -> Any:
        """Callers share one attempt at making the client, which outlives those that stop waiting."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name="bedrock client")
            self._opening.add_done_callback(_looked_at)
        return await asyncio.shield(self._opening)

    async def _open(self) -> Any:
        if self._client is None:
            config = AioConfig(
                connect_timeout=1.0,
                read_timeout=CALL_SECONDS,
                max_pool_connections=AT_ONCE,
                # Whoever calls has a deadline and knows whether there is time to ask again.
                retries={"mode": "standard", "total_max_attempts": 1},
                user_agent=USER_AGENT,
                parameter_validation=False,  # there are four, made here
            )
            making = self._session.create_client("bedrock-runtime", region_name=self._region, config=config)
            self._client = await self._stack.enter_async_context(making)
        return self._client

    async def _aclose(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        await self._stack.aclose()


def _looked_at(task: asyncio.Task[Any]) -> None:
    """A failure that nobody waited for is not an error to report."""
    if not task.cancelled():
        task.exception()


def _vector_of(body: bytes) -> Floats:
    """Raises `DependencyFailure` for anything that is not a vector of the right length."""
    try:
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused below
            vector = np.asarray(from_json(body)["embedding"], np.float64)
            length = float(np.linalg.norm(vector)) if vector.shape == (DIMENSIONS,) else 0.0
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        length = 0.0
    if not np.isfinite(length) or length == 0:
        raise _nonsense()
    return np.asarray(vector / length, np.float32)


def _nonsense() -> DependencyFailure:
    return DependencyFailure("The embedder answered with something that is no vector.", dependency="embedder")


def _translated(error: Exception) -> BackendFailure:
    if isinstance(error, TimeoutError | ReadTimeoutError | ConnectTimeoutError):
        return TimedOut("The embedder did not answer in time.", dependency="embedder")
    refusal = error.response if isinstance(error, ClientError) else {}
    status = refusal.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if refusal.get("Error", {}).get("Code", "") in THROTTLED or status == 429:
        return Throttled("The embedder asks for fewer calls.", dependency="embedder", retry_after_ms=1000)
    return DependencyFailure("The embedder cannot be used.", dependency="embedder")
