"""How a server ends: on signals, at the end of its input, and when it or its parent is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from tests.support.process import Process, alive, descendants, run, serving, until
from tests.support.raw import INITIALIZE, INITIALIZED, VERSION_2025, Connection, ask, call, in_2026, message
from tests.support.sse import SseClient

pytestmark = pytest.mark.alone
SEARCH = "search_manga_catalog"
END_SECONDS = 5.0
STREAMS = 50
UNDER_WAY = 20
STOP_TIMEOUT_SECONDS = 10.0
"""`stopTimeout` of the task in infra/docs/deployment.md."""


async def get(port: int, target: str) -> int:
    return (await ask(port, "GET", target)).status


async def session_2025(port: int) -> dict[str, str]:
    answer = await ask(port, "POST", "/mcp", INITIALIZE)
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(port, "POST", "/mcp", INITIALIZED, headers)
    return headers


async def rest_of(connection: Connection) -> bool:
    """Whether a streamed response ends as it should."""
    try:
        while await connection.chunk() is not None:
            pass
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_server_without_losing_an_answer(number: signal.Signals) -> None:
    """50 streams open, calls under way: no more traffic is asked for, every call is answered, every stream ends as a
    response should, and the exit status is 0 within five seconds."""
    async with serving(rate_limit="off", turn_budget_ms=1500) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(SseClient.to(server.port)) for _ in range(STREAMS)]
        children = descendants(server.pid)
        numbers = await asyncio.gather(
            *(c.start(SEARCH, {"query": f"berserk {i}"}) for i, c in enumerate(clients[:UNDER_WAY]))
        )
        started = time.monotonic()
        server.signal(number)

        await until(lambda: is_503(server), END_SECONDS, "/readyz says 503")
        assert await get(server.port, "/sse") == 503
        body, headers = in_2026(call(SEARCH, {"query": "berserk"}))
        refused = await ask(server.port, "POST", "/mcp", body, headers)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert await get(server.port, "/healthz") == 200
        late = await clients[-1].call(SEARCH, {"query": "asked by an open stream"})
        assert not late["isError"]

        for client, each in zip(clients, numbers, strict=False):
            assert not (await client.answer_to(each))["result"]["isError"]
        assert all(await asyncio.gather(*(client.end(END_SECONDS) for client in clients)))
        assert await server.ended(END_SECONDS) == 0
        assert time.monotonic() - started < END_SECONDS
        assert "Traceback" not in server.log
        assert not [pid for pid in children if alive(pid)]


class Tally(Counter[str]):
    """How calls ended. `stopping` is True from the signal on."""

    stopping = False


async def call_by_stream(client: SseClient, tally: Tally) -> None:
    """Calls without a pause until the stream has ended or no more is taken."""
    while client.ended is None:
        begun_before = not tally.stopping
        try:
            await client.call(SEARCH, {"query": "berserk"})
        except (AssertionError, OSError, EOFError):
            assert not begun_before, "a call begun before the signal has no answer"
            break
        tally["answered on streams"] += tally.stopping


async def call_by_post(port: int, number: int, tally: Tally) -> None:
    """Calls without a pause until nobody listens."""
    body, headers = in_2026(call(SEARCH, {"query": "berserk"}, {"com.mangaassist/sessionId": f"posts-{number}"}))
    while True:
        begun_before = not tally.stopping
        try:
            answer = await ask(port, "POST", "/mcp", body, headers)
        except ConnectionRefusedError:
            return
        except (OSError, EOFError):  # it came as the server closed: its client asks on another connection
            assert not begun_before, "a call begun before the signal has no answer"
            continue
        if answer.status == 503 and not begun_before:
            assert answer.headers["retry-after"] == "1"
            tally["refused"] += 1
        else:
            assert (answer.status, answer.complete) == (200, True)


async def test_server_with_default_settings_ends_within_a_tasks_stop_timeout_while_50_clients_call() -> None:
    """Half of them on streams, which are served until their turns are over; the others' new calls are refused meanwhile."""
    tally, defaults = Tally(), {"embedder": "local", "log_tool_calls": "errors"}
    async with serving(**defaults) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(SseClient.to(server.port)) for _ in range(STREAMS // 2)]
        calling = [asyncio.create_task(call_by_stream(each, tally)) for each in clients]
        calling += [asyncio.create_task(call_by_post(server.port, each, tally)) for each in range(STREAMS // 2)]
        await asyncio.gather(*(each.answer_to(20) for each in clients))
        started, tally.stopping = time.monotonic(), True
        server.signal(signal.SIGTERM)
        assert await server.ended(STOP_TIMEOUT_SECONDS) == 0
        took = time.monotonic() - started
        await asyncio.gather(*calling)
        print(f"ended in {took:.1f} s", dict(tally))
        assert all(client.ended for client in clients), "each stream ends as a response should"
        assert tally["answered on streams"]
        assert tally["refused"]
        assert "Traceback" not in server.log


async def is_503(server: Process) -> bool:
    return await get(server.port, "/readyz") == 503


async def test_listening_streams_of_both_eras_end_as_responses_should() -> None:
    """The 2025 session's GET stream is complete, and the 2026 subscription gets its result before it ends."""
    async with serving(turn_budget_ms=500) as server, AsyncExitStack() as stack:
        standing = await stack.enter_async_context(Connection.to(server.port))
        headers = {"accept": "text/event-stream", **await session_2025(server.port)}
        await standing.ask("GET", "/mcp", headers=headers)
        assert (await standing.begin()).status == 200
        listening = await stack.enter_async_context(Connection.to(server.port))
        body, headers = in_2026(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5))
        await listening.ask("POST", "/mcp", body, headers)
        assert (await listening.begin()).status == 200
        assert b"acknowledged" in (await listening.chunk() or b"")
        server.signal(signal.SIGTERM)
        assert await rest_of(standing)
        last = await listening.chunk()
        assert last is not None
        assert json.loads(last.decode().split("data: ")[1])["id"] == 5
        assert await rest_of(listening)
        assert await server.ended(END_SECONDS) == 0
        assert "Traceback" not in server.log


async def test_clients_that_are_stuck_hold_up_no_ending() -> None:
    """A stream whose answers nobody reads, a body that never comes, an idle connection: five seconds all the same."""
    async with serving(rate_limit="off", turn_budget_ms=1000) as server, AsyncExitStack() as stack:
        stuck = await stack.enter_async_context(SseClient.to(server.port))
        stuck.stream.writer.transport.pause_reading()
        asked = {"query": "high school love story", "max_results": 20}
        for number in range(3000):
            if (await stuck.post(call(SEARCH, asked, number=number))).status == 503:
                break
        else:
            pytest.fail("the stream was never full")
        slow = await stack.enter_async_context(Connection.to(server.port))
        await slow.send(
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
        )
        idle = await stack.enter_async_context(Connection.to(server.port))
        assert (await idle.request("GET", "/healthz")).status == 200
        server.signal(signal.SIGTERM)
        assert await server.ended(END_SECONDS) == 0


async def test_a_later_signal_ends_the_server_at_once() -> None:
    """While it still waits for a turn of a minute to be over, another signal is the last word, and Valkey goes with it."""
    async with serving(turn_budget_ms=60_000) as server, SseClient.to(server.port) as client:
        await client.call(SEARCH, {"query": "berserk"}, {"com.mangaassist/turnId": "long"})
        valkey = server.valkey()
        server.signal(signal.SIGTERM)
        await until(lambda: is_503(server), END_SECONDS, "/readyz says 503")
        server.signal(signal.SIGTERM)
        assert await is_503(server), "two signals at once are one: make passes on what its whole group gets"

        def insist() -> bool:
            if server.process.returncode is None:
                server.signal(signal.SIGTERM)
            return server.process.returncode is not None

        await until(insist, END_SECONDS, "the end")
        assert await server.ended(END_SECONDS) == 1
        await until(lambda: not alive(valkey), END_SECONDS, "Valkey gone")


async def test_a_signal_during_the_start_ends_the_server_too() -> None:
    """Exit status 0 and nothing left behind, also before it serves."""
    async with run("serve") as server:
        await until(lambda: bool(descendants(server.pid)), 30, "Valkey started")
        children = descendants(server.pid)
        server.signal(signal.SIGTERM)
        assert await server.ended(10) == 0
        assert not [pid for pid in children if alive(pid)]
        assert "Traceback" not in server.log


async def test_a_server_that_is_killed_leaves_no_valkey_behind() -> None:
    """SIGKILL cannot be caught: the child asked the kernel to be killed with its parent."""
    async with serving() as server:
        valkey = server.valkey()
        assert alive(valkey)
        server.signal(signal.SIGKILL)
        assert await server.ended(END_SECONDS) == -signal.SIGKILL
        await until(lambda: not alive(valkey), END_SECONDS, "Valkey gone")
