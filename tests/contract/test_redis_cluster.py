"""A real cluster of three that loses a node, hangs, moves slots and is asked by too many at once; and signing in by IAM."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

import pytest
from redis.crc import key_slot

from server.backends import open_redis
from server.settings import Settings
from session.backends.address import RedisAddress
from session.backends.cluster import AT_ONCE, ClusteredRedis
from session.backends.iam import ElastiCacheIam
from session.backends.multiplexed import MultiplexedRedis
from session.begin import BeginRequest
from session.breaker import Breaker, BreakerPolicy
from session.deadline import Deadline
from session.failures import MemoryUnavailable
from session.keyvalue import Command, Evaluation, KeyValue
from session.limits import LocalLimits, Rate
from session.memory import SessionMemory
from session.scripts import Script
from session.turn import IMPLICIT, TurnArithmetic, TurnRequest, TurnShadows
from tests.stack import redis_servers
from tests.stack.children import child
from tests.stack.redis_servers import Cluster, Redis
from tests.stack.require import require
from tests.support.redis_kinds import as_cluster_of_one, cluster_address, cluster_is_ok, reached
from tests.support.valkey import answering, ask, connected, eventually, private_valkey


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Of this module's own. Each test leaves it as it was, but the last."""
    require("Redis cluster", redis_servers.missing())
    with redis_servers.started_cluster() as three:
        yield three


@pytest.fixture
async def redis(cluster: Cluster) -> AsyncIterator[ClusteredRedis]:
    async with reached(cluster_address(cluster.url)) as own:
        assert isinstance(own, ClusteredRedis)
        yield own


def key_on(node: Redis, redis: ClusteredRedis) -> str:
    """A key that this node has the slot of."""
    keys = (f"{{{n}}}" for n in range(1000))
    return next(key for key in keys if redis._client.get_node_from_key(key).port == node.port)


async def until_it_answers(redis: KeyValue, *keys: str, seconds: float = 30.0) -> None:
    """Reading every one of the keys works again."""
    deadline = Deadline.after(seconds)
    while True:
        try:
            replies = await redis.trip([Command(("GET", key)) for key in keys], Deadline.after(1))
        except MemoryUnavailable:
            replies = [None, MemoryUnavailable("")]
        if not any(isinstance(reply, Exception) for reply in replies):
            return
        assert not deadline.expired(), "the cluster did not come back"
        await asyncio.sleep(0.02)


@contextmanager
def started_again(node: Redis) -> Iterator[None]:
    """On the same port and in the same folder, where it finds which slots it has."""
    command = node.child.process.args[7:]  # type: ignore[index]  # what comes after the launcher
    with child("Redis again", command, node.child.log):
        yield


async def test_a_thousand_trips_at_once_wait_for_each_other_and_each_gets_its_own_reply(
    redis: ClusteredRedis, cluster: Cluster
) -> None:
    """None fails for want of a connection, and there are never more connections than places."""

    async def own(n: int) -> bool:
        key, later = f"{{many-{n}}}", Deadline.after(60)
        limit = Evaluation(Script.load("limit"), (f"{key}:limit",), (10, 40))
        written = await redis.trip([Command(("SET", key, n)), limit], later)
        return [written, await redis.trip([Command(("GET", key))], later)] == [[b"OK", 0], [str(n).encode()]]

    assert all(await asyncio.gather(*(own(n) for n in range(1000))))
    for node in cluster.nodes:
        async with connected(RedisAddress.parse(node.url)) as direct:
            clients = (await ask(direct, "CLIENT", "LIST", "TYPE", "normal")).splitlines()
            assert len(clients) <= AT_ONCE + 2


async def test_a_trip_asks_several_nodes_at_once(redis: ClusteredRedis, cluster: Cluster) -> None:
    """The replies of three nodes stand in the order of the steps."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    later = Deadline.after(10)
    await redis.trip([Command(("SET", key, n)) for n, key in enumerate(keys)], later)
    assert await redis.trip([Command(("GET", key)) for key in reversed(keys)], later) == [b"2", b"1", b"0"]


async def test_a_slot_on_its_way_and_one_that_has_moved_are_found(redis: ClusteredRedis, cluster: Cluster) -> None:
    """ASK while it moves, MOVED when it has; the caller notices neither, and scripts run there as well."""
    there, left_behind = "{0}:there", "{0}:here"
    owner = redis._client.get_node_from_key(there).port
    source, target = next((a, b) for a in cluster.nodes for b in cluster.nodes if a.port == owner and b is not a)
    slot, later = key_slot(b"{0}"), Deadline.after(20)
    async with connected(RedisAddress.parse(source.url)) as old, connected(RedisAddress.parse(target.url)) as new:
        names = [(await ask(node, "CLUSTER", "MYID")).decode() for node in (old, new)]
        await redis.trip([Command(("SET", left_behind, "1"))], later)
        await ask(new, "CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
        await ask(old, "CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
        steps = [Command(("SET", there, "2")), Command(("GET", left_behind))]
        assert await redis.trip(steps, later) == [b"OK", b"1"]
        await ask(old, "MIGRATE", "127.0.0.1", target.port, left_behind, 0, 5000)
        for node in (new, old):
            await ask(node, "CLUSTER", "SETSLOT", slot, "NODE", names[1])
        run = Evaluation(Script.load("limit"), ("{0}:limit",), (10, 40))
        reads = [Command(("GET", there)), Command(("GET", left_behind)), run]
        for _ in range(8):  # redis-py learns the topology anew at the fifth MOVED
            assert await redis.trip(reads, later) == [b"2", b"1", 0]
        async with reached(cluster_address(source.url)) as fresh:
            assert await fresh.trip(reads, later) == [b"2", b"1", 0]


async def test_a_node_that_hangs_costs_a_trip_its_time_and_no_more_and_is_found_again(
    redis: ClusteredRedis, cluster: Cluster
) -> None:
    """No trip waits past its deadline; what it left under way ends by itself; the node is used again when it answers."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    cluster.nodes[1].child.pause()
    try:
        for _ in range(5):
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("GET", key)) for key in keys], Deadline.after(0.05))
        await eventually(lambda: not redis._under_way, 10)
    finally:
        cluster.nodes[1].child.resume()
    await until_it_answers(redis, *keys)


async def test_a_node_that_is_killed_is_used_again_when_it_is_back(redis: ClusteredRedis, cluster: Cluster) -> None:
    """The last with this cluster, whose node goes again at its end. Meanwhile trips say that memory is away, or what the cluster says; nothing else is raised."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    cluster.nodes[2].child.kill()
    with pytest.raises(MemoryUnavailable):
        await redis.trip([Command(("SET", keys[2], "1"))], Deadline.after(2))
    for key in keys * 5:
        try:
            await redis.trip([Command(("GET", key))], Deadline.after(0.05))
        except MemoryUnavailable:
            continue
    with started_again(cluster.nodes[2]):
        for node in cluster.nodes:
            async with connected(RedisAddress.parse(node.url)) as direct:
                await answering(direct)
                await cluster_is_ok(direct)
        await until_it_answers(redis, *keys)
        assert await redis.trip([Command(("SET", keys[2], "2"))], Deadline.after(5)) == [b"OK"]


async def test_callers_that_leave_leave_nothing_behind(valkey_cluster: KeyValue) -> None:
    """Their steps end by themselves; nobody is sent a reply that was another's."""
    own = valkey_cluster
    await ask(own, "SET", "mine", "1")
    tasks = asyncio.all_tasks()
    gone = [asyncio.create_task(own.trip([Command(("GET", f"{n}"))], Deadline.after(5))) for n in range(100)]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    assert await own.trip([Command(("GET", "mine"))], Deadline.after(5)) == [b"1"]
    await eventually(lambda: asyncio.all_tasks() <= tasks)


async def test_a_closed_one_is_unavailable_and_stays_so(valkey_cluster: KeyValue) -> None:
    """redis-py by itself would connect again."""
    await valkey_cluster.aclose()
    with pytest.raises(MemoryUnavailable, match="not connected"):
        await valkey_cluster.trip([Command(("GET", "x"))], Deadline.after(5))


async def test_nothing_is_deprecated_and_nothing_is_left_open() -> None:
    """From the first command to the end, and when the end comes while the cluster is away."""
    with private_valkey("--cluster-enabled", "yes") as own, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        address = await as_cluster_of_one(own.address)
        async with reached(address) as redis:
            await ask(redis, "SET", "x", "1")
        async with reached(address) as redis:
            await ask(redis, "SET", "x", "1")
            own.hang()
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("GET", "x"))], Deadline.after(0.05))
            own.go_on()
            own.kill()
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("GET", "x"))], Deadline.after(5))
        del redis
        gc.collect()
    assert [str(each.message) for each in heard] == []


@pytest.fixture
async def valkey_cluster() -> AsyncIterator[KeyValue]:
    with private_valkey("--cluster-enabled", "yes") as own:
        async with reached(await as_cluster_of_one(own.address)) as redis:
            yield redis


async def test_memory_is_degraded_while_the_cluster_hangs_and_whole_again_after_it() -> None:
    """As wired: 50 ms a trip, a breaker, and no call that fails for it."""
    with private_valkey("--cluster-enabled", "yes") as own:
        address = await as_cluster_of_one(own.address)
        async with reached(address) as redis:
            breaker = Breaker("redis", BreakerPolicy(5.0))
            arithmetic = TurnArithmetic(3000, TurnShadows())
            memory = SessionMemory(redis, breaker, arithmetic, None, LocalLimits(Rate()))
            request = BeginRequest("s", "u", TurnRequest("key", IMPLICIT, Deadline.after(0).at), limited=False)
            deadline = Deadline.after(10)
            while (await memory.begin(request)).degraded:
                assert not deadline.expired()
            own.hang()
            assert (await memory.begin(request)).degraded
            own.go_on()
            deadline = Deadline.after(10)
            while (await memory.begin(request)).degraded:
                assert not deadline.expired(), "the cluster was not found again"
                await asyncio.sleep(0.01)


async def test_a_cluster_slower_to_greet_than_a_trip_may_take_is_reached_all_the_same() -> None:
    """The first trips are too short to learn the topology in; it is learnt while they give up."""
    with private_valkey("--cluster-enabled", "yes") as own:
        address = await as_cluster_of_one(own.address)
        redis = ClusteredRedis(address)
        deadline = Deadline.after(10)
        while True:
            try:
                assert await redis.trip([Command(("PING",))], Deadline.after(0.002)) == [b"PONG"]
                break
            except MemoryUnavailable:
                assert not deadline.expired(), "no trip ever saw the end of it"
        await redis.aclose()


async def test_the_setting_reaches_the_cluster(redis_cluster_url: str) -> None:
    """MANGA_REDIS_URL=redis+cluster://… is wired to it, and it is known before the first call."""
    async with AsyncExitStack() as stack:
        url = redis_cluster_url.replace("redis://", "redis+cluster://")
        redis = await open_redis(Settings.from_environment({"MANGA_REDIS_URL": url}), stack)
        assert isinstance(redis, ClusteredRedis)
        assert len(redis._client.get_primaries()) == 3
        assert await redis.trip([Command(("PING",))], Deadline.after(5)) == [b"PONG"]


# -- signing in with AWS credentials


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture(params=[False, True], ids=["one", "cluster"])
async def guarded(request: pytest.FixtureRequest) -> AsyncIterator[RedisAddress]:
    """A Valkey that knows one user, whose password it does not check, and nobody else."""
    options = ("--cluster-enabled", "yes") if request.param else ()
    with private_valkey(*options) as own:
        address = await as_cluster_of_one(own.address) if request.param else own.address
        async with connected(own.address) as redis:
            await ask(redis, "ACL", "SETUSER", "app", "on", "nopass", "allkeys", "+@all")
            await ask(redis, "ACL", "SETUSER", "default", "off")
        yield replace(address, username="app")


def signing_in(address: RedisAddress) -> ClusteredRedis | MultiplexedRedis:
    iam = ElastiCacheIam("app", "my-cache", "eu-west-1")
    return ClusteredRedis(address, iam) if address.cluster else MultiplexedRedis(address, iam.get_credentials)


@pytest.mark.usefixtures("role")
async def test_each_connection_signs_in_as_the_user_with_a_token(guarded: RedisAddress) -> None:
    redis = signing_in(guarded)
    await redis.connect(Deadline.after(5))
    assert await redis.trip([Command(("SET", "x", "1"))], Deadline.after(5)) == [b"OK"]
    await redis.aclose()
    async with connected(replace(guarded, cluster=False, password="any")) as direct:
        assert b"user=app" in await ask(direct, "CLIENT", "LIST")


async def test_without_aws_credentials_memory_is_away_until_there_are_some(
    guarded: RedisAddress, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says why, however often it is tried; nothing else is disturbed."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    redis = signing_in(guarded)
    await redis.connect(Deadline.after(0.3))
    for _ in range(3):
        with pytest.raises(MemoryUnavailable):
            await redis.trip([Command(("GET", "x"))], Deadline.after(0.5))
    complaints = [record for record in caplog.records if "AWS credentials" in record.message]
    assert len(complaints) == 1
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    await until_it_answers(redis, "x")
    await redis.aclose()
