"""The proxy of the chaos suite does to a connection what each fault says: a suite whose faults are none proves nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.chaos import faults
from tests.chaos.faults import NONE, Fault
from tests.chaos.proxy import ADDRESS, Proxy
from tests.chaos.words import WORDS, language_of

REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + b"x" * 400
SLOW = 0.2
SOON = 30.0
NEVER = 0.4


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readuntil(b"{}"):
            writer.write(ANSWER)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


_connected: list[asyncio.StreamWriter] = []


@asynccontextmanager
async def standing(backend: str = "opensearch") -> AsyncIterator[Proxy]:
    server = await asyncio.start_server(_answer, ADDRESS, 0)
    async with Proxy.before(backend, server.sockets[0].getsockname()[1], SLOW) as proxy:
        try:
            yield proxy
        finally:
            while _connected:
                _connected.pop().close()
    server.close()
    await asyncio.sleep(0)


async def ask(proxy: Proxy, request: bytes = REQUEST) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(ADDRESS, proxy.port)
    _connected.append(writer)
    writer.write(request)
    return reader, writer


async def whole(reader: asyncio.StreamReader, size: int = len(ANSWER)) -> bytes:
    async with asyncio.timeout(SOON):
        return await reader.readexactly(size)


async def test_without_a_fault_it_is_not_there() -> None:
    """The same bytes, one request after the other."""
    async with standing() as proxy:
        reader, writer = await ask(proxy)
        assert await whole(reader) == ANSWER
        writer.write(REQUEST)
        assert await whole(reader) == ANSWER


async def test_latency_is_added_to_answers() -> None:
    """As much as the backend's callers would call slow."""
    async with standing() as proxy:
        await proxy.turn(faults.LATENCY)
        began = time.monotonic()
        reader, _ = await ask(proxy)
        assert await whole(reader) == ANSWER
        assert time.monotonic() - began >= SLOW


@pytest.mark.parametrize(
    ("fault", "passing"), [(faults.HANG, 0), (faults.HANG_MID, 240)], ids=["after accept", "mid-response"]
)
async def test_what_hangs_hangs_for_good(fault: Fault, passing: int) -> None:
    """Also after the fault's end: who swallowed a request never answers it. A new connection is as ever."""
    async with standing() as proxy:
        await proxy.turn(fault)
        reader, _ = await ask(proxy)
        assert await whole(reader, passing) == ANSWER[:passing]
        for now in (fault, NONE):
            await proxy.turn(now)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(NEVER):
                    await reader.read(1)
        again, _ = await ask(proxy)
        assert await whole(again) == ANSWER


async def test_a_closed_port_refuses_and_drops_who_is_connected() -> None:
    """And opens again on the same port."""
    async with standing() as proxy:
        reader, _ = await ask(proxy)
        await whole(reader)
        await proxy.turn(faults.REFUSED)
        with pytest.raises(OSError):
            await reader.readexactly(1)
        with pytest.raises(ConnectionRefusedError):
            await ask(proxy)
        await proxy.turn(NONE)
        again, _ = await ask(proxy)
        assert await whole(again) == ANSWER


async def test_a_reset_is_a_reset() -> None:
    """RST, not FIN."""
    async with standing() as proxy:
        await proxy.turn(faults.RESET)
        reader, _ = await ask(proxy)
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)


async def test_a_drip_drips() -> None:
    """A byte each 50 ms: four take a while, all would take half a minute."""
    async with standing() as proxy:
        await proxy.turn(faults.DRIP)
        began = time.monotonic()
        reader, _ = await ask(proxy)
        assert await whole(reader, 4) == ANSWER[:4]
        assert time.monotonic() - began >= 3 * faults.DRIP.drip


@pytest.mark.parametrize("backend", WORDS)
@pytest.mark.parametrize("fault", [faults.BROKEN, faults.THROTTLED], ids=lambda each: each.name)
async def test_errors_are_in_the_words_of_the_backend(backend: str, fault: Fault) -> None:
    """One for each request, also where the request comes in pieces."""
    assert fault.says is not None
    status, _, body = WORDS[backend][fault.says]
    async with standing(backend) as proxy:
        await proxy.turn(fault)
        reader, writer = await ask(proxy, REQUEST[:20])
        writer.write(REQUEST[20:] + REQUEST)
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d " % status)
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            assert json.loads(await whole(reader, length)) == body


async def test_redis_is_answered_once_a_command() -> None:
    """However many came together."""
    command = b"*1\r\n$4\r\nPING\r\n"
    async with standing("redis") as proxy:
        await proxy.turn(faults.BROKEN)
        reader, _ = await ask(proxy, command * 3)
        for _command in range(3):
            assert (await reader.readline()).startswith(b"-LOADING")


async def test_nonsense_is_no_answer_of_the_protocol() -> None:
    """By turns no JSON at all and JSON about something else."""
    assert faults.NONSENSE.says is not None
    language = language_of("opensearch")
    bodies = [language.answer(faults.NONSENSE.says).partition(b"\r\n\r\n")[2] for _ in range(2)]
    with pytest.raises(ValueError):
        json.loads(bodies[0])
    assert "responses" not in json.loads(bodies[1])
