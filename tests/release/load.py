"""Shoppers who come at a steady rate, whatever became of those before them, and check what each answer says."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from server.transport.relay.forwarding import AWAY
from tests.release.beside import PREFIX, Json
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Connection, ask, call, in_2026, message
from tests.support.sse import SseClient

SEARCH, STOCK = "search_manga_catalog", "check_inventory"
WORDS = (
    "pirates",
    "school",
    "samurai",
    "cooking",
    "ワンピース",
    "football",
    "romance",
    "a dark fantasy",
    "One Piece",
    "detective",
)
EXPERIMENT = "compare_prices"
MOST_TRIES = 20
AGAIN_SECONDS = 0.2
LATE = frozenset({"TIMEOUT", "CIRCUIT_OPEN", "DEPENDENCY_FAILURE", "SERVER_BUSY", "BUDGET_EXHAUSTED"})
"""What a busy machine may be answered with; the next call, in another turn, is answered."""
MOST_LATE_SHARE = 0.15
"""Of all calls. Had one of the two releases failed all that it was asked, it would be half."""
REFUSED = (404, 503)
"""Before anything was done: the stream is gone, or its server takes no more."""
CANCELLED_SHARE = 0.05
STAYING, STAYING_PAUSE = 6, 3.0
"""How many stay, and seconds between two rounds of theirs."""
Say = Callable[[str, Json], Awaitable[Json]]
"""Calls a tool in one conversation, and returns the result."""


def _result(answer: Json) -> Json:
    assert "result" in answer, answer
    return dict(answer["result"])


def _user(number: int) -> str:
    return f"demo-user-{1 + number % 2}"


@dataclass
class Shoppers:
    """`port` is that of the proxy; `orders` are those of each user, the latest first. `wrong` has a line for each answer that should have been another."""

    port: int
    orders: Mapping[str, list[str]]
    wrong: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=count)
    _ids: Iterator[int] = field(default_factory=count)
    name: str = field(default_factory=lambda: f"shopper-{uuid.uuid4().hex[:8]}")
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def late_share(self) -> float:
        return sum(times for what, times in self.counted.items() if what.startswith("late")) / self.counted["calls"]

    async def come(self, a_second: float, stop: asyncio.Event) -> None:
        """A new one each so often until `stop`; then waits for those who are there. The first of them stay."""
        begun, clock, self._stop = 0, asyncio.get_running_loop().time, stop
        started = clock()
        while not stop.is_set():
            number = next(self._numbers)
            staying = (self._on_a_stream, self._in_a_session)[number % 2] if number < STAYING else None
            task = asyncio.create_task(self._noted(staying or self._stateless, number))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            begun += 1
            await asyncio.sleep(max(0.0, started + begun / a_second - clock()))
        await asyncio.gather(*self._tasks)

    async def _noted(self, way: Callable[[int], Awaitable[None]], number: int) -> None:
        try:
            await way(number)
        except Exception as error:
            self.wrong.append(f"{way.__name__.strip('_')} {number}: {type(error).__name__}: {error}"[:500])

    # -- the ways in

    async def _stateless(self, number: int) -> None:
        """Requests of the 2026 era, each on a connection of its own; some are given up at once."""
        stated = {"sessionId": f"{self.name}-{number}", "userId": _user(number)}
        calls = count()

        async def say(tool: str, arguments: Json) -> Json:
            stated["turnId"] = f"{self.name}-{number}-{next(calls) // 2}"
            body, headers = in_2026(call(tool, arguments, {PREFIX + name: each for name, each in stated.items()}))
            if self._random.random() < CANCELLED_SHARE:
                async with Connection.to(self.port) as connection:
                    await connection.ask("POST", "/mcp", body, headers)
                self.counted["cancelled"] += 1
            answer = await ask(self.port, "POST", "/mcp", body, headers)
            assert answer.status == 200, answer
            return _result(answer.json())

        await self._shop(say, _user(number))
        await self._remember(f"{self.name}-customer-{number}")

    async def _on_a_stream(self, number: int) -> None:
        """HTTP+SSE. Whose stream has ended, or whose server takes no more, opens another and goes on."""
        named = {"X-Session-ID": f"{self.name}-{number}", "X-User-ID": _user(number)}
        async with AsyncExitStack() as held:
            streams: list[SseClient] = []

            async def say(tool: str, arguments: Json) -> Json:
                for _ in range(MOST_TRIES):
                    if not streams or streams[0].ended is not None:
                        self.counted["streams opened again"] += len(streams)
                        await held.aclose()
                        streams[:] = [await held.enter_async_context(SseClient.to(self.port, named))]
                    asked = next(self._ids)
                    answer = await streams[0].post(call(tool, arguments, number=asked), named)
                    if answer.status == 202:
                        return _result(await streams[0].answer_to(asked))
                    assert answer.status in REFUSED, answer
                    self.counted[f"stream refused with {answer.status}"] += 1
                    await asyncio.sleep(0.1)
                raise AssertionError(f"{tool} was taken by no stream")

            await self._stay(say, _user(number))

    async def _in_a_session(self, number: int) -> None:
        """Streamable HTTP of 2025. Whose session is gone begins another, as the protocol says."""
        named = {"X-Session-ID": f"{self.name}-{number}", "X-User-ID": _user(number)}
        held: dict[str, str] = {}

        async def begin() -> None:
            begun = await ask(self.port, "POST", "/mcp", INITIALIZE, {**BOTH, **named})
            assert begun.status == 200, begun
            held.clear()
            held.update({"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025})
            noted = await ask(self.port, "POST", "/mcp", INITIALIZED, {**BOTH, **named, **held})
            assert noted.status in (202, 404), noted

        async def say(tool: str, arguments: Json) -> Json:
            for _ in range(MOST_TRIES):
                if not held:
                    await begin()
                asked = call(tool, arguments, number=next(self._ids))
                answer = await ask(self.port, "POST", "/mcp", asked, {**BOTH, **named, **held})
                if answer.status == 200 and AWAY not in str(answer.json()):
                    return _result(answer.json())
                if answer.status == 200:
                    self.counted["late: the session's process"] += 1
                    continue
                assert answer.status in REFUSED, answer
                held.clear()
                self.counted["sessions begun again"] += 1
            raise AssertionError(f"{tool} was taken in no session")

        await self._stay(say, _user(number))

    # -- what they do

    async def _stay(self, say: Say, user: str) -> None:
        """Goes on until nobody else comes, and so outlives the replica that it began with."""
        while True:
            await self._shop(say, user)
            if self._stop.is_set():
                return
            await asyncio.sleep(STAYING_PAUSE)

    async def _shop(self, say: Say, user: str) -> None:
        found = await self._ask(say, SEARCH, {"query": self._random.choice(WORDS), "max_results": 4})
        ids = [row["title_id"] for row in found["results"]]
        assert ids, found
        await self._think()
        stock = await self._ask(say, STOCK, {})
        assert [row["title_id"] for row in stock["items"]] == ids, ("stock of what was shown", ids, stock)
        await self._think()
        again = await self._ask(say, STOCK, {"result_set": found["result_set"]})
        assert [row["title_id"] for row in again["items"]] == ids, ("stock of the result set", ids, again)
        details = await self._ask(say, "get_manga_details", {"title_id": ids[0]})
        assert details["title_id"] == ids[0]
        await self._think()
        orders = await self._ask(say, "lookup_order", {})
        assert [order["order_id"] for order in orders["orders"]] == self.orders[user], orders
        advice = await self._ask(say, "get_recommendations", {"criteria": self._random.choice(WORDS), "count": 3})
        assert advice["recommendations"], advice
        prices = await self._ask(say, EXPERIMENT, {"title_ids": ids[:1]}, off=True)
        assert prices.get("error") or prices["items"][0]["title_id"] == ids[0], prices

    async def _remember(self, user: str) -> None:
        """A preference by one call is obeyed by the next, and gone when it was taken back."""

        async def say(tool: str, arguments: Json) -> Json:
            body, headers = in_2026(call(tool, arguments, {f"{PREFIX}userId": user}))
            return _result((await ask(self.port, "POST", "/mcp", body, headers)).json())

        await self._ask(say, "remember_preference", {"preference": "only finished series"})
        found = await self._ask(say, SEARCH, {"query": "action", "max_results": 4}, needs="preferences")
        assert {row["status"] for row in found["results"]} == {"Finished"}, found
        assert "only finished series" in await self._read("manga://profile", user)
        left = await self._ask(say, "forget_preference", {"preference": "all"})
        assert left["preferences"] == [], left

    async def _ask(self, say: Say, tool: str, arguments: Json, *, off: bool = False, needs: str = "") -> Json:
        """The structure of a success; `off` allows that the tool is switched off. What is `LATE` is tried again and counted,
        and so is what had to do without what it `needs`, or without the session."""
        for _ in range(MOST_TRIES):
            self.counted["calls"] += 1
            result = await say(tool, arguments)
            structure, said = result["structuredContent"], result["_meta"][f"{PREFIX}call"]
            error: dict[str, Any] | None = structure.get("error")
            if missing := {needs, "session"} & set(said["degraded"]):
                self.counted[f"late: {', '.join(missing)}"] += 1
            elif error is None:
                self.counted[said["source"]] += 1
                return dict(structure)
            elif off and error["name"] == "TOOL_NOT_FOUND":
                self.counted["switched off"] += 1
                return dict(structure)
            else:
                assert error["name"] in LATE, (tool, error)
                self.counted[f"late: {tool} {error['name']}"] += 1
            await asyncio.sleep(AGAIN_SECONDS)
        raise AssertionError(f"{tool} failed {MOST_TRIES} times: {result}")

    async def _read(self, uri: str, user: str) -> str:
        for _ in range(MOST_TRIES):
            body, headers = in_2026(message("resources/read", {"uri": uri, "_meta": {f"{PREFIX}userId": user}}))
            answer = (await ask(self.port, "POST", "/mcp", body, headers)).json()
            if "result" in answer:
                return str(answer["result"]["contents"][0]["text"])
            assert answer["error"]["data"]["name"] in LATE, answer
            self.counted[f"late: {uri}"] += 1
            await asyncio.sleep(AGAIN_SECONDS)
        raise AssertionError(f"{uri} was not read {MOST_TRIES} times: {answer}")

    async def _think(self) -> None:
        await asyncio.sleep(self._random.uniform(0.0, 0.6))
