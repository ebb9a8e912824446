"""A client of Amazon Bedrock's runtime: opened in the background, bounded, its errors translated to failures. Credentials,
region and endpoint come from the environment as for every AWS client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

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

from tools.store.backends.aws_client import START_SECONDS, AwsClient, client_config
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut

T = TypeVar("T")
THROTTLED = ("ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "ModelNotReadyException")


class BedrockClient:
    """Get one from `open`; its connections end with it. `dependency` names it in failures, `answer` names in them what the
    model should have answered."""

    def __init__(self, dependency: str, answer: str, region: str | None, *, at_once: int, seconds: float) -> None:
        self._dependency, self._answer = dependency, answer
        # Parameters are not validated: all of them are made here.
        config = client_config(1.0, seconds, at_once, parameter_validation=False)
        self._aws = AwsClient("bedrock-runtime", region, None, config)
        if not self._aws.region:
            raise NoRegionError
        self._places = asyncio.Semaphore(at_once)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, dependency: str, answer: str, region: str | None, *, at_once: int, seconds: float
    ) -> AsyncIterator[BedrockClient]:
        """`at_once` calls run at a time; no answer is read for longer than `seconds`.

        Credentials that cannot be had yet neither stop nor hold up a start: each call looks again. Raises what botocore
        raises for a setting that is wrong.
        """
        client = cls(dependency, answer, region, at_once=at_once, seconds=seconds)
        try:
            with suppress(CredentialRetrievalError, MetadataRetrievalError, TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    await client._aws.ready()
            yield client
        finally:
            await client._aws.aclose()

    async def call(self, operation: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """Runs `operation` with the driver's client. Raises `TimedOut` after `seconds`, `Throttled`, `DependencyFailure`."""
        try:
            async with self._places, asyncio.timeout(seconds):
                return await operation(await self._aws.ready())
        except (ClientError, BotoCoreError, ResponseParserError, HttpError, OSError) as error:
            raise self._translate_error(error) from None
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            # The driver takes an error's body apart without looking what it is.
            raise self.nonsense() from None

    def nonsense(self) -> DependencyFailure:
        """The failure for a malformed answer."""
        message = f"The {self._dependency} answered with something that is no {self._answer}."
        return DependencyFailure(message, dependency=self._dependency)

    def _translate_error(self, error: Exception) -> BackendFailure:
        name = self._dependency
        if isinstance(error, TimeoutError | ReadTimeoutError | ConnectTimeoutError):
            return TimedOut(f"The {name} did not answer in time.", dependency=name)
        refusal = error.response if isinstance(error, ClientError) else {}
        status = refusal.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if refusal.get("Error", {}).get("Code", "") in THROTTLED or status == 429:
            return Throttled(f"The {name} asks for fewer calls.", dependency=name, retry_after_ms=1000)
        return DependencyFailure(f"The {name} cannot be used.", dependency=name)
