"""Operations of an AWS service that speaks JSON, without the machinery of the driver's client.

For each call a client emits eight events, works out where its service is, and walks parameters and answers by their model:
two thirds of what the call costs, for requests that are made here in the wire's own form and all go to one address. So the
driver's parts are put together here without it: its credentials, signature, HTTP session, errors and their parser.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from aiobotocore.session import AioSession
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.parsers import create_parser
from pydantic_core import PydanticSerializationError, to_json

from tools.store.backends.aws_models import USER_AGENT


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
