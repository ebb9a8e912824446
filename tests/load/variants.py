"""What is compared, and how each is started."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.load.children import Child, python
from tests.load.procfs import unix_socket_of, valkey_of
from tests.support.ports import free_port

FROM_CACHE = '"source":"cache"'
PRODUCT = {"MANGA_CACHE_TTL_S": "86400"}
"""All else is as delivered: limits on, telemetry on, the embedded Valkey."""


@dataclass(frozen=True, slots=True)
class Running:
    """A started variant. `port` is None for the one that is called in its process."""

    child: Child
    port: int | None = None
    valkey: int | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """`promised` has to be in every answer. `start` gets a folder and the file of the product's answer."""

    key: str
    about: str
    start: Callable[[Path, Path], AbstractAsyncContextManager[Running]]
    promised: str = '"structuredContent":'
    echo: bool = False


@asynccontextmanager
async def echo(folder: Path, answer: Path) -> AsyncIterator[Running]:
    port = free_port()
    async with python(folder, "tests.load.echo_server", str(port)) as child:
        await child.listening(port)
        yield Running(child, port)


@asynccontextmanager
async def same_answer(folder: Path, answer: Path) -> AsyncIterator[Running]:
    port = free_port()
    async with python(folder, "tests.load.echo_server", str(port), str(answer)) as child:
        await child.listening(port)
        yield Running(child, port)


@asynccontextmanager
async def ordinary(folder: Path, answer: Path) -> AsyncIterator[Running]:
    port = free_port()
    async with python(folder, "tests.load.ordinary_server", str(port), str(answer)) as child:
        await child.listening(port)
        yield Running(child, port, valkey_of(child.pid))


@asynccontextmanager
async def product(folder: Path, answer: Path) -> AsyncIterator[Running]:
    port = free_port()
    environment = PRODUCT | {"MANGA_PORT": str(port)}
    async with python(folder, "server", "serve", "--with-parent", environment=environment) as child:
        # The port is bound before anything is loaded, and answers once the server serves.
        await child.serving(port)
        yield Running(child, port, valkey_of(child.pid))


@asynccontextmanager
async def in_process(folder: Path, answer: Path) -> AsyncIterator[Running]:
    async with python(folder, "tests.load.in_process", worker=True, environment=PRODUCT) as child:
        await child.ask("warm")
        yield Running(child, valkey=valkey_of(child.pid))


VARIANTS = (
    Variant("A", "bare SDK, echo of a few words", echo, promised='"text":', echo=True),
    Variant("A=", "bare SDK, the product's answer from a constant", same_answer),
    Variant("B", "SDK's MCPServer + redis-py, three commands", ordinary),
    Variant("C", "this server", product, promised=FROM_CACHE),
    Variant("D", "this server's pipeline without MCP", in_process),
)


@asynccontextmanager
async def watched(valkey: int) -> AsyncIterator[ValkeyWatch]:
    redis = MultiplexedRedis(RedisAddress(path=unix_socket_of(valkey)))
    await redis.connect(Deadline.after(5))
    try:
        yield ValkeyWatch(redis)
    finally:
        await redis.aclose()


class ValkeyWatch:
    """Valkey's own counters: what it was sent, and in how many reads."""

    def __init__(self, redis: MultiplexedRedis) -> None:
        self._redis = redis

    async def reads_and_commands(self) -> tuple[int, int]:
        """`total_reads_processed` counts what arrived together as one, whatever was in it: with one client at a time, a
        trip. Commands are those of the client, not those inside scripts."""
        (info,) = await self._redis.trip([Command(("INFO", "stats", "commandstats"))], Deadline.after(5))
        lines = (line.partition(":") for line in info.decode().split("\r\n") if ":" in line)
        values = {name: value for name, _, value in lines}
        sent = ("evalsha", "eval", "get", "set", "hset", "hgetall")
        outer = values if "cmdstat_evalsha" not in values else {k: v for k, v in values.items() if k in OUTSIDE_SCRIPTS}
        commands = sum(_calls(outer.get(f"cmdstat_{name}", "")) for name in sent)
        return int(values["total_reads_processed"]), commands


# Commands that the product sends by themselves; the others it uses inside scripts only.
OUTSIDE_SCRIPTS = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_get", "cmdstat_set")


def _calls(stat: str) -> int:
    return int(stat.removeprefix("calls=").partition(",")[0] or 0)
