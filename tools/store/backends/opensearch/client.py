"""One client: a bounded pool of connections, no retries of its own, and deadlines that reach the cluster.

Retries, breaker and attempt deadlines are the product's own (`tools.store.guarded`): the driver tries once. Its timeout, set
a request, covers the wait for a connection, connecting and reading. The cluster is told as well: each search has a `timeout`
(it stops collecting) and a `cancel_after_time_interval` (its task is cancelled); and a call that is cancelled here closes
its connection, which makes the cluster cancel its tasks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from opensearchpy import AsyncHttpConnection, AsyncOpenSearch
from opensearchpy.exceptions import SerializationError
from opensearchpy.serializer import JSONSerializer
from pydantic_core import PydanticSerializationError, from_json, to_json

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.errors import MalformedAnswer, answering, check_answer

POOL = 80
"""Connections at most: the catalogue's 64 places, and some for health."""
_NDJSON = {"content-type": "application/x-ndjson"}

Json = dict[str, Any]


class Client:
    """Connects when it is first used, so that an absent cluster neither stops nor holds up a start."""

    def __init__(self, address: OpenSearchAddress) -> None:
        """Raises ValueError for a certificate file that can't be used."""
        self.address = address
        self._credentials = _credentials() if address.serverless else None
        self._driver = _driver(address, self._credentials)

    async def aclose(self) -> None:
        await self._driver.close()

    async def searches(self, bodies: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[Mapping[str, Any]]:
        """The answers to all of them, whole, in one request. Raises BackendFailure."""
        async with answering(deadline):
            milliseconds = max(1, math.floor(deadline.remaining() * 1000))
            limits = {"timeout": f"{milliseconds}ms"}
            header = _written({"index": self.address.alias})
            lines = [line for body in bodies for line in (header, _written({**body, **limits}))]
            params = {} if self.address.serverless else {"cancel_after_time_interval": f"{milliseconds}ms"}
            answer = await self._send("POST", "/_msearch", b"\n".join((*lines, b"")), deadline, params, _NDJSON)
            if len(answer["responses"]) != len(bodies):
                raise MalformedAnswer("not as many answers as searches")
            return [check_answer(each) for each in answer["responses"]]

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        *,
        deadline: Deadline,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """Any other request; `body` is an object, or lines for `_bulk`. Raises BackendFailure."""
        encoded = body.encode("utf-8", "replace") if isinstance(body, str) else None if body is None else _written(body)
        headers = _NDJSON if isinstance(body, str) else {"content-type": "application/json"}
        async with answering(deadline):
            return await self._send(method, path, encoded, deadline, params or {}, headers)

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        deadline: Deadline,
        params: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> Json:
        await self._refresh_credentials()
        if (traceparent := deadline.traceparent) is not None:
            # The cluster writes the trace's id into its slow log and shows it beside its tasks.
            headers = {**headers, "traceparent": traceparent, "x-opaque-id": traceparent.split("-")[1]}
        answer = await self._driver.transport.perform_request(
            method, path, params=dict(params), body=body, headers=headers, timeout=deadline.remaining()
        )
        if not isinstance(answer, dict):
            raise MalformedAnswer("the answer is no object")
        return answer

    async def _refresh_credentials(self) -> None:
        """Credentials that are about to end are renewed by a blocking request of botocore's: not on the event loop."""
        needed = getattr(self._credentials, "refresh_needed", None)
        if self._credentials is not None and needed is not None and needed():
            await asyncio.to_thread(self._credentials.get_frozen_credentials)


class _FastJson(JSONSerializer):
    """Answers and vectors are the largest JSON of the whole server, and this reads them faster than `json`."""

    def loads(self, s: str) -> Any:
        try:
            return from_json(s)
        except ValueError as error:
            raise SerializationError(s, error) from None


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return to_json(body)
    except PydanticSerializationError:  # half a character: what people paste can hold one
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _driver(address: OpenSearchAddress, credentials: Any) -> AsyncOpenSearch:
    # The driver logs every failed request with its address. Failures are told of by those who see them.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    host = {"host": address.host, "port": address.port, "url_prefix": address.prefix, "use_ssl": address.tls}
    options: Json = {"max_retries": 0, "retry_on_timeout": False, "maxsize": POOL, "serializer": _FastJson()}
    if address.tls:
        options["ca_certs"] = address.ca
    if address.serverless:
        options |= {"http_auth": _signer(address, credentials), "connection_class": AsyncHttpConnection}
    elif address.user is not None:
        options["http_auth"] = (address.user, address.password or "")
    return AsyncOpenSearch(hosts=[host], **options)


def _credentials() -> Any:
    """The credentials of the environment, which may renew themselves. Raises ValueError when there are none."""
    import botocore.session

    credentials = botocore.session.get_session().get_credentials()
    if credentials is None:
        raise ValueError("there are no AWS credentials to sign with")
    return credentials


def _signer(address: OpenSearchAddress, credentials: Any) -> Any:
    from opensearchpy import AWSV4SignerAsyncAuth

    return AWSV4SignerAsyncAuth(credentials, str(address.region), "aoss")
