"""The two implementations of `Relay`: over Redis pub/sub, and over Unix sockets between the processes of one machine.

With Redis, each process has a channel and a key that it keeps alive. A process counts as ended if its key is gone and its
channel has no subscriber. The key alone is not enough: a running process loses its key while Redis accepts no writes. In a
cluster, only sharded channels return the true number of subscribers (Redis 7, Valkey 8)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from server.transport.relay.port import DeliveryUnknown, Missed, ProcessEnded, Receive, Relay, Seal, Unreached
from session.failures import MemoryUnavailable, Unanswered
from session.keys import relay, relay_alive, relay_message
from session.redis.keyvalue import Command, Reply
from session.redis.subscriber import Redis, Subscriber
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import Tasks

LENGTH_BYTES = 4
LARGEST_FRAME = 2**27
MOST_UNSENT_BYTES = 2**23
"""Maximum bytes buffered for a process that does not read; further messages fail."""


class SocketRelay(Relay):
    """A relay between the processes of one machine. Each process listens on a Unix socket in `folder`, which is created with
    mode 0700 if it is missing. A connection carries messages only from the process that opened it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listening = asyncio.Event()
        super().__init__(self._listening)
        self._outgoing: dict[str, asyncio.Transport] = {}
        self._dialling: dict[str, asyncio.Task[asyncio.Transport]] = {}

    def list_processes(self) -> set[str]:
        with suppress(OSError):
            return {path.stem for path in self._folder.glob("*.sock")}
        return set()

    async def send(self, to: str, message: bytes) -> None:
        transport = await self._connect(to)
        if transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
            raise Unreached
        transport.write(len(message).to_bytes(LENGTH_BYTES) + message)

    async def find_ended(self, names: Collection[str]) -> set[str]:
        found = set()
        for name in names:
            try:
                await self._connect(name)
            except ProcessEnded:
                found.add(name)
            except Unreached:
                pass
        return found

    async def run(self, receive: Receive, missed: Missed) -> None:
        accepted = set[asyncio.StreamWriter]()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.add(writer)
            try:
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    while (length := int.from_bytes(await reader.readexactly(LENGTH_BYTES))) <= LARGEST_FRAME:
                        receive(await reader.readexactly(length))
            finally:
                accepted.discard(writer)
                writer.transport.abort()

        await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        server = await asyncio.start_unix_server(accept, self._path(self.own))
        self._listening.set()
        try:
            await server.serve_forever()
        finally:
            self._listening.clear()
            for each in list(accepted):
                each.transport.abort()

    async def aclose(self) -> None:
        for task in self._dialling.values():
            task.cancel()
        for each in self._outgoing.values():
            each.close()
        await asyncio.to_thread(self._path(self.own).unlink, missing_ok=True)

    async def _connect(self, to: str) -> asyncio.Transport:
        """Returns the connection to process `to`. Raises `ProcessEnded` or `Unreached`."""
        known = self._outgoing.get(to)
        if known is not None and not known.is_closing():
            return known
        self._outgoing.pop(to, None)
        if to not in self._dialling:  # all callers share one attempt
            self._dialling[to] = asyncio.create_task(self._dial(to), name="relay-dial")
        try:
            return await asyncio.shield(self._dialling[to])
        except (FileNotFoundError, ConnectionRefusedError):
            raise ProcessEnded from None
        except (OSError, TimeoutError):
            raise Unreached from None

    async def _dial(self, to: str) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(0.08):
                self._outgoing[to], _ = await loop.create_unix_connection(asyncio.Protocol, str(self._path(to)))
            return self._outgoing[to]
        finally:
            del self._dialling[to]

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


TRIP_SECONDS = 0.5
ALIVE_SECONDS = 1.5
REFRESH_SECONDS = 0.4
SETTLED_SECONDS = 2 * ALIVE_SECONDS
"""Seconds after each subscription in which no process counts as ended: its key may have expired in an outage of Redis."""
SEARCH_SECONDS, AGAIN_SECONDS = 0.06, 0.02
"""Total and interval, in seconds, of retries to a process that does not receive: it may be subscribing again."""
LARGEST_MESSAGE = 2**15
"""Maximum bytes of a published message, since Redis limits a backlog (client-output-buffer-limit, 8 MB). A larger message is
stored under an expiring key, and the key is published."""
POINTER, NOTHING = b"@", b""


class RedisRelay(Relay):
    """A relay over Redis or a Redis cluster, with messages that `seal` encrypts."""

    def __init__(self, redis: Redis, clock: Clock, seal: Seal) -> None:
        super().__init__()
        self._redis = redis
        self._clock = clock
        self._seal = seal
        self._subscriber = Subscriber(redis, relay(self.own), one_node=True, about="the channel of requests in Redis")
        self._ready_events = (self._subscriber.listening, seal.agreed)
        self._publish = "SPUBLISH" if redis.is_sharded else "PUBLISH"
        # The whole prefix is compared, since a sealed message may begin with any byte.
        self._pointer_prefix = POINTER + relay_message(self.own, "").encode()
        self._begun_at = clock()
        self._is_kept_alive = False
        self._silent_since: Lru[str, float] = Lru(1024)
        self._fetching = Tasks()

    async def send(self, to: str, message: bytes) -> None:
        message = self._seal.seal(to, message)
        if len(message) > LARGEST_MESSAGE:
            await self._publish_heard(to, NOTHING)  # first, or messages to unknown names would fill Redis
            key = relay_message(to, secrets.token_hex(16))
            await self._run(Command(("SET", key, message, "PX", 10_000)))
            message = POINTER + key.encode()
        await self._publish_heard(to, message)

    async def _publish_heard(self, to: str, message: bytes) -> None:
        """Publishes the message again, up to `SEARCH_SECONDS`, until process `to` receives it. Raises as `send` does."""
        command = Command((self._publish, relay(to), message))
        give_up = self._clock() + SEARCH_SECONDS
        while not await self._run(command):
            if self._is_settled() and to in await self.find_ended([to]):
                raise ProcessEnded
            if self._clock() >= give_up:
                raise Unreached
            await asyncio.sleep(AGAIN_SECONDS)

    async def find_ended(self, names: Collection[str]) -> set[str]:
        if not self._is_settled():
            return set()
        asked = list(names)
        steps = [
            Command(words)
            for name in asked
            for words in (("EXISTS", relay_alive(name)), (self._publish, relay(name), NOTHING))
        ]
        try:
            replies = await self._redis.trip(steps, Deadline.after(TRIP_SECONDS, self._clock))
        except MemoryUnavailable:
            return set()
        return {
            name
            for name, keys, receivers in zip(asked, replies[::2], replies[1::2], strict=True)
            if self._has_ended(name, keys, receivers)
        }

    def _has_ended(self, name: str, keys: Reply | Exception, receivers: Reply | Exception) -> bool:
        """Returns True if the process's key and subscriber are gone. If this process cannot keep its own key alive, they
        must have been gone for more than `ALIVE_SECONDS`."""
        if (keys, receivers) != (0, 0):
            self._silent_since.pop(name)
            return False
        if (since := self._silent_since.use(name)) is None:
            self._silent_since.put(name, since := self._clock())
        return self._is_kept_alive or self._clock() - since > ALIVE_SECONDS

    async def run(self, receive: Receive, missed: Missed) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_alive(), name="relay-alive")
            group.create_task(self._listen(receive, missed), name="relay-channel")

    async def aclose(self) -> None:
        await self._fetching.aclose(0.0)
        with suppress(Unreached):
            await self._run(Command(("DEL", relay_alive(self.own))))

    async def _listen(self, receive: Receive, missed: Missed) -> NoReturn:
        def open_sealed(message: bytes) -> None:
            if (opened := self._seal.unseal(self.own, message)) is not None:
                receive(opened)

        def hear(message: bytes) -> None:
            if message.startswith(self._pointer_prefix):
                self._fetching.start(self._fetch(message, open_sealed), "relay-fetch")
            elif message != NOTHING:
                open_sealed(message)

        def note_start() -> None:
            self._begun_at = self._clock()
            missed()

        await self._subscriber.listen(hear, note_start)

    async def _keep_alive(self) -> NoReturn:
        while True:
            try:
                await self._run(Command(("SET", relay_alive(self.own), 1, "PX", round(1000 * ALIVE_SECONDS))))
                self._is_kept_alive = True
            except Unreached:
                self._is_kept_alive = False
            await asyncio.sleep(REFRESH_SECONDS)

    async def _fetch(self, pointer: bytes, receive: Receive) -> None:
        with suppress(Unreached):
            message = await self._run(Command(("GETDEL", pointer.removeprefix(POINTER))))
            if message is not None:
                receive(message)

    def _is_settled(self) -> bool:
        return self._subscriber.listening.is_set() and self._clock() - self._begun_at > SETTLED_SECONDS

    async def _run(self, command: Command) -> Reply:
        """Runs a command. Raises `DeliveryUnknown` if it may have run, `Unreached` if Redis refuses it or is unavailable."""
        try:
            (reply,) = await self._redis.trip([command], Deadline.after(TRIP_SECONDS, self._clock))
        except Unanswered:
            raise DeliveryUnknown from None
        except MemoryUnavailable:
            raise Unreached from None
        if isinstance(reply, Exception):
            raise Unreached
        return reply
