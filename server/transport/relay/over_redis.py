"""The relay over Redis: a channel for each process, and a key that tells whether it lives. A process has gone when its key
has and nobody listens on its channel: a Redis that takes no writes loses the keys of those that live.

PUBLISH answers how many have heard it. In a cluster that is true of sharded channels alone, since a node knows only its own
subscribers of the others (Redis documentation, "Redis Pub/Sub", sharded Pub/Sub; Redis 7, Valkey 8).
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import NoReturn

from server.transport.relay.port import Gone, Heard, Missed, Unreached, Unsure, new_name
from session.failures import MemoryUnavailable, Unanswered
from session.keys import relay, relay_alive, relay_message
from session.redis.keyvalue import Command, Reply
from session.redis.subscriber import Redis, Subscriber
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import start_task

TRIP_SECONDS = 0.5
READY_SECONDS = 0.25
ALIVE_SECONDS = 1.5
REFRESH_SECONDS = 0.4
SETTLED_SECONDS = 2 * ALIVE_SECONDS
"""After Redis was away, for so long nobody is known to have gone: their keys may have gone with it."""
SEARCH_SECONDS = 0.06
AGAIN_SECONDS = 0.02
"""For a moment a process that nobody reaches may only be subscribing again."""
LARGEST_MESSAGE = 2**15
"""In bytes. What waits for a slow subscriber is bounded in Redis by 8 MB (client-output-buffer-limit); larger messages wait
in a key, which ends by itself."""
KEPT_MS = 10_000
POINTER, NOTHING = b"@", b""
MOST_UNHEARD = 1024


class RedisRelay:
    """`Relay` over a Redis or a cluster."""

    def __init__(self, redis: Redis, clock: Clock) -> None:
        self._redis = redis
        self._clock = clock
        self._own = new_name()
        self._subscriber = Subscriber(redis, relay(self._own), one_node=True, about="the channel of requests in Redis")
        self._publish = "SPUBLISH" if redis.sharded else "PUBLISH"
        # The whole of the name, since a sealed message begins with any byte.
        self._pointing = POINTER + relay_message(self._own, "").encode()
        self._begun_at = clock()
        self._away = False
        self._kept_alive = False
        self._unheard: Lru[str, float] = Lru(MOST_UNHEARD)
        self._fetching: set[asyncio.Task[None]] = set()

    @property
    def own(self) -> str:
        return self._own

    def known(self) -> set[str]:
        return set()

    async def ready(self) -> None:
        if self._subscriber.listening.is_set() or self._away:
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._subscriber.listening.wait()
        except TimeoutError:
            self._away = True  # nobody waits for it again until it is back

    async def send(self, to: str, message: bytes) -> None:
        if len(message) > LARGEST_MESSAGE:
            message = await self._kept(to, message)
        command = Command((self._publish, relay(to), message))
        give_up = self._clock() + SEARCH_SECONDS
        while not await self._ask(command):
            if self._settled() and to in await self.gone([to]):
                raise Gone
            if self._clock() >= give_up:
                raise Unreached
            await asyncio.sleep(AGAIN_SECONDS)

    async def gone(self, names: Collection[str]) -> set[str]:
        if not self._settled():
            return set()
        asked = list(names)
        steps = [step for name in asked for step in (_exists(name), Command((self._publish, relay(name), NOTHING)))]
        try:
            replies = await self._redis.trip(steps, Deadline.after(TRIP_SECONDS, self._clock))
        except MemoryUnavailable:
            return set()
        return {
            name for name, *told in zip(asked, replies[::2], replies[1::2], strict=True) if self._tells_of_end(name, told)
        }

    def _tells_of_end(self, name: str, told: Sequence[Reply | Exception]) -> bool:
        """By whether its key is there, and how many have heard. Where this process's own key cannot be kept, another's says
        nothing, and who only subscribes again is heard of soon."""
        if list(told) != [0, 0]:
            self._unheard.pop(name)
            return False
        if (since := self._unheard.use(name)) is None:
            self._unheard.put(name, since := self._clock())
        return self._kept_alive or self._clock() - since > ALIVE_SECONDS

    async def keep(self, heard: Heard, missed: Missed) -> NoReturn:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._live(), name="relay-alive")
            group.create_task(self._listen(heard, missed), name="relay-channel")
        raise AssertionError("both run until they are cancelled")

    async def aclose(self) -> None:
        for task in self._fetching:
            task.cancel()
        await asyncio.gather(*self._fetching, return_exceptions=True)
        with suppress(Unreached):
            await self._ask(Command(("DEL", relay_alive(self._own))))

    async def _listen(self, heard: Heard, missed: Missed) -> NoReturn:
        def hear(message: bytes) -> None:
            if message == NOTHING:
                return
            if not message.startswith(self._pointing):
                heard(message)
                return
            task = start_task(self._fetch(message, heard), "relay-fetch")
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)

        def begun() -> None:
            self._begun_at, self._away = self._clock(), False
            missed()

        await self._subscriber.listen(hear, begun)

    async def _live(self) -> NoReturn:
        while True:
            try:
                await self._ask(Command(("SET", relay_alive(self._own), 1, "PX", round(1000 * ALIVE_SECONDS))))
                self._kept_alive = True
            except Unreached:
                self._kept_alive = False
            await asyncio.sleep(REFRESH_SECONDS)

    async def _kept(self, to: str, message: bytes) -> bytes:
        """Keeps it where that process finds it. Returns what to say instead."""
        key = relay_message(to, secrets.token_hex(16))
        await self._ask(Command(("SET", key, message, "PX", KEPT_MS)))
        return POINTER + key.encode()

    async def _fetch(self, pointer: bytes, heard: Heard) -> None:
        with suppress(Unreached):
            message = await self._ask(Command(("GETDEL", pointer.removeprefix(POINTER))))
            if message is not None:
                heard(message)

    def _settled(self) -> bool:
        return self._subscriber.listening.is_set() and self._clock() - self._begun_at > SETTLED_SECONDS

    async def _ask(self, command: Command) -> Reply:
        """Raises `Unreached` where Redis does not answer, or refuses; `Unsure` where it may have done it all the same."""
        try:
            (reply,) = await self._redis.trip([command], Deadline.after(TRIP_SECONDS, self._clock))
        except Unanswered:
            raise Unsure from None
        except MemoryUnavailable:
            raise Unreached from None
        if isinstance(reply, Exception):
            raise Unreached
        return reply


def _exists(name: str) -> Command:
    return Command(("EXISTS", relay_alive(name)))
