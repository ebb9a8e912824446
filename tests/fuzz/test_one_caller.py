"""What one caller may take from a running server, and that others get theirs all the same."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from server.transport.http.bodies import MOST_BYTES
from server.transport.messages import MOST_VALUES
from tests.support.process import Process, serving
from tests.support.raw import (
    BOTH,
    INITIALIZE,
    INITIALIZED,
    VERSION_2025,
    Connection,
    ask,
    call,
    in_2026,
    message,
    search_once,
)
from tests.support.sse import SseClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

EMPTY_LISTS: list[list[Any]] = [[] for _ in range(330_000)]
TOKENS = {"auth": "token", "auth_tokens": "greedy-client,modest-client"}
GREEDY, MODEST = ({"authorization": f"Bearer {name}-client"} for name in ("greedy", "modest"))
PATIENCE = 60.0
MOST_GROWTH = 40 * 2**20


def introduction(capabilities: Any, name: str = "fat") -> bytes:
    client = {"name": name, "version": "1"}
    params = {"protocolVersion": VERSION_2025, "capabilities": capabilities, "clientInfo": client}
    return json.dumps(message("initialize", params), separators=(",", ":")).encode()


FAT = {
    "a megabyte of empty lists": (introduction({"experimental": {"x": {"y": EMPTY_LISTS}}}), 413),
    "as many values as may be": (introduction({"experimental": {"x": {"y": [[]] * (MOST_VALUES - 40)}}}), 200),
    "as many bytes as may be": (introduction({}, "n" * (MOST_BYTES - 300)), 200),
    "more bytes than that": (introduction({}, "n" * MOST_BYTES), 413),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Process]:
    async with serving() as own:
        yield own


async def test_sessions_that_ended_keep_nobody_out(server: Process) -> None:
    """Opened and ended as fast as one can."""

    async def churn(times: int) -> list[int]:
        statuses = []
        async with Connection.to(server.port) as connection:
            for _ in range(times):
                opened = await connection.request("POST", "/mcp", INITIALIZE)
                named = {"mcp-session-id": opened.headers["mcp-session-id"]}
                ended = await connection.request("DELETE", "/mcp", headers=named)
                statuses += [opened.status, ended.status]
        return statuses

    await search_once(server.port)
    await churn(50)
    before = server.memory_bytes()
    assert set(sum(await asyncio.gather(*(churn(150) for _ in range(4))), [])) == {200}
    assert (await ask(server.port, "POST", "/mcp", INITIALIZE)).status == 200
    assert server.memory_bytes() - before < 5 * 2**20


async def test_forty_fat_introductions_leave_little() -> None:
    """On both transports that keep what a client says of itself, with all of them open. (They kept a gigabyte.)"""
    async with serving() as server, AsyncExitStack() as stack:
        await search_once(server.port)
        for name, (body, status) in FAT.items():
            before = server.memory_bytes()
            for _ in range(20):
                assert (await ask(server.port, "POST", "/mcp", body, BOTH)).status == status, name
                client = await stack.enter_async_context(SseClient.to(server.port))
                assert (await client.post(body)).status == (202 if status == 200 else status), name
            assert server.memory_bytes() - before < MOST_GROWTH, name


async def test_what_holds_too_many_values_is_refused_at_every_door_and_for_every_method(server: Process) -> None:
    """Before the SDK makes models of it, wherever in the message they are."""
    opened = await ask(server.port, "POST", "/mcp", INITIALIZE)
    session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    async with SseClient.to(server.port) as stream:
        for asked in (message("tools/list"), message("subscriptions/listen"), call("check_inventory", {}), INITIALIZED):
            body, headers = in_2026(asked)
            body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {
                "experimental": {"x": EMPTY_LISTS[:9000]}
            }
            data = json.dumps(body).encode()
            assert (await ask(server.port, "POST", "/mcp", data, headers)).status == 413
            assert (await ask(server.port, "POST", "/mcp", data, {**BOTH, **session})).status == 413
            assert (await stream.post(data)).status == 413
        assert not (await stream.call("check_inventory", {"title_ids": ["manga-002001"]}))["isError"]


async def test_messages_that_race_the_end_of_their_session_leave_no_traceback(server: Process) -> None:
    """Each is answered, or told that there is no such session."""
    for _ in range(15):
        opened = await ask(server.port, "POST", "/mcp", INITIALIZE)
        named = {**BOTH, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
        asked = [message("tools/list", number=number) for number in range(6)]
        posts = [ask(server.port, "POST", "/mcp", each, named) for each in asked]
        posts.insert(3, ask(server.port, "DELETE", "/mcp", headers=named))
        statuses = [answer.status for answer in await asyncio.gather(*posts)]
        assert statuses[3] == 200
        assert set(statuses) <= {200, 404}
    assert "Traceback" not in server.log
    assert " ERROR " not in server.log


async def test_one_principal_that_holds_every_stream_keeps_nobody_out() -> None:
    """The other one gets a stream at once, though each was used a moment ago; the first keeps all the others."""
    async with serving(max_sse_sessions=4, **TOKENS) as server, AsyncExitStack() as stack:
        theirs = [await stack.enter_async_context(SseClient.to(server.port, GREEDY)) for _ in range(4)]
        refused = await ask(server.port, "GET", "/sse", headers={"accept": "text/event-stream", **GREEDY})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        async with SseClient.to(server.port, MODEST) as stream:
            assert not (await stream.call("check_inventory", {"title_ids": ["manga-002001"]}))["isError"]
            assert await theirs[0].end(5)
            for each in theirs[1:]:
                assert not (await each.call("check_inventory", {"title_ids": ["manga-002001"]}))["isError"]


async def test_forwarded_addresses_are_believed_of_trusted_proxies_alone() -> None:
    """Else anybody on loopback could be anybody, for limits and in logs; here each address is a holder of streams."""
    for trusted, status in (("", 503), ("127.0.0.1", 200)):
        async with serving(max_sse_sessions=2, trusted_proxies=trusted) as server, AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(SseClient.to(server.port))
            async with Connection.to(server.port) as connection:
                headers = {"accept": "text/event-stream", "x-forwarded-for": "10.0.0.1"}
                await connection.ask("GET", "/sse", headers=headers)
                assert (await connection.begin()).status == status


async def test_a_flood_of_one_principal_lets_another_through() -> None:
    """Who asks after three hundred of somebody else's is answered before most of them, and they, for more lists than
    their share, are told to wait. (All of them went before.)"""
    body, headers = in_2026(message("tools/list"))
    flood = 300
    async with serving(**TOKENS) as server, AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(Connection.to(server.port)) for _ in range(flood + 1)]
        answered: list[str] = []

        async def answer(connection: Connection, whose: str) -> None:
            heard = await connection.answer()
            refused = heard.status == 400 and heard.json()["error"]["data"]["name"] == "RATE_LIMITED"
            assert heard.status == 200 or (whose == "greedy" and refused), heard
            answered.append(whose)

        for connection in connections[:flood]:
            await connection.ask("POST", "/mcp", body, {**headers, **GREEDY})
        await connections[flood].ask("POST", "/mcp", body, {**headers, **MODEST})
        theirs = [answer(connection, "greedy") for connection in connections[:flood]]
        await asyncio.gather(*theirs, answer(connections[flood], "modest"))
        assert answered.index("modest") < flood * 2 / 3


async def test_two_customers_who_flood_keep_none_of_their_agents_others_out() -> None:
    """With the limits as they are: whoever asks for an order is answered, and those two are told to wait. (None of eighteen
    was, and thousands of refusals counted for nobody.)"""
    asked = {"query": "a story " + "x " * 200}
    order = {"order_id": "MNG-DEMO1001"}
    async with serving(auth="token", auth_tokens="greedy-client", rate_limit="on") as server, AsyncExitStack() as stack:
        told: Counter[str] = Counter()
        in_full_swing = asyncio.Event()

        async def ask_for(connection: Connection, tool: str, arguments: Any, user: str) -> str:
            body, headers = in_2026(call(tool, arguments), **{"com.mangaassist/userId": user})
            result = (await connection.request("POST", "/mcp", body, {**headers, **GREEDY})).json()["result"]
            return result["structuredContent"]["error"]["name"] if result["isError"] else "answered"

        async def flood(connection: Connection, user: str) -> None:
            for number in itertools.count():
                told[await ask_for(connection, "search_manga_catalog", {"query": f"{number} {asked['query']}"}, user)] += 1
                if told.total() > 500:
                    in_full_swing.set()

        connections = [await stack.enter_async_context(Connection.to(server.port)) for _ in range(200)]
        customer = await stack.enter_async_context(Connection.to(server.port))
        floods = [asyncio.create_task(flood(each, f"loud-{number % 2}")) for number, each in enumerate(connections)]
        async with asyncio.timeout(PATIENCE):
            await in_full_swing.wait()
            found = [await ask_for(customer, "lookup_order", order, f"calm-{number}") for number in range(20)]
        for each in floods:
            each.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
        assert found == ["NOT_FOUND"] * 20
        assert told["RATE_LIMITED"] > told["SERVER_BUSY"], told
