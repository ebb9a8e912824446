"""What can become of the one shared connection on its way: hangs, cuts, peers that vanish, names that nobody knows.

A relay of the test's own stands before a real Valkey where it is the way that fails and not the server.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from session.failures import MemoryUnavailable
from session.redis import multiplexed
from session.redis import multiplexed as byte_side
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.multiplexed import Dialer, MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.ports import free_port
from tests.support.valkey import answering, ask, connected, eventually, private_valkey

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER that makes closing a socket a reset."""


class Relay:
    """Passes bytes both ways until it is told otherwise: `cut_after` so many bytes of replies it resets the connection,
    `swallow` keeps connections and passes nothing, as a peer does that is gone without a word."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = free_port()
        self.cut_after: int | None = None
        self.accepted = 0
        self._open = 0
        self._swallowing: set[int] = set()
        self._writers: list[asyncio.StreamWriter] = []

    def swallow(self) -> None:
        """What is connected now; new connections work."""
        self._swallowing |= set(range(self.accepted))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Relay]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        try:
            yield self
        finally:
            server.close()
            for writer in self._writers:
                writer.transport.abort()
            await eventually(lambda: not self._open)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.accepted = self.accepted, self.accepted + 1
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers += [writer, back]
        self._open += 1
        with suppress(OSError):
            await asyncio.gather(self._pass(number, reader, back), self._pass(number, there, writer, replies=True))
        self._open -= 1

    async def _pass(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool = False
    ) -> None:
        while data := await reader.read(4096):
            if replies and self.cut_after is not None:
                writer.write(data[: self.cut_after])
                await writer.drain()
                self.cut_after = None
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                writer.transport.abort()
                return
            if number not in self._swallowing:
                writer.write(data)


async def test_connection_reset_during_a_reply_fails_only_that_round_trip() -> None:
    """Half a reply is thrown away with its connection."""
    with private_valkey() as own:
        async with Relay(own.port).running() as relay, connected(RedisAddress(port=relay.port)) as redis:
            await ask(redis, "SET", "long", b"x" * 100_000)
            await ask(redis, "SET", "short", b"y")
            relay.cut_after = 1000
            with pytest.raises(MemoryUnavailable, match="lost"):
                await redis.trip([Command(("GET", "long")), Command(("GET", "short"))], Deadline.after(5))
            await answering(redis)
            assert await ask(redis, "GET", "short") == b"y"
            assert await ask(redis, "GET", "long") == b"x" * 100_000
            assert relay.accepted == 2


async def test_silent_peer_is_detected_and_reconnected_without_further_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After one failed trip a breaker stops commands; a new connection is ready when it closes."""
    monkeypatch.setattr(byte_side, "SILENCE_SECONDS", 0.3)
    with private_valkey() as own:
        async with Relay(own.port).running() as relay, connected(RedisAddress(port=relay.port)) as redis:
            relay.swallow()
            with pytest.raises(MemoryUnavailable, match="in time"):
                await redis.trip([Command(("PING",))], Deadline.after(0.02))
            await eventually(lambda: relay.accepted > 1 and redis.is_connected)
            assert await ask(redis, "PING") == b"PONG"


async def test_slow_or_idle_connection_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any received byte counts, and a connection without open commands may be silent for ever."""
    monkeypatch.setattr(byte_side, "SILENCE_SECONDS", 0.5)
    with private_valkey() as own:
        async with Relay(own.port).running() as relay, connected(RedisAddress(port=relay.port)) as redis:
            blocked = [Command(("BLPOP", "none", "0.2"))] * 4
            assert await redis.trip(blocked, Deadline.after(5)) == [None] * 4
            await asyncio.sleep(0.6)  # the silence itself
            assert await ask(redis, "PING") == b"PONG"
            assert relay.accepted == 1


async def test_unresponsive_server_is_redialled_by_one_task_while_trips_fail_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each handshake has a timeout; trips meanwhile fail without waiting."""
    monkeypatch.setattr(byte_side, "CONNECT_SECONDS", 0.1)
    with private_valkey() as own:
        own.hang()
        redis = MultiplexedRedis(own.address)
        await redis.connect(Deadline.after(0.3))
        tasks = asyncio.all_tasks()
        for _ in range(100):
            with pytest.raises(MemoryUnavailable, match="not connected"):
                await redis.trip([Command(("PING",))], Deadline.after(60))
        assert asyncio.all_tasks() == tasks, "one task dials, whoever asks"
        own.go_on()
        await answering(redis)
        await redis.aclose()


async def test_hanging_resolver_occupies_one_thread_however_often_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dials give up on the resolver, and connect once it answers."""
    monkeypatch.setattr(byte_side, "CONNECT_SECONDS", 0.02)
    hangs, asking, most = threading.Event(), 0, 0
    lock, real = threading.Lock(), socket.getaddrinfo

    def slow(*arguments: Any, **named: Any) -> Any:
        nonlocal asking, most
        with lock:
            asking += 1
            most = max(most, asking)
        hangs.wait(10)
        with lock:
            asking -= 1
        return real(*arguments, **named)

    with private_valkey() as own:
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        redis = MultiplexedRedis(RedisAddress(host="localhost", port=own.port))
        attempts = 0
        dial = Dialer.dial

        async def counted(self: Dialer, when_lost: Any) -> Any:
            nonlocal attempts
            attempts += 1
            return await dial(self, when_lost)

        monkeypatch.setattr(Dialer, "dial", counted)
        await redis.connect(Deadline.after(0.01))
        await eventually(lambda: attempts >= 3)
        assert most == 1
        monkeypatch.setattr(byte_side, "CONNECT_SECONDS", 1.0)
        hangs.set()
        await answering(redis)
        await redis.aclose()


async def test_reconnect_pauses_grow_are_jittered_and_stay_below_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that lost Redis at the same moment do not return at the same moment."""
    pauses: list[float] = []
    real = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await real(0)

    redis = MultiplexedRedis(RedisAddress(port=free_port()))
    monkeypatch.setattr(multiplexed.asyncio, "sleep", noted)
    await redis.connect(Deadline.after(0.01))
    while len(pauses) < 50:
        await real(0.001)
    await redis.aclose()
    assert 0.05 <= pauses[0] <= 0.1
    assert all(0.5 <= pause <= 1.0 for pause in pauses[5:])
    assert len(set(pauses[5:])) > 10
