"""A customer's turn of three calls, and clients that take one after the other: search, stock of what it found, details of
the best. The load generator: a process of its own, a worker.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.load.calls import meta, turns
from tests.load.raw_client import Client, cpu_ms_of_self
from tests.load.worker import Worker

CACHED, NEW, UNCACHED = "cached", "new", "uncached"
"""The same queries again and again; queries that were never asked, of a server as delivered; the same of one that keeps
nothing."""
CALLS = ("search", "stock", "details")
TOOLS = ("search_manga_catalog", "check_inventory", "get_manga_details")
ASKED_AGAIN = (
    "dark fantasy with demons",
    "ワンピース",
    "manga by Naoki Urasawa",
    "a quiet love story at school",
    "進撃の巨人",
    "basketball",
    "時代劇 侍",
    "cooking and family",
)
ANY, CACHE, LIVE = b'"isError":false', b'"source":"cache"', b'"source":"live"'
WHOLE = b'"degraded":[]'
PROMISED = {CACHED: (CACHE, ANY, CACHE), NEW: (LIVE, ANY, ANY), UNCACHED: (LIVE, LIVE, LIVE)}
"""What the answers to the three calls have to contain; and all of them `WHOLE`."""
CATALOGUE = Path(__file__).resolve().parents[2] / "infra" / "demo" / "catalog.jsonl"
BEST = re.compile(rb'"title_id":"([^"]+)"')
WORD = re.compile(r"[A-Za-z]{4,}")
WARM_ROUNDS = 100
AT_ONCE = 40
"""Fewer than the 50 calls at once that the server takes (MANGA_MAX_CONCURRENT_CALLS)."""


def asked_again() -> Iterator[str]:
    return itertools.cycle(ASKED_AGAIN)


def never_asked(run: str, client: int, clients: int) -> Iterator[str]:
    """What a title is about in four words, title after title, and a word that nobody ever used."""
    titles = [json.loads(line) for line in CATALOGUE.read_text("utf-8").splitlines()]
    told = [(title["tags"], WORD.findall(title["synopsis"]["en"] or "")) for title in titles]
    fitting = [(tags, words) for tags, words in told if len(tags) > 1 and len(words) > 9]
    draw = random.Random(f"{run}-{client}")
    for number in itertools.count():
        tags, words = fitting[(client + number * clients) % len(fitting)]
        yield f"{' '.join((*draw.sample(tags, 2), *draw.sample(words, 2)))} {run}x{client}x{number}"


@dataclass(slots=True)
class TurnClient:
    """A client, and when it made each call."""

    client: Client
    asked_at: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, port: int, kind: str, run: str, number: int, clients: int, customers: int) -> TurnClient:
        made = cls(Client(port, iter(()), b""))
        queries = asked_again() if kind == CACHED else never_asked(run, number, clients)
        made.client.bodies = made._bodies(kind, queries, run, number, clients, customers)
        return made

    def forget(self) -> None:
        self.client.latencies.clear()
        self.client.wrong.clear()
        self.asked_at.clear()

    def calls(self) -> list[list[float]]:
        """(begin, seconds) of each call of whole turns."""
        whole = len(self.client.latencies) // len(CALLS) * len(CALLS)
        return [list(each) for each in zip(self.asked_at[:whole], self.client.latencies[:whole], strict=True)]

    def _bodies(
        self, kind: str, queries: Iterator[str], run: str, number: int, clients: int, customers: int
    ) -> Iterator[tuple[int, bytes]]:
        ids = itertools.count(1)
        for turn in turns(run, number, clients, customers):
            arguments: tuple[dict[str, Any], ...] = ({"query": next(queries)}, {}, {})
            for promised, tool, given in zip(PROMISED[kind], TOOLS, arguments, strict=True):
                if tool == TOOLS[1]:  # the search has been answered
                    best = BEST.search(self.client.last_answer)
                    arguments[2]["title_id"] = best[1].decode() if best else "manga-nothing-found"
                self.client.promised = promised
                identity = next(ids)
                call = {"name": tool, "arguments": given, "_meta": meta(turn)}
                body = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": call}
                written = json.dumps(body, ensure_ascii=False).encode()
                self.asked_at.append(time.perf_counter())
                yield identity, written
                self._check(promised)

    def _check(self, promised: bytes) -> None:
        answer = self.client.last_answer
        if promised in answer and WHOLE not in answer:  # else it is among the wrong already
            self.client.wrong.append(answer[:2000].decode("utf-8", "replace"))


class TurnLoad(Worker):
    """Commands: connect (port, kind, clients, run, customers), warm, go (seconds, thinking) or (turns), a_turn_each, close."""

    def __init__(self) -> None:
        self._clients: list[TurnClient] = []

    async def connect(self, port: int, kind: str, clients: int, run: str, customers: int) -> dict[str, Any]:
        made = [TurnClient.of(port, kind, run, number, clients, customers) for number in range(clients)]
        self._clients += made
        await asyncio.gather(*(each.client.connect() for each in made))
        for each in made:
            each.forget()
        return {}

    async def warm(self) -> dict[str, Any]:
        """Turns of the first client that are not counted, until so many in a row are as promised: what is asked again has
        been asked then, and a breaker that was open is closed."""
        first = self._clients[0]
        for _ in range(WARM_ROUNDS):
            first.forget()
            await first.client.ask(calls=len(ASKED_AGAIN) * len(CALLS))
            if not first.client.wrong:
                break
            await asyncio.sleep(0.1)
        first.forget()
        return {}

    async def go(self, seconds: float = 0.0, turns: int = 0, thinking: float = 0.0) -> dict[str, Any]:
        """Without a pause; or, for so many seconds, with time to think after each turn."""
        began, used = time.perf_counter(), cpu_ms_of_self()
        if thinking:
            await asyncio.gather(*(self._think_and_take(each, began + seconds, thinking) for each in self._clients))
        else:
            calls = turns * len(CALLS)
            await asyncio.gather(*(each.client.ask(seconds=seconds, calls=calls) for each in self._clients))
        took = time.perf_counter() - began
        return self._made() | {"seconds": took, "client_cpu_ms": cpu_ms_of_self() - used}

    async def a_turn_each(self) -> dict[str, Any]:
        places = asyncio.Semaphore(AT_ONCE)

        async def one(client: TurnClient) -> None:
            async with places:
                await client.client.ask(calls=len(CALLS))

        await asyncio.gather(*map(one, self._clients))
        return self._made()

    async def close(self) -> dict[str, Any]:
        for each in self._clients:
            each.client.close()
        self._clients = []
        return {}

    async def _think_and_take(self, client: TurnClient, until: float, thinking: float) -> None:
        """Thinks between nothing and twice as long, so that the clients do not march in step."""
        while time.perf_counter() < until:
            await asyncio.sleep(random.uniform(0, 2 * thinking))
            await client.client.ask(calls=len(CALLS))

    def _made(self) -> dict[str, Any]:
        wrong = [each for client in self._clients for each in client.client.wrong]
        made = [client.calls() for client in self._clients]
        return {"calls": made, "wrong": len(wrong), "first_wrong": wrong[0] if wrong else None}


if __name__ == "__main__":
    sys.exit(TurnLoad.main())
