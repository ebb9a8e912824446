"""One client for all tables: a bounded pool of connections, no retries of its own, and no wait without an end.

Retries, breaker and attempt deadlines are the product's own (`tools.resilience`): the driver tries once. Its timeouts are
fixed per client, so they are only the last resort; each call is bounded by its deadline from outside, and cancelling a call
closes its connection.

Answers are read as they are: DynamoDB's JSON needs no model, and walking large items by it costs more than all the rest.
"""

from __future__ import annotations

from typing import Any

from aiobotocore.config import AioConfig
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from session.resilience.deadline import Deadline
from tools.store.backends.aws_client import USER_AGENT, AwsClient, JsonOperations
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.records.shape import ShapeError

POOL = 328
"""Connections at most: five guarded backends of 64 places each, and the 8 batches that the one writer of profiles sends at
once, so that a slow one never takes another's."""

CONNECT_SECONDS = 0.5
READ_SECONDS = 1.0
READ_SECONDS_IN_BULK = 20.0

Json = dict[str, Any]


class Connection:
    """All that is asked of DynamoDB goes through here."""

    def __init__(self, address: DynamoAddress, *, in_bulk: bool = False) -> None:
        """`in_bulk` is for the seed, whose batches may take longer than a caller would wait."""
        self.address = address
        config = AioConfig(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS_IN_BULK if in_bulk else READ_SECONDS,
            max_pool_connections=POOL,
            retries={"mode": "standard", "total_max_attempts": 1},
            user_agent=USER_AGENT,
            parameter_validation=False,  # they are all made here, in the wire's own form
        )
        self._aws = AwsClient("dynamodb", address.region, address.endpoint, config, JsonOperations.of)

    async def start(self) -> None:
        """Makes the client, or leaves it under way after a second."""
        await self._aws.start()

    async def aclose(self) -> None:
        await self._aws.aclose()

    async def call(self, operation: str, deadline: Deadline | None = None, /, **parameters: Any) -> Json:
        """DynamoDB's answer, as its JSON says it. The deadline is the caller's to keep, DynamoDB is told its trace. Raises
        the driver's errors, and ShapeError for what is no JSON object."""
        operations: JsonOperations = await self._aws.ready()
        reads = operation == "get_item"
        if reads:  # of what is not there it says nothing else: without this, any empty object would be "not there"
            parameters["ReturnConsumedCapacity"] = "TOTAL"
        try:
            body = from_json(await operations.call(operation, parameters, deadline.traceparent if deadline else None))
        except (BotoCoreError, ClientError, ResponseParserError, OSError):
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # The driver takes errors apart without looking, so nonsense with an error's status ends here as well.
            raise ShapeError("$ is not JSON that makes sense") from error
        if not isinstance(body, dict):
            raise ShapeError("$ must be an object")
        if reads and "Item" not in body and not isinstance(body.get("ConsumedCapacity"), dict):
            raise ShapeError("$ is no answer to GetItem")
        return body
