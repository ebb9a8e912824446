"""Redis by its URL: in this process, standalone, or a cluster."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from server.backends.ports import CONNECT_SECONDS, EMBEDDED
from server.config.settings import Settings
from session.redis.address import RedisAddress
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline

if TYPE_CHECKING:
    from session.redis.iam import ElastiCacheIam


async def open_redis(settings: Settings, stack: AsyncExitStack) -> Redis:
    """Connects if Redis answers within a second; else goes on dialling in the background."""
    if settings.redis_url == EMBEDDED:
        from session.redis.embedded import embedded_redis

        return await stack.enter_async_context(embedded_redis())
    address = RedisAddress.parse(settings.redis_url)
    iam = redis_credentials(address)
    credentials = iam.get_credentials if iam else None
    redis: Redis
    if address.cluster:
        from session.redis.cluster import ClusteredRedis

        redis = ClusteredRedis(address, credentials)
    else:
        from session.redis.multiplexed import MultiplexedRedis

        redis = MultiplexedRedis(address, credentials)
    stack.push_async_callback(redis.aclose)
    await redis.connect(Deadline.after(CONNECT_SECONDS))
    return redis


def redis_credentials(address: RedisAddress) -> ElastiCacheIam | None:
    """Returns the IAM credentials that the address asks for, if any."""
    if address.iam is None or address.username is None:
        return None
    from session.redis.iam import ElastiCacheIam

    serverless = ".serverless." in address.host  # as AWS names the endpoints of Serverless caches, and no others
    return ElastiCacheIam(address.username, address.iam.cache, address.iam.region, serverless=serverless)
