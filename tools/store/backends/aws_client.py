"""A client of one AWS service, opened in the background, so that missing credentials or an absent endpoint neither stop nor
delay a start. If it cannot be made (the endpoint of the credentials is down, say), the next call tries again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import lru_cache
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.parsers import AioResponseParserFactory
from aiobotocore.session import AioSession
from botocore.loaders import Loader, create_loader

START_SECONDS = 1.0
USER_AGENT = "mangaassist"
"""Given to every client: the driver would put its own together twice a call."""


@lru_cache(maxsize=1)
def service_models() -> Loader:
    """Returns the loader of service models that all sessions share: each would read them again."""
    return create_loader()


def client_config(connect_seconds: float, read_seconds: float, pool: int, **more: Any) -> AioConfig:
    """The driver's configuration: one attempt a call, since retries, breakers and deadlines are the product's own."""
    return AioConfig(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        max_pool_connections=pool,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent=USER_AGENT,
        **more,
    )


class AwsClient:
    """A client of one service. `region` and `endpoint` default to the environment's; `region` stays None without one there.
    `parsers` replace the driver's parsers of answers, `before_send` may change a signed request."""

    def __init__(
        self,
        service: str,
        region: str | None,
        endpoint: str | None,
        config: AioConfig,
        parsers: AioResponseParserFactory | None = None,
        before_send: Callable[..., None] | None = None,
    ) -> None:
        self._service, self._endpoint, self._config = service, endpoint, config
        self._session = AioSession()
        self._session.register_component("data_loader", service_models())
        if parsers is not None:
            self._session.register_component("response_parser_factory", parsers)
        if before_send is not None:
            self._session.register("before-send", before_send)
        # Botocore reads AWS_DEFAULT_REGION and the profile; ECS sets AWS_REGION.
        self.region = region or self._session.get_config_variable("region") or os.environ.get("AWS_REGION")
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._opening: asyncio.Task[Any] | None = None
        if endpoint is not None and endpoint.startswith("http://") and "AWS_ACCESS_KEY_ID" not in os.environ:
            # An emulator accepts any signature: real credentials need not travel in plain text for it.
            self._session.set_credentials("local", "local")

    async def start(self) -> None:
        """Starts to make the client, and waits for it for a second at most."""
        with suppress(Exception):  # the calls will say so
            async with asyncio.timeout(START_SECONDS):
                await self.ready()

    async def ready(self) -> Any:
        """The driver's client. Callers share one attempt to make it, which goes on when they stop waiting. Raises the
        driver's errors."""
        if self._client is not None:
            return self._client
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"{self._service} client")
            # A failure that nobody waits for is not reported as an error.
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
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
        self._client = await self._stack.enter_async_context(making)
        return self._client
