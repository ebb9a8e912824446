"""Turns of three uncached calls against real OpenSearch, DynamoDB Local and Redis, and an endpoint in Bedrock's place.

The backends' own times are taken in the same run, by a proxy before each (proxy.py).
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.load.children import Child, python
from tests.load.open_loop.measured import CLIENT_LATE_MS, Measured
from tests.load.open_loop.mix import CUSTOMERS, buyer, order_of
from tests.load.open_loop.rig import rig
from tests.load.results import Bar, percentile
from tests.stack import dynamodb, opensearch, redis_servers
from tests.support import bedrock
from tests.support.stack import seeded

T = TypeVar("T")
ORDERS = Path(__file__).resolve().parents[3] / "infra" / "demo" / "orders.jsonl"
RATE = 50.0
WARM_SECONDS = 120.0
"""Java compiles what is used often only after a while, on the cores that all share."""
TIMES_THE_BACKENDS, MOST_SECONDS = 2.0, 1.0
BACKENDS = ("OpenSearch", "DynamoDB", "Redis", "Bedrock")
CALLS_THAT_ASK = {"OpenSearch": 2, "DynamoDB": 3, "Redis": 3, "Bedrock": 2}
"""Of a turn's three: an order needs neither the index nor a vector."""


@dataclass(frozen=True, slots=True)
class OnStack:
    """`seconds` are each backend's own, by backend and kind of request."""

    measured: Measured
    seconds: Mapping[str, Mapping[str, list[float]]]

    def all_of(self, backend: str) -> list[float]:
        return [each for label in self.seconds[backend].values() for each in label]

    def backend_ms(self, backend: str, share: float) -> float:
        return 1000 * percentile(self.all_of(backend), share)

    @property
    def backends_p99_ms(self) -> float:
        """One request to each, added up."""
        return sum(self.backend_ms(name, 0.99) for name in BACKENDS)

    @property
    def backends_p99_ms_by_call(self) -> float:
        """One request of each call to each backend that it asks, added up."""
        return sum(calls * self.backend_ms(name, 0.99) for name, calls in CALLS_THAT_ASK.items())

    @property
    def turn_p99_ms(self) -> float:
        return 1000 * percentile(self.measured.turns, 0.99)

    def requests_a_turn(self, backend: str) -> float:
        return len(self.all_of(backend)) / max(1, self.measured.turns_due)

    def bars(self) -> list[Bar]:
        once, by_call = TIMES_THE_BACKENDS * self.backends_p99_ms, TIMES_THE_BACKENDS * self.backends_p99_ms_by_call
        live = self.measured.share("live")
        return [
            Bar("p99 of a turn, ms (twice one p99 of each backend)", self.turn_p99_ms, once, at_least=False),
            Bar(
                "p99 of a turn, ms (twice one p99 of each backend for each call)", self.turn_p99_ms, by_call, at_least=False
            ),
            Bar("p99 of a turn, ms", self.turn_p99_ms, 1000 * MOST_SECONDS, at_least=False),
            Bar("share of calls answered live", live, 0.999, at_least=True),
        ]


async def on_stack(
    folder: Path, seconds: float, say: Callable[[str], None], client_late_ms: float = CLIENT_LATE_MS
) -> OnStack:
    async with AsyncExitStack() as stack:
        direct, watch = await _backends(stack, folder, say)
        say("filling them")
        done = await asyncio.to_thread(seeded, direct, "--orders", str(_orders(folder)))
        if done.returncode:
            raise RuntimeError(f"the stack could not be filled: {done.stderr[-2000:]}")
        proxies = await stack.enter_async_context(python(folder, "tests.load.open_loop.proxy", worker=True))
        through = await _through(proxies, direct)
        own = {"proxies": proxies.pid} | watch
        running = await stack.enter_async_context(rig(folder, through, own, client_late_ms))
        say(f"warming up, {RATE:g} calls/s")
        await running.once(RATE, min(WARM_SECONDS, 2 * seconds), 0.0, "uncached")
        await proxies.ask("reset")
        say(f"{RATE:g} calls/s for {seconds:g} s")
        measured = await running.run(RATE, seconds, settle=0.0, mix="uncached", again=0)
        return OnStack(measured, await proxies.ask("figures"))


async def _backends(
    stack: AsyncExitStack, folder: Path, say: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, int]]:
    """(settings that lead straight to them, processes); servers that already run are used where the environment names
    them, with names of this run's own in them."""
    watch: dict[str, int] = {}
    index, tables = os.environ.get("MANGA_STACK_OPENSEARCH"), os.environ.get("MANGA_STACK_DYNAMODB")
    if index is None:
        say("starting OpenSearch")
        node = await stack.enter_async_context(_in_thread(lambda: opensearch.started(java_options=())))
        index, watch["OpenSearch"] = node.url, node.child.pid
    if tables is None:
        say("starting DynamoDB Local")
        local = await stack.enter_async_context(_in_thread(dynamodb.started))
        tables, watch["DynamoDB"] = local.url, local.child.pid
    redis = await stack.enter_async_context(_in_thread(redis_servers.started))
    watch["Redis"] = redis.child.pid
    titan = await stack.enter_async_context(python(folder, "tests.load.stack_bedrock", worker=True))
    watch["Bedrock"] = titan.pid
    bedrock_url = (await titan.ask("where"))["url"]
    return _settings(index, tables, redis.url, bedrock_url), watch


def _settings(index: str, tables: str, redis: str, bedrock_url: str) -> dict[str, str]:
    name = f"load{uuid.uuid4().hex[:8]}"
    return {
        "MANGA_CATALOG_URL": f"{index}/?alias={name}",
        "MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={tables}&table_prefix={name}-",
        "MANGA_REDIS_URL": redis,
        "MANGA_EMBEDDER": f"bedrock:{bedrock.MODEL}",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock_url,
        "AWS_DEFAULT_REGION": bedrock.REGION,
        "AWS_ACCESS_KEY_ID": dynamodb.KEYS["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": dynamodb.KEYS["aws_secret_access_key"],
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


async def _through(proxies: Child, direct: Mapping[str, str]) -> dict[str, str]:
    """The same settings, with a proxy in each."""
    through = dict(direct)
    endpoint = direct["MANGA_STORE_URL"].partition("endpoint=")[2].partition("&")[0]
    places = {
        "OpenSearch": ("MANGA_CATALOG_URL", direct["MANGA_CATALOG_URL"].partition("/?")[0]),
        "DynamoDB": ("MANGA_STORE_URL", endpoint),
        "Redis": ("MANGA_REDIS_URL", direct["MANGA_REDIS_URL"].removesuffix("/0")),
        "Bedrock": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", direct["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]),
    }
    for name, (setting, url) in places.items():
        port = (await proxies.ask("open", name=name, url=url, redis=name == "Redis"))["port"]
        through[setting] = through[setting].replace(url, f"{url.partition('://')[0]}://127.0.0.1:{port}")
    return through


def _orders(folder: Path) -> Path:
    """One for each customer: a demo order under another name."""
    template = json.loads(ORDERS.read_text("utf-8").splitlines()[0])
    orders = ({**template, "owner": buyer(number), "order_id": order_of(number)} for number in range(CUSTOMERS))
    file = folder / "orders.jsonl"
    file.write_text("".join(json.dumps(order) + "\n" for order in orders), "utf-8")
    return file


@asynccontextmanager
async def _in_thread(start: Callable[[], AbstractContextManager[T]]) -> AsyncIterator[T]:
    """A blocking context manager, opened and closed on a thread."""
    opened = start()
    value = await asyncio.to_thread(opened.__enter__)
    try:
        yield value
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)
