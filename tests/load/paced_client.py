"""SSE clients that ask at a steady rate, whatever becomes of what they asked before: each answer is counted by its id.

As a program this is a load generator: one process, commands as JSON lines on stdin, results on stdout.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.load.calls import search_bodies
from tests.load.raw_client import Client
from tests.load.worker import Worker

SETTLE_SECONDS = 1.0
"""After the last answer: what comes twice comes by then."""


@dataclass(slots=True)
class CountingClient(Client):
    """Counts the answers to each id."""

    answers: Counter[bytes] = field(default_factory=Counter)

    def _event(self, event: bytes) -> None:
        at = event.find(b'"id":', 0, 80)
        if at >= 0:
            self.answers[event[at + 5 :].partition(b",")[0]] += 1
        Client._event(self, event)


class PacedClients(Worker):
    """Commands: connect (ports, clients, run), go (calls, rate), close."""

    def __init__(self) -> None:
        self._clients: list[CountingClient] = []

    async def connect(self, ports: list[int], clients: int, run: str) -> dict[str, Any]:
        """The clients take the ports in rotation."""
        self._clients = [
            CountingClient(ports[number % len(ports)], search_bodies(run, number, clients), b"") for number in range(clients)
        ]
        await asyncio.gather(*(client.connect() for client in self._clients))
        return {}

    async def go(self, calls: int, rate: float) -> dict[str, Any]:
        """Each client in its turn; one that still waits is passed over."""
        for each in self._clients:
            each.answers.clear()
            each.latencies.clear()
        loop = asyncio.get_running_loop()
        began, asking, idle, failed = loop.time(), set[asyncio.Task[None]](), list(self._clients), list[str]()

        def done(client: CountingClient, task: asyncio.Task[None]) -> None:
            asking.discard(task)
            if error := task.exception():
                failed.append(repr(error))
            else:
                idle.append(client)

        for number in range(calls):
            await asyncio.sleep(max(began + number / rate - loop.time(), 0))
            while not idle:
                await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            client = idle.pop(0)
            task = asyncio.create_task(client.ask(calls=1))
            asking.add(task)
            task.add_done_callback(lambda task, client=client: done(client, task))
        if asking:
            await asyncio.wait(asking)
        took = loop.time() - began
        await asyncio.sleep(SETTLE_SECONDS)
        return self._counted(calls, took, failed)

    async def close(self) -> dict[str, Any]:
        for client in self._clients:
            client.close()
        self._clients = []
        return {}

    def _counted(self, calls: int, took: float, failed: list[str]) -> dict[str, Any]:
        answered = [client.answers for client in self._clients]
        wrong = [each for client in self._clients for each in client.wrong]
        return {
            "latencies": [each for client in self._clients for each in client.latencies],
            "seconds": took,
            "lost": calls - sum(len(each) for each in answered),
            "doubled": sum(times - 1 for each in answered for times in each.values()),
            "wrong": len(wrong) + len(failed),
            "first_wrong": next(iter([*wrong, *failed]), None),
        }


if __name__ == "__main__":
    sys.exit(PacedClients.main())
