"""A client of one AWS service, opened in the background, so that missing credentials or an absent endpoint neither stop nor
hold up a start. One that could not be made (the credentials' endpoint is down, say) is tried again by the next call.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.loaders import Loader, create_loader
from botocore.parsers import create_parser
from pydantic_core import PydanticSerializationError, to_json

USER_AGENT = "mangaassist"
"""Given to every client, since the driver puts its own together twice for each call."""


@lru_cache(maxsize=1)
def service_models() -> Loader:
    """For `register_component("data_loader", …)` of a session."""
    return create_loader()


class JsonOperations:
    """What a client of the driver's knows, and its connections: region, endpoint, proxies, certificates and timeouts are as
    it found them. Get one from `of`; the client has to outlive it."""

    def __init__(self, client: Any, credentials: Any, url: str) -> None:
        self._client, self._credentials, self._url = client, credentials, url
        self._http = client._endpoint.http_session
        self._model = client.meta.service_model
        self._parser = create_parser(self._model.resolved_protocol)
        metadata = self._model.metadata
        self._type = f"application/x-amz-json-{metadata['jsonVersion']}"
        self._target = metadata["targetPrefix"]

    @classmethod
    @asynccontextmanager
    async def of(cls, client: Any, session: AioSession) -> AsyncIterator[Self]:
        """Without credentials too, which every call then misses. Raises what the driver raises where they cannot be had."""
        credentials = await session.get_credentials()
        yield cls(client, credentials, client.meta.endpoint_url if credentials is None else await _endpoint(client))

    async def call(self, operation: str, parameters: Mapping[str, Any], traceparent: str | None = None) -> bytes:
        """The body of the answer to an operation, by the client's name for it. Raises the driver's errors."""
        name = self._client.meta.method_to_api_mapping[operation]
        request = await self._signed(name, _written(parameters))
        if traceparent is not None:
            request.headers["traceparent"] = traceparent  # not signed: proxies on the way write their own
        answer = await self._http.send(request)
        body: bytes = await answer.content
        if answer.status_code != 200:
            raise self._refusal(name, answer, body)
        return body

    async def _signed(self, name: str, body: bytes) -> AWSPreparedRequest:
        headers = {"Content-Type": self._type, "X-Amz-Target": f"{self._target}.{name}", "User-Agent": USER_AGENT}
        request = AWSRequest("POST", self._url, headers, data=body)
        # Of the moment: they renew themselves when they are about to end.
        credentials = None if self._credentials is None else await self._credentials.get_frozen_credentials()
        SigV4Auth(credentials, self._model.signing_name, self._client.meta.region_name).add_auth(request)
        return AWSPreparedRequest("POST", self._url, request.headers, body, stream_output=False)

    def _refusal(self, name: str, answer: Any, body: bytes) -> Exception:
        """As the client would raise it: `ClientError`, or the one of its kinds that the service knows by name."""
        said = {"status_code": answer.status_code, "headers": answer.headers, "body": body}
        parsed = self._parser.parse(said, self._model.operation_model(name).output_shape)
        kind = self._client.exceptions.from_code(parsed.get("Error", {}).get("Code"))
        refusal: Exception = kind(parsed, name)
        return refusal


async def _endpoint(client: Any) -> str:
    """Where the client would send it: accounts, FIPS and dual stack have a say in that, by rules that it knows."""
    signed: str = await client.generate_presigned_url("list_tables")
    parts = urlsplit(signed)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _written(parameters: Mapping[str, Any]) -> bytes:
    try:
        return to_json(parameters)
    except PydanticSerializationError:  # half a character, which the service refuses in its own words
        return json.dumps(parameters).encode()


START_SECONDS = 1.0
Use = Callable[[Any, AioSession], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def as_it_is(client: Any, session: AioSession) -> AsyncIterator[Any]:
    yield client


class AwsClient:
    """`region` and `endpoint` are the environment's where they are None; `region` stays None where that names none.
    `use` makes of the driver's client, and its session, what is given to callers."""

    def __init__(
        self,
        service: str,
        region: str | None,
        endpoint: str | None,
        config: AioConfig,
        use: Use = as_it_is,
    ) -> None:
        self._service, self._endpoint, self._config, self._use = service, endpoint, config, use
        self._session = AioSession()
        self._session.register_component("data_loader", service_models())
        # Botocore reads AWS_DEFAULT_REGION and the profile; ECS sets AWS_REGION.
        self.region = region or self._session.get_config_variable("region") or os.environ.get("AWS_REGION")
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening: asyncio.Task[Any] | None = None
        if endpoint is not None and endpoint.startswith("http://") and "AWS_ACCESS_KEY_ID" not in os.environ:
            # An emulator asks for a signature and believes any; nobody's real one has to travel in plain text for it.
            self._session.set_credentials("local", "local")

    async def start(self) -> None:
        """Makes the client, or leaves it under way after a second."""
        with suppress(Exception):  # the calls will say so
            async with asyncio.timeout(START_SECONDS):
                await self.ready()

    async def ready(self) -> Any:
        """The driver's client, or what `use` makes of it. Callers share one attempt at making it, which outlives those that
        stop waiting. Raises what the driver raises."""
        if self._client is not None:
            return self._client
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"{self._service} client")
            self._opening.add_done_callback(_looked_at)
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        await self._stack.aclose()
        self._client = None

    async def _open(self) -> Any:
        making = self._session.create_client(
            self._service, region_name=self.region, endpoint_url=self._endpoint, config=self._config
        )
        async with AsyncExitStack() as opened:  # what cannot be used is closed: each call tries again
            client = await opened.enter_async_context(making)
            self._client = await opened.enter_async_context(self._use(client, self._session))
            self._stack = opened.pop_all()
        return self._client


def _looked_at(task: asyncio.Task[Any]) -> None:
    """A failure that nobody waited for is not an error to report."""
    if not task.cancelled():
        task.exception()
