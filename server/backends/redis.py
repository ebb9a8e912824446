"""Redis, as it is reached: in this process, alone, or as a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from server.backends.ports import CONNECT_SECONDS, EMBEDDED
from server.config.settings import Settings
from session.redis.address import RedisAddress
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline

if TYPE_CHECKING:
    from session.redis.cluster import ClusteredRedis
    from session.redis.iam import ElastiCacheIam
    from session.redis.multiplexed import MultiplexedRedis

Credentials = Callable[[], tuple[str, str]]
"""A user and the password of the moment."""


async def open_redis(settings: Settings, stack: AsyncExitStack) -> Redis:
    """Connects if Redis answers within a second; it is dialled on in the background if it does not."""
    if settings.redis_url == EMBEDDED:
        from session.redis.embedded import embedded_redis

        return await stack.enter_async_context(embedded_redis())
    address = RedisAddress.parse(settings.redis_url)
    signed_in = redis_credentials(address)
    credentials = signed_in.get_credentials if signed_in else None
    redis = _clustered(address, credentials) if address.cluster else _multiplexed(address, credentials)
    stack.push_async_callback(redis.aclose)
    await redis.connect(Deadline.after(CONNECT_SECONDS))
    return redis


def _clustered(address: RedisAddress, credentials: Credentials | None) -> ClusteredRedis:
    from session.redis.cluster import ClusteredRedis

    return ClusteredRedis(address, credentials)


def _multiplexed(address: RedisAddress, credentials: Credentials | None) -> MultiplexedRedis:
    from session.redis.multiplexed import MultiplexedRedis

    return MultiplexedRedis(address, credentials)


def redis_credentials(address: RedisAddress) -> ElastiCacheIam | None:
    """Returns those of IAM, where the address asks for them."""
    if address.iam is None or address.username is None:
        return None
    from session.redis.iam import ElastiCacheIam

    serverless = ".serverless." in address.host  # as AWS names the endpoints of Serverless caches, and no others
    return ElastiCacheIam(address.username, address.iam.cache, address.iam.region, serverless=serverless)
