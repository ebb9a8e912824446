"""Bedrock model with timeouts for turns of three seconds, and one-line explanations of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)

from infra.agent.options import ModelSettings

if TYPE_CHECKING:
    from strands.models import BedrockModel

CREDENTIALS = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
REGION = "set AWS_REGION to one that has the model"
KINDS: dict[type[BotoCoreError], str] = {
    NoCredentialsError: f"there are no AWS credentials; {CREDENTIALS}",
    PartialCredentialsError: f"the AWS credentials are incomplete; {CREDENTIALS}",
    ProfileNotFound: "there is no such profile; correct AWS_PROFILE",
    NoRegionError: f"no region is set; {REGION}",
    EndpointConnectionError: f"Bedrock cannot be reached; {REGION}, and check the network",
}
THROTTLED = "ThrottlingException"
CODES = {
    "AccessDeniedException": "these credentials may not use the model; allow bedrock:InvokeModelWithResponseStream, and ask "
    "for access to the model in the Bedrock console",
    "ValidationException": "Bedrock has no such model here, or not on demand; name another one, or set AWS_REGION",
    "ResourceNotFoundException": "Bedrock has no such model here, or nobody asked for access to it; see the Bedrock console",
    "UnrecognizedClientException": f"AWS does not know these credentials; {CREDENTIALS}",
    "InvalidSignatureException": f"AWS does not take these credentials; {CREDENTIALS}",
    "ExpiredTokenException": "the AWS credentials have expired; sign in again",
    THROTTLED: "Bedrock is too busy, or the quota is used up; try again later",
}


def bedrock_model(settings: ModelSettings, most_turns: int) -> BedrockModel:
    """Returns the model that all turns share, at most `most_turns` at a time. Each call makes one attempt, with a read
    timeout of `silence_ms`: a turn has three seconds and decides on retries itself."""
    from strands.models import CacheConfig

    from infra.agent.streams import OwnedStreams

    given: dict[str, Any] = {"model_id": settings.model, "max_tokens": settings.max_tokens}
    if settings.temperature is not None:
        given["temperature"] = settings.temperature
    if settings.prompt_cache:
        given["cache_config"] = CacheConfig(strategy="auto", tools_ttl=True)
    config = Config(
        connect_timeout=1,
        read_timeout=settings.silence_ms / 1000,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=most_turns,
    )
    return OwnedStreams(boto_client_config=config, **given)


def is_hopeless(error: BaseException) -> bool:
    """Returns whether a retry cannot help; False for throttling, timeouts and broken streams."""
    codes = [each.response.get("Error", {}).get("Code") for each in _chain(error) if isinstance(each, ClientError)]
    return any(code in CODES and code != THROTTLED for code in codes)


def problem_of(error: BaseException) -> str | None:
    """Returns a one-line explanation of the AWS error behind `error`; None if there is no AWS error."""
    for each in _chain(error):
        if isinstance(each, ClientError):
            code = str(each.response.get("Error", {}).get("Code", ""))
            return CODES.get(code, f"Bedrock answered {code or 'with an error'}")
        if isinstance(each, BotoCoreError):
            said = (words for kind, words in KINDS.items() if isinstance(each, kind))
            return next(said, f"Bedrock cannot be asked ({type(each).__name__})")
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__
