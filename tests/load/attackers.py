"""`python -m tests.load.attackers`: what others feel while callers send the largest arguments that a tool admits.

One server over a catalogue of 18,804 titles. For each tool, N users of their own send the largest valid arguments of every
kind of text (tests/support/largest.py) as fast as they are answered; beside them somebody asks `/healthz`, and a customer for
an order. The bar is 250 ms for both. Limits are on, so most of an attacker's calls beyond ten a second are refused; with
`--no-limits` none is.

`--wire` attacks the transport instead: batches and lists that nobody reads, or that are read as fast as they come, and floods
of WebSocket frames, with other tokens than the customer's. There the bar is 500 ms, and 128 MiB of growth.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.load import report
from tests.quality.sets import evaluation_set, missing_message
from tests.support.large_catalog import large_catalog
from tests.support.largest import TEXTS, asked_of
from tests.support.process import Process, serving
from tests.support.raw import BOTH, INITIALIZED, Connection, call, head, in_2026, message
from tools.contract import Tool
from tools.registry import TOOLS

BAR_MS = 250.0
WIRE_BAR_MS = 500.0
MOST_GROWTH = 128 * 2**20
GREEDY, MODEST = ({"authorization": f"Bearer {name}-client"} for name in ("greedy", "modest"))
WIRE: dict[str, Any] = {"auth": "token", "auth_tokens": "greedy-client,modest-client", "websocket": "on"}
PAUSE = 0.02
CLOSING_SECONDS = 1.0
CUSTOMER, ORDER = "demo-user-1", "MNG-DEMO1001"
Prepared = tuple[bytes, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Felt:
    """Milliseconds of each question, and how many calls the attackers got through."""

    attack: str
    health: Sequence[float]
    order: Sequence[float]
    calls: int
    grown: int = 0
    """Bytes that the process had more than before, at most."""
    bar_ms: float = BAR_MS

    def row(self) -> str:
        return (
            f"{self.attack:24} {self.calls:7}   {_spread(self.health)}   {_spread(self.order)}   {self.grown / 2**20:7.1f}"
        )

    def missed(self) -> bool:
        return max(*self.health, *self.order) > self.bar_ms or self.grown > MOST_GROWTH


def _spread(milliseconds: Sequence[float]) -> str:
    ordered = sorted(milliseconds)
    picked = (ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))], ordered[-1])
    return " ".join(f"{each:7.1f}" for each in picked)


def largest_calls(tool: Tool, user: str, title_ids: Sequence[str]) -> list[Prepared]:
    rule = tool.input_schema["properties"].get("title_ids", {})
    known = {"title_id": title_ids[0], "title_ids": list(title_ids[: rule.get("maxItems", 0)]), "order_id": ORDER}
    asked = [arguments for text in TEXTS.values() for arguments in asked_of(tool, text, known)]
    return [_prepared(tool.name, arguments, user) for arguments in asked]


def _prepared(tool: str, arguments: object, user: str) -> Prepared:
    body, headers = in_2026(call(tool, arguments), **{"com.mangaassist/userId": user})
    return json.dumps(body).encode(), headers


async def attack(port: int, bodies: Sequence[Prepared], until: float) -> int:
    """As fast as the answers come, one after the other. How many came."""
    answered = 0
    async with Connection.to(port) as connection:
        for body, headers in itertools.cycle(bodies):
            if time.monotonic() >= until:
                return answered
            await connection.request("POST", "/mcp", body, headers)
            answered += 1
    return answered


async def feel(ask: Callable[[], Awaitable[object]], until: float) -> list[float]:
    waits = []
    while time.monotonic() < until:
        began = time.perf_counter()
        await ask()
        waits.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(PAUSE)
    return waits


async def felt(port: int, name: str, attackers: Sequence[Sequence[Prepared]], seconds: float) -> Felt:
    until = time.monotonic() + seconds
    return await _beside(port, name, until, [attack(port, bodies, until) for bodies in attackers])


async def _beside(
    port: int, name: str, until: float, attacks: Sequence[Awaitable[int]], own: Mapping[str, str] | None = None
) -> Felt:
    body, headers = _prepared("lookup_order", {"order_id": ORDER}, CUSTOMER)
    async with Connection.to(port) as one, Connection.to(port) as other:
        health, order, *calls = await asyncio.gather(
            feel(lambda: one.request("GET", "/healthz"), until),
            feel(lambda: other.request("POST", "/mcp", body, {**headers, **(own or {})}), until),
            *attacks,
        )
    return Felt(name, health, order, sum(calls))


ZERO = b"\0\0\0\0"
"""A mask that changes nothing."""
LISTS = [message("tools/list", number=number) for number in range(20)]
FRAMES = {
    "empty pings": b"\x89\x80" + ZERO,
    "pongs": b"\x8a\x80" + ZERO,
    "one-byte messages": b"\x81\x81" + ZERO + b"1",
    "empty pieces": b"\x00\x80" + ZERO,
}


def text_frame(value: object) -> bytes:
    data = json.dumps(value).encode()
    length = bytes([128 + len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + length + ZERO + data


def introduced(version: str) -> dict[str, object]:
    client = {"name": "attacker", "version": "1"}
    return message("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}, "begin")


def upgraded(port: int) -> socket.socket:
    """A WebSocket that blocks: a thread that only sends leaves the processor to the server."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    own.settimeout(60)
    own.connect(("127.0.0.1", port))
    upgrade = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13"}
    key = {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-protocol": "mcp"}
    own.sendall(head("GET", "/ws", {**upgrade, **key, **GREEDY}))
    assert own.recv(12) == b"HTTP/1.1 101"
    return own


def flooded(port: int, frames: bytes, until: float) -> int:
    """Sends them for as long as they are taken, and reads nothing; how many bytes went. Once it is closed it comes again."""
    sent = 0
    piece = frames * (2**16 // len(frames))
    while time.monotonic() < until:
        with suppress(OSError), upgraded(port) as own:
            own.settimeout(0.2)
            own.sendall(b"\x01\x80" + ZERO if frames[0] == 0 else b"")
            while time.monotonic() < until:
                with suppress(TimeoutError):
                    sent += own.send(piece)
    return sent


def unread_lists(port: int, sockets: int, until: float) -> int:
    """256 lists on each of so many WebSockets, none of which is read."""
    asked = b"".join(text_frame(message("tools/list", number=number)) for number in range(256))
    opened = [upgraded(port) for _ in range(sockets)]
    for own in opened:
        own.sendall(text_frame(introduced("2025-03-26")) + text_frame(INITIALIZED) + asked)
    time.sleep(max(0.0, until - time.monotonic()))
    for own in opened:
        own.close()
    return 256 * sockets


async def batches(port: int, connections: int, until: float, *, read: bool) -> int:
    """Each connection posts batches of twenty lists in a session of its own, and reads them or does not."""

    async def one() -> int:
        async with Connection.to(port) as own:
            if not read:
                own.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            begun = await own.request("POST", "/mcp", introduced("2025-03-26"), GREEDY)
            named = {**BOTH, **GREEDY, "mcp-session-id": begun.headers["mcp-session-id"]}
            body, count = json.dumps(LISTS).encode(), 0
            while time.monotonic() < until:
                await own.ask("POST", "/mcp", body, named)
                count += len(LISTS)
                if not read:
                    own.writer.transport.pause_reading()  # type: ignore[attr-defined]
                    await asyncio.sleep(until - time.monotonic())
                else:
                    await own.answer()
            return count

    return sum(await asyncio.gather(*(one() for _ in range(connections))))


async def unread_streams(port: int, streams: int, until: float) -> int:
    """Batches of lists and look-ups posted to each of so many SSE streams, none of which is read. All of them close at once
    before the end."""
    closing = until - CLOSING_SECONDS

    async def one() -> int:
        async with Connection.to(port) as stream, Connection.to(port) as own:
            stream.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await stream.ask("GET", "/sse", headers={**GREEDY, "accept": "text/event-stream"})
            await stream.begin()
            where = (await stream.chunk() or b"").decode().partition("data: ")[2].strip()
            stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for begun in (introduced("2025-03-26"), INITIALIZED):
                await own.request("POST", where, begun, GREEDY)
            count = 0
            while not count or time.monotonic() < closing:
                begun = itertools.count(count)
                asked = [message("tools/list"), *(call("lookup_order", {"order_id": ORDER}) for _ in range(19))]
                batch = json.dumps([{**each, "id": number} for each, number in zip(asked, begun, strict=False)])
                await own.request("POST", where, batch.encode(), {**BOTH, **GREEDY})
                count += len(asked)
            await asyncio.sleep(max(0.0, closing - time.monotonic()))
            return count

    return sum(await asyncio.gather(*(one() for _ in range(streams))))


async def wire(seconds: float, only: str = "") -> list[Felt]:
    """Each attack meets a server of its own, so that what one leaves is not counted to the next."""
    found = []
    attacks: dict[str, Callable[[int, float], Sequence[Awaitable[int]]]] = {
        "nobody": lambda port, until: [],
        "400 unread batches": lambda port, until: [batches(port, 400, until, read=False)],
        "8 read batches": lambda port, until: [batches(port, 8, until, read=True)],
        "150 SSE streams unread": lambda port, until: [unread_streams(port, 150, until)],
        "20 sockets unread": lambda port, until: [asyncio.to_thread(unread_lists, port, 20, until)],
        **{f"3 sockets, {name}": _flood(frames) for name, frames in FRAMES.items()},
    }
    for name, begin in attacks.items():
        if only in name:
            async with serving(**WIRE) as server:
                until = time.monotonic() + seconds
                growing = asyncio.create_task(_growth(server, until))
                felt = await _beside(server.port, name, until, begin(server.port, until), MODEST)
                found.append(replace(felt, grown=await growing, bar_ms=WIRE_BAR_MS))
    return found


def _flood(frames: bytes) -> Callable[[int, float], Sequence[Awaitable[int]]]:
    return lambda port, until: [asyncio.to_thread(flooded, port, frames, until) for _ in range(3)]


async def _growth(server: Process, until: float) -> int:
    before = most = server.memory_bytes()
    while time.monotonic() < until:
        most = max(most, server.memory_bytes())
        await asyncio.sleep(PAUSE)
    return most - before


def catalogue(folder: Path) -> tuple[Path, list[str]]:
    """The file, and the ids of some of its titles."""
    judged = evaluation_set()
    if judged is not None:
        return judged.catalog, [f"manga-{number:06}" for number in range(1, 101)]
    print(f"{missing_message()}; a generated catalogue of the same size is used", file=sys.stderr)
    path, records = folder / "catalog.jsonl", large_catalog()
    path.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in records) + "\n", "utf-8")
    return path, [str(each["title_id"]) for each in records[:100]]


async def measure(asked: argparse.Namespace) -> list[Felt]:
    limits = {"rate_limit": "off"} if asked.no_limits else {}
    with tempfile.TemporaryDirectory() as folder:
        path, title_ids = catalogue(Path(folder))
        flags = Path(folder) / "flags.json"
        flags.write_text(json.dumps({tool.name: True for tool in TOOLS}), "utf-8")  # what is off does no work
        async with serving(catalog_file=path, data_dir=folder, flags_url=f"file:{flags}", **limits) as server:
            return [each async for each in _rounds(server.port, title_ids, asked)]


async def _rounds(port: int, title_ids: Sequence[str], asked: argparse.Namespace) -> AsyncIterator[Felt]:
    yield await felt(port, "nobody", [], asked.seconds)
    for tool in TOOLS:
        users = [f"attacker-{tool.name}-{number}" for number in range(asked.attackers)]
        bodies = [largest_calls(tool, user, title_ids) for user in users]
        yield await felt(port, tool.name, bodies, asked.seconds)


def table(found: Sequence[Felt], attackers: int) -> Iterator[str]:
    yield f"{report.machine()}; {attackers} attackers"
    yield f"{'':24} {'':7}   {'/healthz, ms':>23}   {'an order, ms':>23}   {'grown,':>7}"
    yield f"{'attack':24} {'calls':>7}   {'p50':>7} {'p99':>7} {'most':>7}   {'p50':>7} {'p99':>7} {'most':>7}   {'MiB':>7}"
    yield from (each.row() for each in found)
    for each in found:
        if each.missed():
            yield f"MISSED  {each.attack}: more than {each.bar_ms:g} ms of waiting, or {MOST_GROWTH / 2**20:g} MiB"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.attackers", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--attackers", type=int, default=6, help="users at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each tool (default: %(default)g)")
    parser.add_argument("--no-limits", action="store_true", help="without the limit of calls for each user")
    parser.add_argument("--wire", action="store_true", help="attack the transport, with limits, in place of the tools")
    parser.add_argument("--only", default="", help="attacks of the transport with this in their name")
    parser.add_argument("--bars", action="store_true", help="exit with 1 when somebody waited for too long")
    asked = parser.parse_args(arguments)
    found = asyncio.run(wire(asked.seconds, asked.only) if asked.wire else measure(asked))
    print("\n".join(table(found, asked.attackers)))
    return int(asked.bars and any(each.missed() for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
