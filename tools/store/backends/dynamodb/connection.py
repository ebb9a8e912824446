"""One client for all tables: a bounded pool of connections, no retries of its own, and no wait without an end.

Retries, breaker and attempt deadlines are the product's own (`tools.resilience`): the driver tries once. Its timeouts are
fixed per client, so they are only the last resort; each call is bounded by its deadline from outside, and cancelling a call
closes its connection.

The driver's parser walks every attribute of an answer by its model, which costs more than all the rest of a call when items
are large. DynamoDB's JSON needs none of it, so answers are taken as bytes and read as they are.
"""

from __future__ import annotations

from typing import Any

from aiobotocore.config import AioConfig
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from tools.store.backends.aws_client import AwsClient
from tools.store.backends.aws_models import USER_AGENT
from tools.store.backends.dynamodb.address import DynamoAddress
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
        self._aws = AwsClient("dynamodb", address.region, address.endpoint, config, _answer_in_bytes)

    async def start(self) -> None:
        """Makes the client, or leaves it under way after a second."""
        await self._aws.start()

    async def aclose(self) -> None:
        await self._aws.aclose()

    async def call(self, operation: str, **parameters: Any) -> Json:
        """DynamoDB's answer, as its JSON says it. Raises the driver's errors, and ShapeError for what is no JSON object."""
        client = await self._aws.ready()
        try:
            answer = await getattr(client, operation)(**parameters)
            body = from_json(answer["body"])
        except (BotoCoreError, ClientError, ResponseParserError, OSError):
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            # The driver takes errors apart without looking, so nonsense with an error's status ends here as well.
            raise ShapeError("$ is not JSON that makes sense") from error
        if not isinstance(body, dict):
            raise ShapeError("$ must be an object")
        return body


def _answer_in_bytes(client: Any) -> None:
    client.meta.events.register("before-parse.dynamodb", _take_body)


def _take_body(response_dict: Json, customized_response_dict: Json, **_: Any) -> None:
    """An event of the driver's: what is put into the second dictionary is added to the answer it has parsed."""
    if response_dict["status_code"] == 200:
        customized_response_dict["body"] = response_dict["body"]
        response_dict["body"] = b""
