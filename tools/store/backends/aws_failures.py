"""Errors of the AWS driver become the store's failures, here and nowhere else. No message carries a text, an ARN or an
address of the driver's; the original stays attached as the cause, for a debugger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure, DependencyFailure, QuestionRefused, Throttled, TimedOut
from tools.store.records.shape import ShapeError

THROTTLE_RETRY_MS = 200

_THROTTLED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "429",
    }
)
_NOT_ADMITTED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "KMSAccessDeniedException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_MISSING = {"ResourceNotFoundException": "table", "NoSuchBucket": "bucket"}
_MALFORMED = frozenset({"SerializationException", "ValidationException"})
_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)


@asynccontextmanager
async def answering(dependency: str, deadline: Deadline) -> AsyncIterator[None]:
    """Whatever is asked within is over by the deadline, and fails as a `BackendFailure` of `dependency` or not at all."""
    try:
        if deadline.expired():
            raise TimeoutError
        async with asyncio.timeout(deadline.remaining()):
            yield
    except (TimeoutError, BotoCoreError, ClientError, ResponseParserError, ShapeError, OSError, EOFError) as error:
        raise failure_of(error, dependency) from error


def failure_of(error: Exception, dependency: str) -> BackendFailure:
    """The failure that a driver's error, or an answer that cannot be read, is to the callers of this store."""
    if isinstance(error, BackendFailure):
        return error
    if isinstance(error, (TimeoutError, ConnectTimeoutError, ReadTimeoutError)):
        return TimedOut(f"The {dependency} did not answer in time.", dependency=dependency)
    if isinstance(error, ClientError):
        return _refusal(error, dependency)
    if isinstance(error, (ShapeError, ResponseParserError)):
        return DependencyFailure(f"The {dependency} answered with something that cannot be read.", dependency=dependency)
    if isinstance(error, _NO_CREDENTIALS):
        return DependencyFailure(f"This server has no credentials for the {dependency}.", dependency=dependency)
    return DependencyFailure(f"The {dependency} cannot be reached.", dependency=dependency)


def _refusal(error: ClientError, dependency: str) -> BackendFailure:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code in _THROTTLED or status == 429:
        message = f"The {dependency} is too busy to answer."
        return Throttled(message, dependency=dependency, retry_after_ms=THROTTLE_RETRY_MS)
    if code in _NOT_ADMITTED:
        return DependencyFailure(f"This server is not allowed to use the {dependency}.", dependency=dependency)
    if missing := _MISSING.get(code):
        return DependencyFailure(f"The {missing} of the {dependency} is not there.", dependency=dependency)
    if code in _MALFORMED:
        return QuestionRefused(f"The {dependency} failed to answer.", dependency=dependency)
    return DependencyFailure(f"The {dependency} failed to answer.", dependency=dependency)
