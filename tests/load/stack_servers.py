"""Starting what a production server needs, filled with the demo catalogue, and production servers themselves."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.load.children import ROOT, Child, python
from tests.load.collector import made as collector_file
from tests.load.stack_bedrock import LATENCY_SECONDS
from tests.stack import dynamodb, opensearch, redis_servers
from tests.stack.artefacts import StackError
from tests.support.bedrock import MODEL, REGION
from tests.support.ports import free_port
from tests.support.stack import seeded

DELIVERED = {"MANGA_CACHE_TTL_S": "86400"}
NOTHING_KEPT = {"MANGA_CACHE": "off"}
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Backends:
    """Where each is. The names are those of the table."""

    opensearch: str
    dynamodb: str
    redis: str
    bedrock: str
    name: str
    """Of the index and of the tables, which may be in servers that others use too."""

    def urls(self) -> dict[str, str]:
        return {name: getattr(self, name.lower()) for name in NAMES}

    def settings(self) -> dict[str, str]:
        return {
            "MANGA_CATALOG_URL": f"{self.opensearch}/?alias={self.name}",
            "MANGA_STORE_URL": f"dynamodb://{dynamodb.REGION}?endpoint={self.dynamodb}&table_prefix={self.name}-",
            "MANGA_REDIS_URL": self.redis,
            "MANGA_EMBEDDER": f"bedrock:{MODEL}",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.bedrock,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }


NAMES = ("OpenSearch", "DynamoDB", "Redis", "Bedrock")
BEHIND = "profile"
"""What customers did is written into DynamoDB behind the answer: trips that no call waits for."""
ALIVE = "alive"
"""A replica tells Redis all the time that it lives, asks whether its channel does, and leaves what the fleet shares: trips
that are no call's."""
APART = {
    "DynamoDB": ((".BatchWriteItem",), BEHIND),
    "Redis": ((":alive", "PING", "manga:mcp:fleet:", "manga:mcp:snapshot:"), ALIVE),
}
"""By backend: words of the requests that go by a name of their own, and that name."""


@asynccontextmanager
async def backends(folder: Path) -> AsyncIterator[Backends]:
    """All four, filled. OpenSearch and DynamoDB Local may be running already
    (MANGA_STACK_OPENSEARCH, MANGA_STACK_DYNAMODB). Raises `StackError`."""
    async with AsyncExitStack() as stack:
        # Measured with the full compiler: the quick one starts sooner and stays slower.
        index = os.environ.get("MANGA_STACK_OPENSEARCH") or stack.enter_context(opensearch.opensearch_node(java_options=()))
        tables = os.environ.get("MANGA_STACK_DYNAMODB") or stack.enter_context(dynamodb.dynamodb_local())
        redis = stack.enter_context(redis_servers.redis_server())
        bedrock = await stack.enter_async_context(python(folder, "tests.load.stack_bedrock", worker=True))
        url = (await bedrock.ask("where"))["url"]
        there = Backends(index, tables, redis, url, f"bench{uuid.uuid4().hex[:8]}")
        done = await asyncio.to_thread(seeded, there.settings())
        if done.returncode:
            raise StackError(f"the catalogue was not loaded: {done.stderr[-2000:]}")
        await bedrock.ask("take", seconds=LATENCY_SECONDS)
        yield there


@dataclass(frozen=True, slots=True)
class Server:
    """`collector`: the file that is told what its garbage collector does."""

    child: Child
    port: int
    collector: Path


@asynccontextmanager
async def server(folder: Path, there: Backends, *, nothing_kept: bool = False) -> AsyncIterator[Server]:
    """`python -m server serve` in production mode, once it is ready."""
    port = free_port()
    own = Path(tempfile.mkdtemp(dir=folder))  # for its log
    collector = collector_file(own / "collector")
    arguments = ["tests.load.stack_launch", ",".join(not_delivered()), str(collector)]
    environment = there.settings() | (NOTHING_KEPT if nothing_kept else DELIVERED) | {"MANGA_PORT": str(port)}
    async with python(own, *arguments, environment=environment) as child:
        await child.serving(port)
        yield Server(child, port, collector)


def not_delivered() -> list[str]:
    """Packages that are installed here and are not in requirements.lock."""
    locked = {_normal(name) for name in LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8"))}
    distributions = packages_distributions()
    return sorted(name for name, by in distributions.items() if name != "tests" and not locked & set(map(_normal, by)))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@asynccontextmanager
async def tapped(folder: Path, there: Backends) -> AsyncIterator[tuple[Backends, Child]]:
    """The same backends through pass-throughs that write each trip down, and their worker."""
    async with python(folder, "tests.load.stack_taps", worker=True) as taps:
        urls = {}
        for name, url in there.urls().items():
            parts = urlsplit(url)
            port = (await taps.ask("tap", name=name, host=parts.hostname, port=parts.port, apart=APART.get(name)))["port"]
            urls[name.lower()] = urlunsplit(parts._replace(netloc=f"127.0.0.1:{port}"))
        yield Backends(**urls, name=there.name), taps


@dataclass(frozen=True, slots=True)
class RedisWatch:
    """Redis asked about itself."""

    redis: MultiplexedRedis

    @classmethod
    @asynccontextmanager
    async def of(cls, url: str) -> AsyncIterator[RedisWatch]:
        redis = MultiplexedRedis(RedisAddress.parse(url))
        await redis.connect(Deadline.after(5))
        try:
            yield cls(redis)
        finally:
            await redis.aclose()

    async def used_memory(self) -> int:
        return int((await self.info("memory"))["used_memory"])

    async def forget_everything(self) -> None:
        await self.redis.trip([Command(("FLUSHALL",))], Deadline.after(10))

    async def info(self, section: str) -> Mapping[str, str]:
        (said,) = await self.redis.trip([Command(("INFO", section))], Deadline.after(5))
        lines = (line.partition(":") for line in said.decode().split("\r\n") if ":" in line)
        return {name: value for name, _, value in lines}
