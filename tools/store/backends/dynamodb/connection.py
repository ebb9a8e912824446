"""One client for all tables: a bounded pool of connections, no retries of its own, and no wait without an end.

Retries, breaker and attempt deadlines are the product's own (`tools.resilience`): the driver tries once. Its timeouts are
fixed per client, so they are only the last resort; each call is bounded by its deadline from outside, and cancelling a call
closes its connection.

The driver's parser walks every attribute of an answer by its model, which costs more than all the rest of a call when items
are large. DynamoDB's JSON needs none of it, so answers are taken as bytes and read as they are.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, suppress
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from pydantic_core import from_json

from tools.store.backends.aws_models import USER_AGENT, service_models
from tools.store.backends.dynamodb.address import DynamoAddress
from tools.store.records.shape import ShapeError

POOL = 264
"""Connections at most: four guarded backends of 64 places each, and the 8 batches that the one writer of profiles sends at
once, so that a slow one never takes another's."""

CONNECT_SECONDS = 0.5
READ_SECONDS = 1.0
READ_SECONDS_IN_BULK = 20.0
START_SECONDS = 1.0

Json = dict[str, Any]


class Connection:
    """Opened in the background, so that missing credentials or an absent endpoint neither stop nor hold up a start.

    A client that could not be made (the credentials endpoint is down, say) is tried again by the next call.
    """

    def __init__(self, address: DynamoAddress, *, in_bulk: bool = False) -> None:
        """`in_bulk` is for the seed, whose batches may take longer than a caller would wait."""
        self.address = address
        self._read_seconds = READ_SECONDS_IN_BULK if in_bulk else READ_SECONDS
        self._session = AioSession()
        self._session.register_component("data_loader", service_models())
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening: asyncio.Task[Any] | None = None
        if address.emulated and "AWS_ACCESS_KEY_ID" not in os.environ:
            # An emulator asks for a signature and believes any; nobody's real one has to travel in plain text for it.
            self._session.set_credentials("local", "local")

    async def start(self) -> None:
        """Makes the client, or leaves it under way after a second."""
        with suppress(Exception):  # the calls will say so
            async with asyncio.timeout(START_SECONDS):
                await self._ready()

    async def aclose(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        await self._stack.aclose()
        self._client = None

    async def call(self, operation: str, **parameters: Any) -> Json:
        """DynamoDB's answer, as its JSON says it. Raises the driver's errors, and ShapeError for what is no JSON object."""
        client = self._client or await self._ready()
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

    async def _ready(self) -> Any:
        """Callers share one attempt, which outlives those that stop waiting."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name="dynamodb client")
            self._opening.add_done_callback(_looked_at)
        return await asyncio.shield(self._opening)

    async def _open(self) -> Any:
        if self._client is None:
            config = AioConfig(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=self._read_seconds,
                max_pool_connections=POOL,
                retries={"mode": "standard", "total_max_attempts": 1},
                user_agent=USER_AGENT,
                parameter_validation=False,  # they are all made here, in the wire's own form
            )
            making = self._session.create_client(
                "dynamodb", region_name=self.address.region, endpoint_url=self.address.endpoint, config=config
            )
            client = await self._stack.enter_async_context(making)
            client.meta.events.register("before-parse.dynamodb", _take_body)
            self._client = client
        return self._client


def _take_body(response_dict: Json, customized_response_dict: Json, **_: Any) -> None:
    """An event of the driver's: what is put into the second dictionary is added to the answer it has parsed."""
    if response_dict["status_code"] == 200:
        customized_response_dict["body"] = response_dict["body"]
        response_dict["body"] = b""


def _looked_at(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
