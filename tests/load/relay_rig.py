"""Two replicas on one Redis, and proxies without affinity before them: one that leads to both, one before each."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from tests.load.children import Child, python
from tests.load.procfs import cpu_ms
from tests.support.serving import Serving, served
from tests.support.valkey import private_valkey

ANSWERED = re.compile(r"^manga_calls_total\{.*\} ([0-9.e+]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rig:
    """`own` are the ports before each replica, `to_any` the one before both."""

    folder: Path
    replicas: Sequence[Serving]
    redis: int
    proxy: Child
    load: Child
    own: list[int]
    to_any: int

    def cpu_ms(self) -> float:
        """Of both replicas, so far."""
        return sum(cpu_ms(each.pid) for each in self.replicas)

    async def calls(self) -> int:
        """That both replicas have counted, so far."""
        return sum([await asyncio.to_thread(_counted, each.url) for each in self.replicas])


def _counted(url: str) -> int:
    with urlopen(f"{url}/metrics", timeout=10) as response:
        return sum(int(float(each)) for each in ANSWERED.findall(response.read().decode()))


@asynccontextmanager
async def rig(clients: int) -> AsyncIterator[Rig]:
    """For so many clients at once."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manga-relay-")))
        redis = stack.enter_context(private_valkey())
        settings = {
            "MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}",
            "MANGA_EMBEDDER": "none",
            "MANGA_RATE_LIMIT": "off",
            "MANGA_MAX_SSE_SESSIONS": str(clients + 100),
            "MANGA_MAX_CONCURRENT_CALLS": "2000",
        }
        replicas = [stack.enter_context(served(folder / name, folder, **settings)) for name in ("one", "two")]
        urls = [each.url for each in replicas]
        proxy = await stack.enter_async_context(python(folder, "tests.load.round_robin_proxy", worker=True))
        load = await stack.enter_async_context(python(folder, "tests.load.paced_client", worker=True))
        own = [(await proxy.ask("open", urls=[url]))["port"] for url in urls]
        to_any = (await proxy.ask("open", urls=urls))["port"]
        yield Rig(folder, replicas, redis.port, proxy, load, own, to_any)
