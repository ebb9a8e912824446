"""One client for all tables: a bounded pool of connections, no retries of its own, and no wait without an end.

The driver's timeouts are fixed per client, so they are only the last resort: each call is bounded by its deadline from
outside, and cancelling a call closes its connection.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from aiobotocore.parsers import AioJSONParser, AioResponseParserFactory
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import AwsClient, client_config
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.records.shape import ShapeError

POOL = 328
"""Connections at most: five guarded backends of 64 places each, and the 8 batches that the one writer of profiles sends at
once, so that a slow one never takes another's."""

Json = dict[str, Any]
_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


class _PlainParser(AioJSONParser):  # type: ignore[misc]
    """Reads a body as the JSON that it is: walking a large item by the service's model takes longer than all the rest."""

    def _do_parse(self, response: Any, shape: Any) -> Any:
        return from_json(response["body"])


class _PlainParsers(AioResponseParserFactory):  # type: ignore[misc]
    def create_parser(self, protocol_name: str) -> _PlainParser:
        return _PlainParser(**self._defaults)


def _add_traceparent(request: Any, **_: Any) -> None:
    """After signing: proxies on the way write their own."""
    if (traceparent := _traceparent.get()) is not None:
        request.headers["traceparent"] = traceparent


class Connection:
    """All that is asked of DynamoDB goes through here."""

    def __init__(self, address: DynamoAddress, *, in_bulk: bool = False) -> None:
        """`in_bulk` is for the seed, whose batches may take longer than a caller would wait."""
        self.address = address
        # Parameters are not validated: they are all made here, in the wire's own form.
        config = client_config(0.5, 20.0 if in_bulk else 1.0, POOL, parameter_validation=False)
        self._aws = AwsClient("dynamodb", address.region, address.endpoint, config, _PlainParsers(), _add_traceparent)

    async def start(self) -> None:
        """Makes the client, or leaves it under way after a second."""
        await self._aws.start()

    async def aclose(self) -> None:
        await self._aws.aclose()

    async def call(self, operation: str, deadline: Deadline | None = None, /, **parameters: Any) -> Json:
        """DynamoDB's answer, as its JSON says it. The deadline is the caller's to keep, DynamoDB is told its trace. Raises
        the driver's errors, and ShapeError for what is no JSON object."""
        client = await self._aws.ready()
        reads = operation == "get_item"
        if reads:  # the answer for an absent item says nothing else: without this, any empty object would be one
            parameters["ReturnConsumedCapacity"] = "TOTAL"
        trace = _traceparent.set(deadline.traceparent if deadline else None)
        try:
            body = await getattr(client, operation)(**parameters)
        except (BotoCoreError, ClientError, ResponseParserError, OSError):
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # The driver takes errors apart without looking, so nonsense with an error's status ends here as well.
            raise ShapeError("$ is not JSON that makes sense") from error
        finally:
            _traceparent.reset(trace)
        if not isinstance(body, dict):
            raise ShapeError("$ must be an object")
        if reads and "Item" not in body and not isinstance(body.get("ConsumedCapacity"), dict):
            raise ShapeError("$ is no answer to GetItem")
        return body
