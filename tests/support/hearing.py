"""Clients of every kind that list their tools whenever they hear of a change, and when they did."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_types import ToolListChangedNotification

from tests.support import installed
from tests.support.clients import Connections, OfSdk
from tests.support.environments import python_of
from tests.support.process import until

READY_SECONDS = 60.0
STOP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class News:
    """One notification: when it came, when the list that was then asked for came, and that list. Monotonic seconds."""

    told: float
    listed: float
    tools: frozenset[str]


@dataclass(slots=True)
class Hearer:
    """A client of one kind, on one server."""

    kind: str
    server: str
    news: list[News] = field(default_factory=list)

    def hear(self, told: float, listed: float, tools: Sequence[str]) -> None:
        self.news.append(News(told, listed, frozenset(tools)))


async def all_have_heard(hearers: Sequence[Hearer], since: Sequence[int], seconds: float) -> None:
    """Waits until each has heard more than it had."""

    def deaf() -> list[str]:
        pairs = zip(hearers, since, strict=True)
        return [f"{hearer.kind} at {hearer.server}" for hearer, before in pairs if len(hearer.news) <= before]

    try:
        await until(lambda: not deaf(), seconds, "a notification")
    except AssertionError:
        raise AssertionError(f"not within {seconds:g} s: a notification to {', '.join(deaf())}") from None


def of_2025(connections: Connections, name: str, url: str, headers: Mapping[str, str] | None = None) -> Hearer:
    """The SDK's client in the handshake era."""
    hearer, running = Hearer(name, url), set[asyncio.Task[None]]()

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            task = asyncio.create_task(_listed(client, hearer, time.monotonic()))
            running.add(task)
            task.add_done_callback(running.discard)

    client = connections.open(name, url, headers, message_handler=heard)
    return hearer


def of_2026(connections: Connections, name: str, url: str, headers: Mapping[str, str] | None = None) -> Hearer:
    """The SDK's client with a subscription."""
    client, hearer, begun = connections.open(name, url, headers), Hearer(name, url), threading.Event()
    assert isinstance(client, OfSdk)
    sdk = client.sdk

    async def listen() -> None:
        async with sdk.listen(tools_list_changed=True) as subscription:
            begun.set()
            async for _ in subscription:
                await _listed(client, hearer, time.monotonic())

    connections.beside(listen)
    assert begun.wait(READY_SECONDS)
    return hearer


async def _listed(client: Any, hearer: Hearer, told: float) -> None:
    found = await client.sdk.list_tools(cache_mode="bypass")
    hearer.hear(told, time.monotonic(), [tool.name for tool in found.tools])


def of_strands(connections: Connections, name: str, url: str) -> Hearer:
    """Strands lists by itself before it tells anybody: its two times are one."""
    hearer = Hearer(name, url)

    def changed(tools: list[str]) -> None:
        hearer.hear(time.monotonic(), time.monotonic(), tools)

    connections.open(name, url, on_tools_changed=changed)
    return hearer


def mcp_1_listener() -> list[str]:
    return [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "mcp1_listener.py")]


def typescript_listener() -> list[str]:
    return installed.node().beside(installed.CLIENTS / "typescript_listener.mjs")


@contextmanager
def of_program(name: str, command: list[str], urls: Sequence[str], log: Path) -> Iterator[list[Hearer]]:
    """A program of tests/wire/clients that listens over SSE and Streamable HTTP on each server."""
    hearers = {f"{url}{path}": Hearer(f"{name}-{kind}", url) for url in urls for kind, path in _PATHS.items()}
    targets = [word for url in urls for kind, path in _PATHS.items() for word in (kind, f"{url}{path}")]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, *targets], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=log.parent
        )
    assert process.stdin is not None
    ready = threading.Semaphore(0)
    reader = threading.Thread(target=_read, args=(process, hearers, ready.release), daemon=True)
    reader.start()
    try:
        for _ in hearers:
            assert ready.acquire(timeout=READY_SECONDS), log.read_text("utf-8", "replace")
        yield list(hearers.values())
    finally:
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(STOP_SECONDS)


_PATHS = {"sse": "/sse", "http": "/mcp"}


def _read(process: subprocess.Popen[bytes], hearers: dict[str, Hearer], ready: Callable[[], None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            said = json.loads(line)
            if "told" in said:
                hearers[said["client"]].hear(said["told"], said["listed"], said["tools"])
            else:
                ready()
