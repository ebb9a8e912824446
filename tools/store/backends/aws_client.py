"""A client of one AWS service, opened in the background, so that missing credentials or an absent endpoint neither stop nor
hold up a start. One that could not be made (the credentials' endpoint is down, say) is tried again by the next call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

from tools.store.backends.aws_models import service_models

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
