"""Opens a client of an AWS service in the background and translates its driver's errors.

A client that does not open, such as one that finds no credentials, delays the server's start by at most a second and does
not stop it; later calls try again. Failures contain no text, ARN or address from the driver;
the original error is their cause or context."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from aiohttp import ClientError as HttpError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ReadTimeoutError,
)
from botocore.loaders import Loader, create_loader
from botocore.parsers import ResponseParserError

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import Problem, causes_of, network_problem
from session.resilience.tasks import end_task
from tools.store.failures import BackendFailure, DependencyFailure, RequestRejected, Throttled, TimedOut
from tools.store.shape import ShapeError


@lru_cache(maxsize=1)
def service_models() -> Loader:
    """Returns botocore's loader of service models, shared so that each session need not read the files again."""
    return create_loader()


def client_config(connect_seconds: float, read_seconds: float, pool: int, **more: Any) -> AioConfig:
    """Returns a driver configuration without retries, since this server has its own. `pool`: most connections."""
    return AioConfig(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        max_pool_connections=pool,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent="mangaassist",  # without one the driver computes one twice a call
        **more,
    )


class AwsClient:
    """A client of one AWS service, opened in the background. `region` and `endpoint` default to those of the environment;
    the attribute `region` is None if no region is set."""

    def __init__(self, service: str, region: str | None, endpoint: str | None, config: AioConfig) -> None:
        self._service, self._endpoint, self._config = service, endpoint, config
        self._session = AioSession()
        self._session.register_component("data_loader", service_models())
        # Botocore reads AWS_DEFAULT_REGION and the profile; ECS sets AWS_REGION.
        self.region = region or self._session.get_config_variable("region") or os.environ.get("AWS_REGION")
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening: asyncio.Task[Any] | None = None
        if endpoint is not None and endpoint.startswith("http://") and "AWS_ACCESS_KEY_ID" not in os.environ:
            # An emulator accepts any signature, so real credentials need not sign plain-text requests.
            self._session.set_credentials("local", "local")

    @asynccontextmanager
    async def opened(self, *ignored: type[Exception]) -> AsyncIterator[None]:
        """Opens the client for the block. Waits at most one second, and ignores errors of the kinds `ignored`, by default
        all: later calls try again, and raise them."""
        try:
            with suppress(TimeoutError, *(ignored or (Exception,))):
                async with asyncio.timeout(1.0):
                    await self.ready()
            yield
        finally:
            await self.aclose()

    async def ready(self) -> Any:
        """Returns the driver's client. Concurrent callers share one attempt to open it (single flight), which continues if a
        caller is cancelled. Raises the driver's errors."""
        if self._client is not None:
            return self._client
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"{self._service} client")
            # Retrieves the exception, so that asyncio does not log it as never retrieved.
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        await end_task(self._opening)
        await self._stack.aclose()
        self._client = None

    async def _open(self) -> Any:
        making = self._session.create_client(
            self._service, region_name=self.region, endpoint_url=self._endpoint, config=self._config
        )
        async with AsyncExitStack() as opening:
            client = await opening.enter_async_context(making)
            if await self._session.get_credentials() is None:  # looked up in the client's region
                raise NoCredentialsError
            await self._stack.enter_async_context(opening.pop_all())
        self._client = client
        return client


_THROTTLED = {
    *("LimitExceededException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown", "Throttling"),
    *("ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "ModelNotReadyException"),
}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException"}
_UNKNOWN = {
    *("IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidSignatureException"),
    *("MissingAuthenticationToken", "MissingAuthenticationTokenException", "SignatureDoesNotMatch"),
    "UnrecognizedClientException",
}
_DENIED = {"AccessDenied", "AccessDeniedException", "KMSAccessDeniedException"}
_MISSING = {"ResourceNotFoundException": "table", "NoSuchBucket": "bucket"}
_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)


UNCHECKED = (HttpError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of a driver that passes on those of its HTTP client, and parses answers without checks."""


@asynccontextmanager
async def answering(dependency: str, deadline: Deadline, *also: type[Exception]) -> AsyncIterator[None]:
    """Limits the block to the deadline, and raises the driver's errors in it, and those of the kinds `also`, as a
    `BackendFailure` of `dependency`."""
    try:
        if deadline.expired():
            raise TimeoutError
        async with asyncio.timeout(deadline.remaining()):
            yield
    except (TimeoutError, BotoCoreError, ClientError, ResponseParserError, ShapeError, OSError, EOFError, *also) as error:
        raise failure_of(error, dependency) from error


def failure_of(error: Exception, dependency: str) -> BackendFailure:
    if isinstance(error, BackendFailure):
        return error
    if isinstance(error, (TimeoutError, ConnectTimeoutError, ReadTimeoutError)):
        return TimedOut(f"The {dependency} did not answer in time.", dependency=dependency)
    if isinstance(error, HttpError):
        return DependencyFailure(f"The {dependency} broke off.", dependency=dependency)
    if isinstance(error, ClientError):
        return _refusal(error, dependency)
    if isinstance(error, (ResponseParserError, *UNCHECKED)):
        return DependencyFailure(f"The {dependency} answered with something that cannot be read.", dependency=dependency)
    if isinstance(error, _NO_CREDENTIALS):
        return DependencyFailure(f"This server has no credentials for the {dependency}.", dependency=dependency)
    return DependencyFailure(f"The {dependency} cannot be reached.", dependency=dependency)


def is_throttled(error: Exception) -> bool:
    refusal = error.response if isinstance(error, ClientError) else {}
    return code_of(error) in _THROTTLED or refusal.get("ResponseMetadata", {}).get("HTTPStatusCode") == 429


def _refusal(error: ClientError, dependency: str) -> BackendFailure:
    code = code_of(error)
    if is_throttled(error):
        return Throttled(f"The {dependency} is too busy to answer.", dependency=dependency, retry_after_ms=200)
    if code in _EXPIRED | _UNKNOWN | _DENIED:
        return DependencyFailure(f"This server is not allowed to use the {dependency}.", dependency=dependency)
    if missing := _MISSING.get(code):
        return DependencyFailure(f"The {missing} of the {dependency} is not there.", dependency=dependency)
    if code in ("SerializationException", "ValidationException"):
        return RequestRejected(f"The {dependency} failed to answer.", dependency=dependency)
    return DependencyFailure(f"The {dependency} failed to answer.", dependency=dependency)


def code_of(error: BaseException) -> str:
    """Returns the first AWS error code in the chain of causes and contexts; "" if there is none."""
    refusals = (each.response for each in causes_of(error) if isinstance(each, ClientError))
    return next((str(each.get("Error", {}).get("Code", "")) for each in refusals), "")


def aws_problem(error: BaseException, setting: str, permission: str) -> Problem:
    """Describes a driver's error as a problem that an operator can fix. `setting` names the environment variables with the
    address; `permission` is the IAM action that the request needed."""
    code, causes = code_of(error), list(causes_of(error))
    if any(isinstance(each, _NO_CREDENTIALS) for each in causes):
        return Problem("there are no AWS credentials", "give the task a role, or set AWS_PROFILE or AWS_ACCESS_KEY_ID")
    if any(isinstance(each, NoRegionError) for each in causes):
        return Problem("no AWS region is set", "set AWS_DEFAULT_REGION")
    if code in _EXPIRED:
        return Problem("the AWS credentials have expired", "sign in again, or give the task a role")
    if code in _UNKNOWN:
        return Problem("AWS does not know these credentials", "correct AWS_ACCESS_KEY_ID and its secret, or the task's role")
    if code in _DENIED:
        return Problem("the AWS credentials do not allow it", f"allow {permission} in the role's policy")
    if code in _THROTTLED:
        return Problem("it asks for fewer requests", "wait, or ask AWS for a higher quota")
    if code:
        return Problem(f"it refuses with {code}", f"check {setting}")
    if any(isinstance(each, ConnectTimeoutError) for each in causes):
        return Problem("it does not take a connection", f"check {setting}, routes, VPC endpoints and security groups")
    known = network_problem(error, setting)
    return known or Problem("it answers with something that cannot be read", f"check what listens at {setting}")


def bedrock_problem(error: BackendFailure, setting: str) -> Problem:
    """Describes a failed call of a Bedrock model as a problem that an operator can fix. `setting` is the environment
    variable that names the model: MANGA_EMBEDDER or MANGA_CLASSIFIER."""
    code = code_of(error)
    if code in ("ValidationException", "ResourceNotFoundException") or isinstance(error, RequestRejected):
        unfit = "it makes no embeddings" if setting == "MANGA_EMBEDDER" else "it does not call tools"
        return Problem(f"Bedrock has no such model here, or {unfit}", f"correct {setting}, or AWS_DEFAULT_REGION")
    problem = aws_problem(error, "AWS_DEFAULT_REGION and AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "bedrock:InvokeModel")
    if code.startswith("AccessDenied"):
        return Problem(problem.what, f"{problem.remedy}, and ask for access to the model in the Bedrock console")
    return problem
