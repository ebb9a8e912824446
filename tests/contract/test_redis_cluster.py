"""A real cluster of three that loses a node, hangs, fails over, moves slots and is asked by very many at once; its names and
its certificates; and signing in by IAM."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace

import pytest
from redis.crc import key_slot

from server.backends.opening import open_redis
from server.config.settings import Settings
from session.begin import BeginRequest
from session.failures import MemoryRefused, MemoryUnavailable, NodeUnanswered, NodeUnavailable, Unanswered
from session.memory import SessionMemory
from session.redis.address import RedisAddress
from session.redis.cluster import ClusteredRedis
from session.redis.diagnosis import diagnose
from session.redis.iam import ElastiCacheIam
from session.redis.keyvalue import Command, Evaluation, KeyValue, Reply
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.breaker import BreakerPolicy, CircuitBreaker
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import LocalLimits, Rate
from session.scripts import Script
from session.turn import IMPLICIT, TurnRequest, Turns
from tests.stack import redis_servers
from tests.stack.children import child
from tests.stack.redis_servers import Cluster, Redis
from tests.stack.require import require
from tests.support.cases import cases
from tests.support.redis_kinds import as_cluster_of_one, cluster_address, reached
from tests.support.valkey import SOON, ask, connected, eventually, private_valkey


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Of this module's own. Each test leaves it as it was, but the last. A node that hangs for seconds is not given up."""
    require("Redis cluster", redis_servers.missing())
    with redis_servers.started_cluster(patience_ms=60_000) as three:
        yield three


@pytest.fixture
async def redis(cluster: Cluster) -> AsyncIterator[ClusteredRedis]:
    async with reached(cluster_address(cluster.url)) as own:
        assert isinstance(own, ClusteredRedis)
        yield own


@pytest.fixture(scope="module")
def tls_cluster() -> Iterator[Cluster]:
    require("Redis cluster with TLS", redis_servers.missing())
    with redis_servers.started_cluster(tls=True) as three:
        yield three


def key_on(node: Redis, redis: ClusteredRedis) -> str:
    """A key that this node has the slot of."""
    return next(key for key in (f"{{{n}}}" for n in range(1000)) if owner_of(key, redis) == node.port)


def owner_of(key: str, redis: ClusteredRedis) -> int:
    """The port of the node that is asked for a key."""
    node = redis.node_of(key)
    assert node is not None
    return int(node.port)


async def read(redis: KeyValue, *keys: str, seconds: float = 1.0) -> list[Reply | Exception]:
    return await redis.trip([Command(("GET", key)) for key in keys], Deadline.after(seconds))


async def until_it_answers(redis: KeyValue, *keys: str, seconds: float = 30.0) -> None:
    """Reading every one of the keys works again. Till then it is unavailable, and nothing else."""
    deadline = Deadline.after(seconds)
    while True:
        try:
            replies = await read(redis, *keys)
        except MemoryUnavailable:
            assert not deadline.expired(), "the cluster did not come back"
            await asyncio.sleep(0.02)
        else:
            assert not [reply for reply in replies if isinstance(reply, Exception)]
            return


@contextmanager
def started_again(node: Redis) -> Iterator[None]:
    """On the same port and in the same folder, where it finds which slots it has."""
    command = node.child.process.args[7:]  # type: ignore[index]  # what comes after the launcher
    with child("Redis again", command, node.child.log):
        yield


@contextmanager
def paused(node: Redis) -> Iterator[None]:
    """It hangs, and keeps its connections."""
    node.child.pause()
    try:
        yield
    finally:
        node.child.resume()


# -- many at once


async def test_three_hundred_concurrent_first_calls_are_answered_over_tls(tls_cluster: Cluster) -> None:
    """Nothing is connected and no slot is known before them: each waits within its own deadline."""

    async def own(n: int) -> bool:
        key, later = f"{{cold-{n}}}", Deadline.after(20)
        limit = Evaluation(Script.load("limit"), (f"{key}:limit",), (10, 40, 1))
        return await redis.trip([Command(("SET", key, n)), limit, Command(("GET", key))], later) == [
            b"OK",
            0,
            str(n).encode(),
        ]

    redis = ClusteredRedis(cluster_address(tls_cluster.url))
    assert all(await asyncio.gather(*(own(n) for n in range(300))))
    for node in tls_cluster.nodes:
        async with connected(RedisAddress.parse(node.url)) as direct:
            clients = (await ask(direct, "CLIENT", "LIST", "TYPE", "normal")).splitlines()
            assert len(clients) == 2, "one connection carries them all"
    await redis.aclose()


async def test_one_round_trip_asks_several_nodes_and_keeps_the_order_of_replies(
    redis: ClusteredRedis, cluster: Cluster
) -> None:
    """The replies of three nodes stand in the order of the steps."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    later = Deadline.after(SOON)
    await redis.trip([Command(("SET", key, n)) for n, key in enumerate(keys)], later)
    assert await read(redis, *reversed(keys)) == [b"2", b"1", b"0"]


async def test_steps_for_one_node_are_sent_in_one_write(redis: ClusteredRedis, cluster: Cluster) -> None:
    """The node itself counts its reads."""

    async def reads() -> int:
        told = (await ask(direct, "INFO", "stats")).decode().split()
        return int(next(line for line in told if line.startswith("total_reads_processed:")).split(":")[1])

    key, node = key_on(cluster.nodes[0], redis), cluster.nodes[0]
    async with connected(RedisAddress.parse(node.url)) as direct:
        before = await reads()
        await read(redis, *[key] * 20)
        assert await reads() - before == 2, "the twenty, and this question"


# -- slots that move


async def test_calls_go_on_and_count_once_while_their_slot_moves(redis: ClusteredRedis, cluster: Cluster) -> None:
    """The nodes answer ASK during the move and MOVED after it, which callers do not notice."""
    keys = [f"{{moving}}:{n}" for n in range(30)]
    counts = dict.fromkeys(keys, 0)
    done = asyncio.Event()

    async def count(own: list[str]) -> None:
        while not done.is_set():
            for key in own:
                counts[key] += 1
                limit = Evaluation(Script.load("limit"), (f"{key}:limit",), (1000, 1000, 1))
                assert await redis.trip([Command(("INCR", key)), limit], Deadline.after(SOON)) == [counts[key], 0]

    async with moving("{moving}", redis, cluster) as move:
        callers = [asyncio.create_task(count(keys[n::5])) for n in range(5)]
        await eventually(lambda: all(counts.values()))
        await move.begin()
        for key in keys:
            before = counts[key]
            await ask(move.source, "MIGRATE", "127.0.0.1", move.port, "", 0, 5000, "KEYS", key, f"{key}:limit")
            await eventually(lambda key=key, before=before: counts[key] > before + 1)
        await move.end()
        await eventually(lambda: owner_of("{moving}", redis) == move.port)
        before_ = dict(counts)
        await eventually(lambda: all(counts[key] > before_[key] for key in keys))
        done.set()
        await asyncio.gather(*callers)


async def test_key_in_a_moving_slot_is_created_and_a_split_pair_is_unavailable(
    redis: ClusteredRedis, cluster: Cluster
) -> None:
    """Redis's TRYAGAIN is raised as the port's failure and not returned as a reply."""
    async with moving("{torn}", redis, cluster) as move:
        await redis.trip([Command(("SET", "{torn}:here", 1))], Deadline.after(SOON))
        await move.begin()
        new = Evaluation(Script.load("limit"), ("{torn}:limit",), (10, 40, 1))
        assert await redis.trip([new, Command(("SET", "{torn}:there", 2)), new], Deadline.after(SOON)) == [0, b"OK", 0]
        with pytest.raises(MemoryUnavailable, match="now"):
            await redis.trip([Command(("MGET", "{torn}:here", "{torn}:there"))], Deadline.after(SOON))
        await ask(move.source, "MIGRATE", "127.0.0.1", move.port, "{torn}:here", 0, 5000)
        await move.end()
        assert await redis.trip([Command(("MGET", "{torn}:here", "{torn}:there"))], Deadline.after(SOON)) == [[b"1", b"2"]]
        assert owner_of("{torn}", redis) == move.port, "known at once, and not when the topology has been learnt anew"


async def test_command_across_slots_is_a_refusal(redis: ClusteredRedis) -> None:
    (reply,) = await redis.trip([Command(("MGET", "{a}", "{b}"))], Deadline.after(SOON))
    assert isinstance(reply, MemoryRefused)


class Move:
    """A slot on its way from the node that has it to another."""

    def __init__(self, slot: int, source: KeyValue, target: KeyValue, others: list[KeyValue], port: int) -> None:
        self.slot, self.source, self.target, self.others, self.port = slot, source, target, others, port

    async def begin(self) -> None:
        names = [(await ask(node, "CLUSTER", "MYID")).decode() for node in (self.source, self.target)]
        await ask(self.target, "CLUSTER", "SETSLOT", self.slot, "IMPORTING", names[0])
        await ask(self.source, "CLUSTER", "SETSLOT", self.slot, "MIGRATING", names[1])

    async def end(self) -> None:
        name = (await ask(self.target, "CLUSTER", "MYID")).decode()
        for node in (self.target, self.source, *self.others):
            await ask(node, "CLUSTER", "SETSLOT", self.slot, "NODE", name)


@asynccontextmanager
async def moving(tag: str, redis: ClusteredRedis, cluster: Cluster) -> AsyncIterator[Move]:
    """From wherever it is to the next node."""
    here = next(n for n, node in enumerate(cluster.nodes) if node.port == owner_of(tag, redis))
    source, target, other = (cluster.nodes[(here + n) % 3] for n in range(3))
    async with AsyncExitStack() as stack:
        direct = [await stack.enter_async_context(connected(RedisAddress.parse(n.url))) for n in (source, target, other)]
        yield Move(key_slot(tag.encode()), direct[0], direct[1], [direct[2]], target.port)


# -- nodes that hang, die and are replaced


@pytest.mark.alone
async def test_hanging_node_affects_its_own_keys_only(redis: ClusteredRedis, cluster: Cluster) -> None:
    """Its trips time out, and later fail at once; health reports it, and it is used once it answers."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    ends = time.monotonic() + 1.5
    with paused(cluster.nodes[1]):
        while time.monotonic() < ends:
            started = time.monotonic()
            with pytest.raises(MemoryUnavailable):
                await read(redis, keys[1], seconds=0.05)
            assert time.monotonic() - started < 0.5, "far more than 50 ms, on a machine that does much else"
            assert len(await read(redis, keys[0], keys[2])) == 2
            await asyncio.sleep(0.01)
        with pytest.raises(MemoryUnavailable):
            await redis.trip([Command(("PING",))], Deadline.after(0.5))
    await until_it_answers(redis, *keys)
    assert await redis.trip([Command(("PING",))], Deadline.after(1)) == [b"PONG"]


async def test_round_trip_lost_with_its_node_raises_node_unanswered(redis: ClusteredRedis, cluster: Cluster) -> None:
    """It says nothing of the other nodes; the commands of a late node may have been executed."""
    key = f"{key_on(cluster.nodes[0], redis)}:nothing"
    async with connected(RedisAddress.parse(cluster.nodes[0].url)) as direct:
        under_way = asyncio.create_task(redis.trip([Command(("BLPOP", key, 0))], Deadline.after(SOON)))
        while b"cmd=blpop" not in await ask(direct, "CLIENT", "LIST"):
            assert not under_way.done()
        with pytest.raises(Unanswered):
            await read(redis, key, seconds=0.01)
        await ask(direct, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        with pytest.raises(NodeUnanswered):
            await under_way
    await until_it_answers(redis, key)


async def test_hanging_node_does_not_open_the_breaker_for_sessions_of_others(
    redis: ClusteredRedis, cluster: Cluster
) -> None:
    """The server has one breaker for all: once the node is known to hang, other nodes' sessions work."""
    memory = SessionMemory(redis, CircuitBreaker("redis", BreakerPolicy(5.0)), Turns(3000), None, LocalLimits(Rate()))

    async def remembers(session: str) -> bool:
        request = BeginRequest(session, "u", TurnRequest(session, IMPLICIT, Deadline.after(0).at))
        return not (await memory.begin(request)).degraded

    async def is_known_to_be_away(key: str) -> bool:
        try:
            await read(redis, key, seconds=0.05)
        except MemoryUnavailable as failure:
            return isinstance(failure, NodeUnavailable)
        return False

    sessions = {owner_of(f"{{{n}}}", redis): str(n) for n in range(100)}
    there, away = sessions[cluster.nodes[0].port], sessions[cluster.nodes[1].port]
    deadline = Deadline.after(SOON)
    while not all([await remembers(there), await remembers(away)]):
        assert not deadline.expired()
    with paused(cluster.nodes[1]):
        while not await is_known_to_be_away(f"{{{away}}}"):
            await asyncio.sleep(0.02)
        while not await remembers(there):
            assert not deadline.expired()
            await asyncio.sleep(0.02)
        told = [(await remembers(away), await remembers(there)) for _ in range(30)]
    assert not any(lost for lost, _ in told)
    # On a busy machine a trip may take more than its 50 ms; a breaker that is open for all would refuse each of them.
    assert sum(kept for _, kept in told) > 20
    await until_it_answers(redis, f"{{{away}}}")
    deadline = Deadline.after(SOON)
    while not await remembers(away):
        assert not deadline.expired()


async def test_replica_takes_over_for_a_killed_primary() -> None:
    """The cluster needs about two seconds, in which memory is unavailable."""
    require("Redis cluster", redis_servers.missing())
    with redis_servers.started_cluster(replica=True, patience_ms=1000) as cluster:
        assert cluster.replica is not None
        async with reached(cluster_address(cluster.url)) as redis:
            assert isinstance(redis, ClusteredRedis)
            keys = [key_on(node, redis) for node in cluster.nodes]
            await redis.trip([Command(("SET", key, "kept")) for key in keys], Deadline.after(SOON))
            async with connected(RedisAddress.parse(cluster.nodes[2].url)) as primary:
                assert await ask(primary, "WAIT", 1, 5000) == 1
            cluster.nodes[2].child.kill()
            await until_it_answers(redis, *keys)
            assert await read(redis, *keys) == [b"kept"] * 3
            assert owner_of(keys[2], redis) == cluster.replica.port
            assert cluster.nodes[2].port not in {int(node.port) for node in redis.primaries}


async def test_killed_node_is_used_again_when_it_is_back(redis: ClusteredRedis, cluster: Cluster) -> None:
    """The last with this cluster, whose node goes again at its end. Meanwhile memory is away for all, as the cluster has it."""
    keys = [key_on(node, redis) for node in cluster.nodes]
    for node in cluster.nodes:
        async with connected(RedisAddress.parse(node.url)) as direct:
            await ask(direct, "CONFIG", "SET", "cluster-node-timeout", 1000)
    cluster.nodes[2].child.kill()
    with pytest.raises(MemoryUnavailable):
        await redis.trip([Command(("SET", keys[2], "1"))], Deadline.after(2))
    async with connected(RedisAddress.parse(cluster.nodes[0].url)) as direct:
        deadline = Deadline.after(20)
        while b"cluster_state:fail" not in await ask(direct, "CLUSTER", "INFO"):
            assert not deadline.expired()
            await asyncio.sleep(0.02)
    with pytest.raises(MemoryUnavailable, match="now"):
        await read(redis, keys[0])
    with started_again(cluster.nodes[2]):
        await until_it_answers(redis, *keys)
        assert await redis.trip([Command(("SET", keys[2], "2"))], Deadline.after(SOON)) == [b"OK"]


# -- what a node says of where it is, and what certificates say of whom they are


@pytest.mark.slow  # a cluster of its own
@cases(
    ("seed", "names", "settings"),
    [
        ("127.0.0.1", "IP:127.0.0.1", {}),  # it has met nobody, and knows no address of its own
        ("localhost", "DNS:localhost", {"cluster-preferred-endpoint-type": "unknown-endpoint"}),
        (  # as ElastiCache Serverless does: one endpoint by name, every slot
            "127.0.0.1",
            "IP:127.0.0.1,DNS:localhost",
            {"cluster-announce-hostname": "localhost", "cluster-preferred-endpoint-type": "hostname"},
        ),
        ("localhost", "DNS:localhost", {"cluster-announce-hostname": "localhost", "cluster-announce-ip": "127.0.0.1"}),
        ("localhost", "DNS:localhost", {"cluster-announce-ip": "127.0.0.1"}),  # by number, certified by name
        ("localhost", "IP:127.0.0.1,DNS:localhost", {"cluster-announce-ip": "127.0.0.1", "cluster-preferred-endpoint-type": "hostname"}),
    ],
)  # fmt: skip
async def test_node_is_reached_under_the_name_in_its_certificate(seed: str, names: str, settings: dict[str, str]) -> None:
    require("Redis cluster with TLS", redis_servers.missing())
    with redis_servers.started(tls=True, cluster=True, names=names, more=settings) as own:
        address = replace(cluster_address(own.url), host=seed)
        async with reached(await as_cluster_of_one(address)) as redis:
            steps = [Command(("SET", "x", "1")), Command(("PING",))]
            assert await redis.trip(steps, Deadline.after(SOON)) == [b"OK", b"PONG"]


async def test_node_with_a_foreign_certificate_is_refused() -> None:
    """The certificate names neither the node nor the cluster."""
    require("Redis cluster with TLS", redis_servers.missing())
    with redis_servers.started(tls=True, cluster=True, names="DNS:elsewhere") as own:
        redis = ClusteredRedis(replace(cluster_address(own.url), host="localhost"))
        await redis.connect(Deadline.after(0.3))
        with pytest.raises(MemoryUnavailable):
            await read(redis, "x")
        await redis.aclose()


async def test_cluster_without_slots_is_unavailable_until_they_are_assigned() -> None:
    """A cluster that misses one slot is unhealthy, though it may serve the others."""
    with private_valkey("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no") as own:
        redis = ClusteredRedis(replace(own.address, cluster=True))
        await redis.connect(Deadline.after(0.1))
        with pytest.raises(MemoryUnavailable):
            await read(redis, "x")
        await as_cluster_of_one(own.address)
        await until_it_answers(redis, "x")
        assert await redis.trip([Command(("PING",))], Deadline.after(1)) == [b"PONG"]
        async with connected(own.address) as direct:
            await ask(direct, "CLUSTER", "DELSLOTS", key_slot(b"y"))
        assert await read(redis, "x") == [None]
        with pytest.raises(MemoryUnavailable):
            await redis.trip([Command(("PING",))], Deadline.after(1))
        with pytest.raises(MemoryUnavailable):
            await read(redis, "y")
        await redis.aclose()


async def test_user_without_the_right_to_the_topology_is_unavailable_and_doctor_says_why() -> None:
    """Without the topology no node is found, so a node that answers all else is unhealthy."""
    with private_valkey("--cluster-enabled", "yes") as own:
        address = replace(await as_cluster_of_one(own.address), username="app", password="any")
        async with connected(own.address) as direct:
            await ask(direct, "ACL", "SETUSER", "app", "on", "nopass", "allkeys", "+@all", "-cluster|slots")
            redis = ClusteredRedis(address)
            await redis.connect(Deadline.after(0.1))
            with pytest.raises(MemoryUnavailable):
                await read(redis, "x")
            assert (
                await diagnose(address, None, Deadline.after(SOON))
            ).detail == "its user lacks permissions that serving needs"
            await ask(direct, "ACL", "SETUSER", "app", "+cluster|slots")
            await until_it_answers(redis, "x")
            assert (await diagnose(address, None, Deadline.after(SOON))).detail == "a cluster, all slots served"
            await redis.aclose()


# -- beginnings and ends


async def test_cancelled_callers_leave_no_task_behind(valkey_cluster: KeyValue) -> None:
    """Their steps end by themselves, and no caller gets another's reply."""
    own = valkey_cluster
    await ask(own, "SET", "mine", "1")
    tasks = asyncio.all_tasks()
    gone = [asyncio.create_task(own.trip([Command(("GET", f"{n}"))], Deadline.after(SOON))) for n in range(100)]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    assert await own.trip([Command(("GET", "mine"))], Deadline.after(SOON)) == [b"1"]
    await eventually(lambda: asyncio.all_tasks() <= tasks)


async def test_closed_cluster_client_stays_unavailable(valkey_cluster: KeyValue) -> None:
    """A second close changes nothing."""
    await valkey_cluster.aclose()
    await valkey_cluster.aclose()
    with pytest.raises(MemoryUnavailable, match="not connected"):
        await read(valkey_cluster, "x")


@cases("moment", ["while it dials", "while it hangs", "while it answers"])
async def test_closing_ends_every_round_trip_and_leaves_no_task(moment: str) -> None:
    """Waiting callers fail at once and not at their own deadline."""
    with private_valkey("--cluster-enabled", "yes") as own:
        redis = ClusteredRedis(await as_cluster_of_one(own.address))
        tasks = asyncio.all_tasks()
        if moment == "while it dials":
            own.hang()
        else:
            await redis.connect(Deadline.after(SOON))
        if moment == "while it hangs":
            own.hang()
        trips = [asyncio.create_task(redis.trip([Command(("BLPOP", f"{n}", 0))], Deadline.after(60))) for n in range(20)]
        await asyncio.sleep(0.05)
        await redis.aclose()
        async with asyncio.timeout(30):
            ended = await asyncio.gather(*trips, return_exceptions=True)
        assert all(isinstance(each, MemoryUnavailable) for each in ended), ended
        await eventually(lambda: asyncio.all_tasks() <= tasks)


async def test_cluster_client_uses_nothing_deprecated_and_leaves_nothing_open(caplog: pytest.LogCaptureFixture) -> None:
    """The check covers first command to end, and an end while the cluster is away."""
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
            own.kill()
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("GET", "x"))], Deadline.after(SOON))
        del redis
        gc.collect()
    assert [str(each.message) for each in heard] == []
    assert "never retrieved" not in caplog.text, "what a trip left behind failed, and nobody was there to hear of it"


@pytest.fixture
async def valkey_cluster() -> AsyncIterator[KeyValue]:
    with private_valkey("--cluster-enabled", "yes") as own:
        async with reached(await as_cluster_of_one(own.address)) as redis:
            yield redis


async def test_memory_is_degraded_while_the_cluster_hangs_and_recovers() -> None:
    """The wired server has 50 ms a trip and a breaker, and no call fails."""
    with private_valkey("--cluster-enabled", "yes") as own:
        address = await as_cluster_of_one(own.address)
        async with reached(address) as redis:
            breaker = CircuitBreaker("redis", BreakerPolicy(5.0))
            arithmetic = Turns(3000)
            memory = SessionMemory(redis, breaker, arithmetic, None, LocalLimits(Rate()))
            request = BeginRequest("s", "u", TurnRequest("key", IMPLICIT, Deadline.after(0).at))
            deadline = Deadline.after(SOON)
            while (await memory.begin(request)).degraded:
                assert not deadline.expired()
            own.hang()
            assert (await memory.begin(request)).degraded
            own.go_on()
            deadline = Deadline.after(SOON)
            while (await memory.begin(request)).degraded:
                assert not deadline.expired(), "the cluster was not found again"
                await asyncio.sleep(0.01)


async def test_cluster_slow_to_connect_is_reached_across_short_round_trips() -> None:
    """The first trips are too short to learn the topology, which is learnt while they time out."""
    with private_valkey("--cluster-enabled", "yes") as own:
        address = await as_cluster_of_one(own.address)
        redis = ClusteredRedis(address)
        deadline = Deadline.after(SOON)
        while True:
            try:
                assert await redis.trip([Command(("PING",))], Deadline.after(0.002)) == [b"PONG"]
                break
            except MemoryUnavailable:
                assert not deadline.expired(), "no trip ever saw the end of it"
        await redis.aclose()


async def test_redis_url_setting_opens_a_cluster_client(redis_cluster_url: str) -> None:
    """MANGA_REDIS_URL=redis+cluster://… is wired to it, and the topology is known before the first call."""
    async with AsyncExitStack() as stack:
        url = redis_cluster_url.replace("redis://", "redis+cluster://")
        redis = await open_redis(Settings.from_environment({"MANGA_REDIS_URL": url}), stack)
        assert isinstance(redis, ClusteredRedis)
        assert len(redis.primaries) == 3
        assert await redis.trip([Command(("PING",))], Deadline.after(SOON)) == [b"PONG"]


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
    iam = ElastiCacheIam("app", "my-cache", "eu-west-1", serverless=False)
    return (ClusteredRedis if address.cluster else MultiplexedRedis)(address, iam.get_credentials)


@pytest.mark.usefixtures("role")
async def test_each_connection_authenticates_with_an_iam_token(guarded: RedisAddress) -> None:
    redis = signing_in(guarded)
    await redis.connect(Deadline.after(SOON))
    assert await redis.trip([Command(("SET", "x", "1"))], Deadline.after(SOON)) == [b"OK"]
    await redis.aclose()
    async with connected(replace(guarded, cluster=False, password="any")) as direct:
        assert b"user=app" in await ask(direct, "CLIENT", "LIST")


async def test_memory_is_away_without_aws_credentials_and_logged_once(
    guarded: RedisAddress, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line gives the reason for any number of attempts; nothing else is affected."""
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
