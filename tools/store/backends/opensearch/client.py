"""The client of an OpenSearch cluster, with a bounded connection pool, no retries, and deadlines that reach the cluster.

`tools.store.guarded` adds retries, a circuit breaker and attempt deadlines. The driver's timeout, set for each request,
covers the wait for a connection, connecting and reading. Each search sends its remaining time as `timeout` (the cluster
stops collecting hits) and, except to Serverless, as `cancel_after_time_interval` (it cancels its task). A cancelled call
closes its connection, so that the cluster cancels its tasks too. Failures contain no text or address from the driver, whose
error is their cause."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from opensearchpy import AsyncHttpConnection, AsyncOpenSearch, AWSV4SignerAsyncAuth
from opensearchpy.exceptions import ConnectionError as DriverConnectionError
from opensearchpy.exceptions import (
    ConnectionTimeout,
    ImproperlyConfigured,
    OpenSearchException,
    SerializationError,
    TransportError,
)
from opensearchpy.serializer import JSONSerializer
from pydantic_core import PydanticSerializationError, from_json, to_json

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.address import OpenSearchAddress
from tools.store.backends.opensearch.definition import Json
from tools.store.failures import BackendFailure, DependencyFailure, RequestRejected, Throttled, TimedOut

_DEPENDENCY = "catalog"
_DRIVER_ERRORS = (OpenSearchException, ImproperlyConfigured)
_CANCELLED = ("task_cancelled_exception", "timeout_exception", "search_phase_timeout_exception")


class MalformedAnswer(ValueError):
    """OpenSearch, or another server at its address, sent an unreadable answer. `answering` makes it a
    `DependencyFailure`."""


class IndexMissing(DependencyFailure):
    """The requested index does not exist. If requested by the catalogue's alias, no catalogue was loaded under this
    alias."""

    def __init__(self) -> None:
        super().__init__("The index of the catalogue is not there.", dependency=_DEPENDENCY)


@asynccontextmanager
async def answering(deadline: Deadline) -> AsyncIterator[None]:
    """Limits the block to the deadline, and raises the driver's and parsing errors in it as a `BackendFailure`."""
    try:
        if deadline.expired():
            raise TimeoutError
        async with asyncio.timeout(deadline.remaining()):
            yield
    except (*_DRIVER_ERRORS, OSError, EOFError, LookupError, TypeError, ValueError, AttributeError) as error:
        # The driver parses error bodies unchecked, so the body of a proxy's error may raise any of the last four.
        raise failure_of(error) from error


def failure_of(error: Exception) -> BackendFailure:
    if isinstance(error, (TimeoutError, ConnectionTimeout)):
        return timed_out()
    if isinstance(error, (DriverConnectionError, OSError, EOFError)):
        return DependencyFailure("The catalogue cannot be reached.", dependency=_DEPENDENCY)
    if isinstance(error, TransportError) and not isinstance(error, SerializationError):
        kind = error.error if isinstance(error.error, str) else ""
        return _classify_refusal(error.status_code if isinstance(error.status_code, int) else 500, kind)
    if isinstance(error, ImproperlyConfigured):
        return DependencyFailure("The file of certificates of the catalogue cannot be read.", dependency=_DEPENDENCY)
    message = "The catalogue answered with something that cannot be read."
    return DependencyFailure(message, dependency=_DEPENDENCY)


def timed_out() -> TimedOut:
    return TimedOut("The catalogue did not answer in time.", dependency=_DEPENDENCY)


def check_answer(answer: Any) -> Mapping[str, Any]:
    """Returns one answer of a multi-search unchanged. Raises BackendFailure if it is an error or partial (late or missing
    shards), MalformedAnswer if it is no object, and LookupError, TypeError or ValueError for other malformed answers."""
    if not isinstance(answer, dict):
        raise MalformedAnswer("an answer is no object")
    if (error := answer.get("error")) is not None:
        kind = error.get("type", "") if isinstance(error, dict) else ""
        # The root cause: reasons of shards are wrapped in `search_phase_execution_exception`.
        causes = error.get("root_cause") if isinstance(error, dict) else None
        first = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else {}
        raise _classify_refusal(int(answer.get("status", 500)), str(first.get("type", "")) or str(kind))
    if answer["timed_out"]:
        raise timed_out()
    shards = answer["_shards"]
    if shards["failed"] or shards["successful"] < shards["total"]:
        failures = [each for each in shards.get("failures") or () if isinstance(each, dict)]
        kinds = [str((each.get("reason") or {}).get("type", "")) for each in failures]
        raise _classify_refusal(500, next(filter(None, kinds), ""))
    return answer


def _classify_refusal(status: int, kind: str) -> BackendFailure:
    if status == 429 or "rejected_execution" in kind or "circuit_breaking" in kind:
        return Throttled("The catalogue is too busy to answer.", dependency=_DEPENDENCY, retry_after_ms=200)
    if status in (408, 504) or kind in _CANCELLED:
        return timed_out()
    if status in (401, 403):
        return DependencyFailure("This server is not allowed to read the catalogue.", dependency=_DEPENDENCY)
    if status == 404 or kind == "index_not_found_exception":
        return IndexMissing()
    if status == 400 and kind:  # OpenSearch's own error; a proxy's error has no type
        return RequestRejected("The catalogue failed to answer.", dependency=_DEPENDENCY)
    return DependencyFailure("The catalogue failed to answer.", dependency=_DEPENDENCY)


POOL = 80
"""Most connections: 64 for the catalogue's bulkhead, and some for health checks."""


class Client:
    """A client of the cluster. Connects at first use, so that an unreachable cluster neither stops nor delays the start."""

    def __init__(self, address: OpenSearchAddress) -> None:
        """Raises ValueError for missing AWS credentials. A bad `ca` file fails at the first request only."""
        self.address = address
        self._credentials = _credentials() if address.serverless else None
        self._driver = _driver(address, self._credentials)

    async def aclose(self) -> None:
        await self._driver.close()

    async def searches(self, bodies: Sequence[Mapping[str, Any]], deadline: Deadline) -> list[Mapping[str, Any]]:
        """Sends the searches in one request and returns their answers in order. Raises BackendFailure, also for partial
        answers."""
        async with answering(deadline):
            milliseconds = max(1, math.floor(deadline.remaining() * 1000))
            header = _serialize_body({"index": self.address.alias})
            lines = [line for body in bodies for line in (header, _serialize_body({**body, "timeout": f"{milliseconds}ms"}))]
            params = {} if self.address.serverless else {"cancel_after_time_interval": f"{milliseconds}ms"}
            answer = await self.call("POST", "/_msearch", b"\n".join((*lines, b"")), deadline=deadline, params=params)
            if len(answer["responses"]) != len(bodies):
                raise MalformedAnswer("not as many answers as searches")
            return [check_answer(each) for each in answer["responses"]]

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        deadline: Deadline,
        params: Mapping[str, str] | None = None,
    ) -> Json:
        """Sends a request and returns the answer. A `body` of type bytes is sent as it is: lines of JSON. Raises
        BackendFailure."""
        headers = {"content-type": "application/x-ndjson" if isinstance(body, bytes) else "application/json"}
        if (traceparent := deadline.traceparent) is not None:
            # The cluster writes the trace's id into its slow log and shows it beside its tasks.
            headers |= {"traceparent": traceparent, "x-opaque-id": traceparent.split("-")[1]}
        async with answering(deadline):
            needed = getattr(self._credentials, "refresh_needed", None)
            if self._credentials is not None and needed is not None and needed():
                # On a worker thread, since botocore's request blocks.
                await asyncio.to_thread(self._credentials.get_frozen_credentials)
            answer = await self._driver.transport.perform_request(
                method,
                path,
                params=dict(params or {}),
                body=_serialize_body(body) if isinstance(body, Mapping) else body,
                headers=headers,
                timeout=deadline.remaining(),
            )
            if not isinstance(answer, dict):
                raise MalformedAnswer("the answer is no object")
            return answer


class _FastJson(JSONSerializer):
    """Parses the large answers with pydantic's JSON parser, which is faster than `json`."""

    def loads(self, s: str) -> Any:
        try:
            return from_json(s)
        except ValueError as error:
            raise SerializationError(s, error) from None


def _serialize_body(body: Mapping[str, Any]) -> bytes:
    try:
        return to_json(body)
    except PydanticSerializationError:  # a lone surrogate, which pasted text can have
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _driver(address: OpenSearchAddress, credentials: Any) -> AsyncOpenSearch:
    # The driver logs every failed request with its address; callers report failures themselves.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    host = {"host": address.host, "port": address.port, "url_prefix": address.prefix, "use_ssl": address.tls}
    options: Json = {"max_retries": 0, "retry_on_timeout": False, "maxsize": POOL, "serializer": _FastJson()}
    if address.tls:
        options["ca_certs"] = address.ca
    if address.serverless:
        signer = AWSV4SignerAsyncAuth(credentials, str(address.region), "aoss")
        options |= {"http_auth": signer, "connection_class": AsyncHttpConnection}
    elif address.user is not None:
        options["http_auth"] = (address.user, address.password or "")
    return AsyncOpenSearch(hosts=[host], **options)


def _credentials() -> Any:
    import botocore.session

    credentials = botocore.session.get_session().get_credentials()
    if credentials is None:
        raise ValueError("there are no AWS credentials to sign with")
    return credentials
