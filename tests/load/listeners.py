"""A crowd that only listens, each member another customer on an SSE stream of its own, and callers at a steady pace beside it.

As a program this is a worker: `python -m tests.load.listeners`.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.load.calls import search_bodies
from tests.load.raw_client import Client
from tests.load.worker import Worker

AT_ONCE = 50
LIST_CHANGED = b'"notifications/tools/list_changed"'
SUCCESS = b'"isError":false'


@dataclass(slots=True)
class Listener(Client):
    """`told` are the monotonic seconds at which it was told that its tools had changed."""

    told: list[float] = field(default_factory=list)

    def _event(self, event: bytes) -> None:
        if LIST_CHANGED in event[:120]:
            self.told.append(time.monotonic())
        else:
            Client._event(self, event)

    async def connect(self) -> None:
        """Of its two sockets the one to post on has done its work then."""
        await Client.connect(self)
        assert self._poster is not None
        self._poster.close()


class Listeners(Worker):
    """Commands: connect (ports, users), until (told, seconds), until_each (told, seconds), counts, call (ports, callers, pause), hang_up."""

    def __init__(self) -> None:
        self._crowd: list[Listener] = []
        self._callers: list[Client] = []
        self._calling: list[asyncio.Task[None]] = []

    async def connect(self, ports: Sequence[int], users: Sequence[str]) -> dict[str, Any]:
        """One for each user, on the ports in turn."""
        pairs = zip(itertools.cycle(ports), users, strict=False)
        self._crowd = [Listener(port, iter(()), b"", headers=f"X-User-ID: {user}\r\n") for port, user in pairs]
        for batch in range(0, len(self._crowd), AT_ONCE):
            await asyncio.gather(*(each.connect() for each in self._crowd[batch : batch + AT_ONCE]))
        return {}

    async def until(self, told: int, seconds: float) -> dict[str, Any]:
        """Waits until each was told so often, and tells when it was told last."""
        await self.until_each([told] * len(self._crowd), seconds)
        return {"last": [each.told[-1] for each in self._crowd if len(each.told) >= told]}

    async def until_each(self, told: Sequence[int], seconds: float) -> dict[str, Any]:
        """Waits until each was told as often as stated for it."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            if all(len(each.told) >= times for each, times in zip(self._crowd, told, strict=True)):
                break
            await asyncio.sleep(0.005)
        return {}

    async def counts(self) -> dict[str, Any]:
        """How often each was told."""
        return {"counts": [len(each.told) for each in self._crowd]}

    async def call(self, ports: Sequence[int], callers: int, pause: float) -> dict[str, Any]:
        """Callers on each port, each of which asks, waits for its answer and for `pause` seconds, and asks again."""
        run = uuid.uuid4().hex[:12]
        for number in range(callers * len(ports)):
            bodies = search_bodies(run, number, callers * len(ports))
            caller = Client(ports[number % len(ports)], bodies, SUCCESS)
            await caller.connect()
            self._callers.append(caller)
            self._calling.append(asyncio.create_task(_call(caller, pause)))
        return {}

    async def hang_up(self) -> dict[str, Any]:
        """Ends the calls; tells of all of them."""
        for task in self._calling:
            task.cancel()
        ended = await asyncio.gather(*self._calling, return_exceptions=True)
        broken = [repr(each) for each in ended if not isinstance(each, asyncio.CancelledError)]
        wrong = [text for caller in self._callers for text in caller.wrong] + broken
        latencies = [each for caller in self._callers for each in caller.latencies]
        return {"latencies": latencies, "wrong": len(wrong), "first_wrong": wrong[0] if wrong else None}


async def _call(caller: Client, pause: float) -> None:
    while True:
        await caller.ask(calls=1)
        await asyncio.sleep(pause)


if __name__ == "__main__":
    sys.exit(Listeners.main())
