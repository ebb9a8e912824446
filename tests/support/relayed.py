"""A relay in hand: what one process sends is noted with its time and goes nowhere, or fails as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from types import ModuleType, SimpleNamespace

import pytest
from starlette.types import Message, Scope

from server.runtime.fleet_key import FleetKey
from server.transport.relay.port import Cancel, Frame, Missed, Part, Receive, Relay, Seal, decode
from tests.support.virtual_time import running_clock


class Unsealed(Seal):
    """Leaves messages as they are, so that a test can read and write them on their channels."""

    def __init__(self) -> None:
        super().__init__(FleetKey("a secret"))

    def seal(self, to: str, message: bytes) -> bytes:
        return message

    def unseal(self, own: str, sealed: bytes) -> bytes:
        return sealed


class NotedRelay(Relay):
    """`sent` are times after the beginning, receivers and frames; `fails` returns what the sending of a frame raises."""

    def __init__(self, *ready_events: asyncio.Event) -> None:
        super().__init__(*ready_events)
        self.clock = running_clock()
        self.began = self.clock()
        self.sent: list[tuple[float, str, Frame]] = []
        self.fails: Callable[[Frame], Exception | None] = lambda frame: None
        self.processes: set[str] = set()
        self.ended: set[str] = set()
        self.looked: list[float] = []

    def now(self) -> float:
        return round(self.clock() - self.began, 6)

    def times_of(self, kind: type[Frame]) -> list[float]:
        return [time for time, _, frame in self.sent if isinstance(frame, kind)]

    def cancels(self) -> list[tuple[str, int, str]]:
        return [(to, frame.number, frame.of) for _, to, frame in self.sent if isinstance(frame, Cancel)]

    def parts(self, number: int = 1) -> list[Part]:
        return [frame for _, _, frame in self.sent if isinstance(frame, Part) and frame.number == number]

    def list_processes(self) -> set[str]:
        return self.processes

    async def send(self, to: str, message: bytes) -> None:
        frame = decode(message)
        assert frame is not None
        self.sent.append((self.now(), to, frame))
        if (failure := self.fails(frame)) is not None:
            raise failure

    async def find_ended(self, names: Collection[str]) -> set[str]:
        self.looked.append(self.now())
        return self.ended & set(names)

    async def run(self, receive: Receive, missed: Missed) -> None:
        await asyncio.Event().wait()

    async def aclose(self) -> None: ...


class Client:
    """Of one request: what it was told. `leaves` lets it go."""

    def __init__(self) -> None:
        self.status, self.body, self.whole = 0, b"", False
        self.leaves = asyncio.Event()

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message.get("body", b"")
            self.whole = not message.get("more_body", False)


def scope(**more: object) -> Scope:
    """Of a request that has arrived this moment."""
    common = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "scheme": "http", "headers": []}
    return {**common, "client": ("127.0.0.1", 1), "manga.arrived": running_clock()(), **more}


def follow_virtual_time(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Their clock is that of the loop."""
    for module in modules:
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=running_clock()))
