"""`python -m tests.load.consumed`: what a call takes of each backend, in the units that AWS counts.

Every call is answered live, by the servers that `make bench-stack` starts. DynamoDB says itself what a request consumed
(`ReturnConsumedCapacity`; DynamoDB Local counts as the service does), and Valkey how many commands it was sent and how long
it worked on them (`INFO commandstats`). One call at a time, so that each unit is of that call; profiles are written behind the
answer, and are waited for.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic_core import to_json
from redis import Redis

from server.application import Application
from server.call import CACHE, LIVE, Call, RequestMetadata
from server.config.settings import Settings
from server.wiring import open_app
from session.redis.keyvalue import Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.load.stack_servers import DELIVERED, NOTHING_KEPT, Backends, backends
from tests.load.stack_turns import never_asked
from tools.store.backends.dynamodb.connection import Connection
from tools.store.backends.opensearch.client import Client

CALLS = 40
CUSTOMERS = itertools.cycle(f"demo-user-{n}" for n in range(1, 7))
ALWAYS = "demo-user-2"
KINDS = {
    "live": ("search", "recommend", "stock", "details", "order"),
    "cached": ("search", "recommend", "stock", "details"),
}
"""An order is never answered by a cache."""
IN_WRITES = ("batch_write_item", "put_item", "delete_item")
PATIENT = {"MANGA_RATE_LIMIT": "off", "MANGA_TURN_BUDGET_MS": "20000", "MANGA_CALL_TIMEOUT_MS": "20000"}
SETTLED_SECONDS = 2.0
"""Profiles are written in batches, this long after what they tell of."""
COLUMNS = {
    "RRU": ("read", 1),
    "WRU": ("write", 1),
    "OpenSearch": ("opensearch", 1),
    "its KB": ("opensearch bytes", 1024),
    "commands": ("commands", 1),
    "us of scripts": ("work", 1),
    "Valkey's KB": ("sent", 1024),
}
"""What is printed: what it is added up as, and how many of that are one."""
HEAD = f"{'answered':9} {'call':10}" + "".join(f"{name:>15}" for name in COLUMNS)


class Meter:
    """Adds up what is asked of DynamoDB and OpenSearch, in this process."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        call, send, trip, units = Connection.call, Client._send, MultiplexedRedis.trip, self.units

        async def counted(connection: Connection, operation: str, **parameters: Any) -> dict[str, Any]:
            answer = await call(connection, operation, **parameters, ReturnConsumedCapacity="TOTAL")
            told = answer.get("ConsumedCapacity", [])
            each = told if isinstance(told, list) else [told]
            units["write" if operation in IN_WRITES else "read"] += sum(one["CapacityUnits"] for one in each)
            return answer

        async def sent(client: Client, *what: Any) -> dict[str, Any]:
            answer = await send(client, *what)
            units["opensearch"] += 1
            units["opensearch bytes"] += len(what[2] or b"") + len(to_json(answer))
            return answer

        async def tripped(redis: MultiplexedRedis, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
            units["commands"] += len(steps)
            return await trip(redis, steps, deadline)

        with (
            patch.object(Connection, "call", counted),
            patch.object(Client, "_send", sent),
            patch.object(MultiplexedRedis, "trip", tripped),
        ):
            yield


class Shop:
    """One application, asked one call at a time."""

    def __init__(self, app: Application, meter: Meter, redis: str) -> None:
        self._app, self._meter = app, meter
        self._redis = Redis.from_url(redis)
        self._queries = never_asked(uuid.uuid4().hex, 0, 1)

    async def ask(self, tool: str, arguments: Mapping[str, Any], user: str) -> dict[str, Any]:
        registered = self._app.registry.get(tool)
        assert registered is not None
        stated = RequestMetadata(user=user, session=uuid.uuid4().hex, turn=uuid.uuid4().hex)
        call = Call(uuid.uuid4().hex, registered, dict(arguments), stated, time.monotonic())
        outcome = await self._app.pipeline.run(call)
        if outcome.value is None or outcome.source not in (LIVE, CACHE):
            raise RuntimeError(f"{tool} was not answered as it should be, but {outcome.source}: run it on a calmer machine")
        return dict(outcome.value)

    async def found(self) -> list[str]:
        while True:
            answer = await self.ask("search_manga_catalog", {"query": next(self._queries)}, next(CUSTOMERS))
            if titles := [title["title_id"] for title in answer["results"]]:
                return titles

    async def call(self, kind: str, titles: list[str], query: str, user: str) -> None:
        ways: dict[str, tuple[str, dict[str, Any], str]] = {
            "search": ("search_manga_catalog", {"query": query}, user),
            "stock": ("check_inventory", {"title_ids": titles[:5]}, user),
            "details": ("get_manga_details", {"title_id": titles[0]}, user),
            "recommend": ("get_recommendations", {"criteria": query}, user),
            "order": ("lookup_order", {"order_id": "MNG-DEMO1001"}, "demo-user-1"),
        }
        await self.ask(*ways[kind])

    async def row(self, how: str, kind: str) -> str:
        titles = [await self.found() for _ in range(4)]
        queries = [next(self._queries) for _ in range(CALLS if how == "live" else 1)]
        if how == "cached":
            await self.call(kind, titles[0], queries[0], ALWAYS)
        await asyncio.sleep(SETTLED_SECONDS)
        self._meter.units.clear()
        before = self._valkey()
        for number in range(CALLS):
            if how == "cached":
                await self.call(kind, titles[0], queries[0], ALWAYS)
            else:
                await self.call(kind, titles[number % len(titles)], queries[number], next(CUSTOMERS))
        work, sent = (after - was for after, was in zip(self._valkey(), before, strict=True))
        await asyncio.sleep(SETTLED_SECONDS)
        units = {**self._meter.units, "work": work, "sent": sent}
        a_call = [units.get(name, 0) / CALLS / unit for name, unit in COLUMNS.values()]
        return f"{how:9} {kind:10}" + "".join(f"{value:15.2f}" for value in a_call)

    def _valkey(self) -> tuple[float, float]:
        """Microseconds of work on scripts, which is nearly all, and bytes in and out, since it began."""
        stats, traffic = self._redis.info("commandstats"), self._redis.info("stats")
        scripts = stats.get("cmdstat_evalsha", {"usec": 0})
        return scripts["usec"], traffic["total_net_input_bytes"] + traffic["total_net_output_bytes"]


async def measured(there: Backends, how: str, settings: Mapping[str, str]) -> None:
    environment = {**there.settings(), **settings, **PATIENT}
    os.environ.update({name: value for name, value in environment.items() if name.startswith("AWS_")})
    own = {name: value for name, value in environment.items() if name.startswith("MANGA_")}
    meter = Meter()
    async with meter.reading(), open_app(Settings.from_environment(own), local=True) as app:
        await app.ports.prepared()
        await asyncio.sleep(SETTLED_SECONDS)
        shop = Shop(app, meter, there.redis)
        for kind in KINDS[how]:
            print(await shop.row(how, kind), flush=True)


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="manga-consumed-") as folder:
        async with backends(Path(folder)) as there:
            print(HEAD)
            await measured(there, "live", NOTHING_KEPT)
            await measured(there, "cached", DELIVERED)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
