"""The Redis servers are what session memory takes them for: one, one with TLS, a cluster."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from redis import asyncio as redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import AuthenticationError

from tests.stack import redis_servers
from tests.stack.children import answers
from tests.stack.require import require

pytestmark = pytest.mark.usefixtures("redis_is_here")
COUNT = "local n = redis.call('HINCRBY', KEYS[1], 'calls', 1) redis.call('EXPIRE', KEYS[1], ARGV[1]) return n"


@pytest.fixture(scope="module")
def redis_is_here() -> None:
    """For those tests too that start a server of their own."""
    require("Redis", redis_servers.missing())


async def test_a_script_runs_by_its_hash_and_reads_the_servers_clock(redis_url: str) -> None:
    """EVALSHA and TIME inside Lua, as the begin script has them."""
    async with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        digest = await client.script_load("return redis.call('TIME')[1]")
        told = int(await client.evalsha(digest, 0))
        assert abs(told - int((await client.time())[0])) <= 2


async def test_tls_is_spoken_to_those_who_trust_the_authority_and_to_no_one_else(redis_tls_url: str) -> None:
    """The certificate is verified, host name included; without the authority there is no connection."""
    async with redis.Redis.from_url(redis_tls_url) as client:
        assert await client.set("tls", "spoken") is True
    async with redis.Redis.from_url(redis_tls_url.partition("?")[0], retry=None) as stranger:
        with pytest.raises(redis.ConnectionError, match="certificate verify failed"):
            await stranger.ping()


async def test_a_password_is_asked_for() -> None:
    """A server with a password lets nobody in without it."""
    with redis_servers.redis_server(password="opensesame") as url:
        async with redis.Redis.from_url(url) as client:
            assert await client.ping() is True
        async with redis.Redis(port=urlsplit(url).port, retry=None) as stranger:
            with pytest.raises(AuthenticationError):
                await stranger.ping()


async def test_a_gather_of_scripts_runs_on_every_node_of_the_cluster(redis_cluster_url: str) -> None:
    """Keys with a hash tag of their own land on all three masters; each tag's keys stay together; every count is right."""
    async with RedisCluster.from_url(redis_cluster_url, decode_responses=True) as client:
        digests = await client.script_load(COUNT)
        digest = digests if isinstance(digests, str) else next(iter(digests.values()))
        sessions = [f"stack:{{session-{n}}}" for n in range(30)]
        assert len({client.get_node_from_key(key).name for key in sessions}) == 3
        for turn in (1, 2):
            counts = await asyncio.gather(*(client.evalsha(digest, 1, f"{key}:turn", "60") for key in sessions))
            assert {int(count) for count in counts} == {turn}
        assert client.keyslot(f"{sessions[0]}:turn") == client.keyslot(f"{sessions[0]}:last")


async def test_the_cluster_refuses_a_script_across_slots(redis_cluster_url: str) -> None:
    """Two sessions never share a script."""
    async with RedisCluster.from_url(redis_cluster_url) as client:
        with pytest.raises(Exception, match=r"(?i)slot"):
            await client.eval("return 1", 2, "{a}", "{b}")


async def test_a_paused_server_hangs_and_a_killed_one_refuses() -> None:
    """What chaos tests need: silence on an open connection, and a port that nobody has."""
    with redis_servers.started() as server:
        async with redis.Redis.from_url(server.url, socket_timeout=0.2, retry=None) as client:
            await client.ping()
            server.child.pause()
            with pytest.raises(redis.TimeoutError):
                await client.ping()
            server.child.resume()
            server.child.wait_until(lambda: answers(server.port), 30)
        server.child.kill()
        assert not answers(server.port)
