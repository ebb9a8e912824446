"""Batches on Streamable HTTP and on SSE streams: each message with its own answer and its own share of the limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from server.config.settings import Settings
from tests.support.inprocess import InProcess, in_process
from tests.support.websocket import call, initialize, request, websocket

BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Host": "localhost"}
SECONDS = 30
Json = dict[str, Any]


def events(text: str) -> list[Any]:
    return [json.loads(line.removeprefix("data:")) for line in text.splitlines() if line.startswith("data:")]


@asynccontextmanager
async def session(own: InProcess, version: str = "2025-03-26") -> AsyncIterator[httpx.AsyncClient]:
    """One of Streamable HTTP, as a client of that time has it: it states no version with its requests."""
    url = f"http://127.0.0.1:{own.port}"
    async with httpx.AsyncClient(base_url=url, headers=BOTH, timeout=SECONDS) as client:
        begun = await client.post("/mcp", json=initialize(version))
        assert events(begun.text)[0]["result"]["protocolVersion"] == version
        client.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        assert (await client.post("/mcp", json=note("notifications/initialized"))).status_code == 202
        yield client


def note(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def by_id(answers: list[Any]) -> Json:
    return {answer["id"]: answer for answer in answers}


async def test_each_message_of_a_batch_has_its_own_answer() -> None:
    """Events of one stream; what is no message among them, and what there is not."""
    async with in_process() as own, session(own) as client:
        mixed = [
            call(1, "search_manga_catalog", query="one piece", max_results=1),
            note("notifications/cancelled", requestId=99),
            request("two", "tools/list"),
            {"jsonrpc": "2.0", "id": 3},
            call(4, "no_such_tool"),
            initialize("2025-03-26"),
        ]
        answer = await client.post("/mcp", json=mixed)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        said = by_id(events(answer.text))
        assert said.keys() == {1, "two", 3, 4, "begin"}
        assert said[1]["result"]["structuredContent"]["results"][0]["title_id"] == "manga-001001"
        assert said["two"]["result"]["tools"]
        assert [said[each]["error"]["code"] for each in (3, 4, "begin")] == [-32600, -32602, -32600]
        stock = await client.post("/mcp", json=[call(5, "check_inventory")])
        assert events(stock.text)[0]["result"]["structuredContent"]["checked"] == "last_search"


async def test_what_asks_for_nothing_is_202_and_what_is_nothing_400() -> None:
    async with in_process() as own, session(own) as client:
        quiet = await client.post("/mcp", json=[note("notifications/cancelled", requestId=n) for n in range(2)])
        assert (quiet.status_code, quiet.content) == (202, b"")
        wrong = await client.post("/mcp", json=[1, {"jsonrpc": "2.0", "id": 2}])
        assert (wrong.status_code, [each["id"] for each in wrong.json()]) == (400, [None, 2])
        for body in ([], [request(n, "ping") for n in range(21)]):
            refused = await client.post("/mcp", json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_a_version_without_batches_has_none(version: str) -> None:
    """Nor does a request that states another one, or another caller's session."""
    async with in_process() as own:
        async with session(own, version) as client:
            refused = await client.post("/mcp", json=[request(1, "ping")])
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        async with session(own) as client:
            refused = await client.post("/mcp", json=[request(1, "ping")], headers={"MCP-Protocol-Version": version})
            assert refused.status_code == 400
            refused = await client.post("/mcp", json=[request(1, "ping")], headers={"Mcp-Session-Id": "0" * 32})
            assert refused.status_code in (400, 404)


class Hanging:
    """Orders that never come."""

    async def order(self, *asked: object) -> None:
        await asyncio.Event().wait()


async def test_twenty_calls_of_a_batch_are_twenty_calls() -> None:
    """Of which five have room: the others are told so, and none is lost."""
    few = Settings(max_concurrent_calls=5)
    async with in_process(lambda ports: replace(ports, orders=Hanging()), few) as own:  # type: ignore[arg-type]
        async with session(own) as client:
            batch = [call(n, "lookup_order", order_id="MNG-DEMO1001") for n in range(20)]
            answer = await client.post("/mcp", json=batch, headers={"X-User-ID": "demo-user-1"})
        names = [each["result"]["structuredContent"]["error"]["name"] for each in events(answer.text)]
        assert (len(names), names.count("SERVER_BUSY")) == (20, 15)
        assert own.app.pipeline.shed.under_way == 0


async def test_a_batch_on_an_sse_stream() -> None:
    """The POST is taken as one, and the answers come one by one."""
    async with in_process() as own:
        url = f"http://127.0.0.1:{own.port}"
        async with httpx.AsyncClient(base_url=url, headers=BOTH) as client, client.stream("GET", "/sse") as stream:
            lines = stream.aiter_lines()
            where = await told(lines)
            await client.post(where, json=initialize("2024-11-05"))
            await told(lines)
            posted = await client.post(where, json=[request(1, "ping"), request(1, "ping"), {}, request(2, "tools/list")])
            assert (posted.status_code, posted.content) == (202, b"")
            answers = [json.loads(await told(lines)) for _ in range(4)]
            assert sorted(str(each["id"]) for each in answers) == ["1", "2", "None", "None"]
            assert (await client.post(where, json=[])).status_code == 400
            assert (await client.post(where, json=[request(n, "ping") for n in range(21)])).status_code == 400


async def told(lines: AsyncIterator[str]) -> str:
    """The data of the next event."""
    async with asyncio.timeout(SECONDS):
        while not (line := await anext(lines)).startswith("data:"):
            pass
    return line.removeprefix("data:").strip()


async def test_what_a_caller_may_ask_for_is_counted_by_message() -> None:
    """Ten batches of twenty at once are two hundred calls, of which a burst of forty and ten a second are answered."""
    async with in_process(settings=Settings(websocket=True), limited=True) as own, websocket(own.port) as client:
        await client.introduced("2025-03-26")
        for batch in range(10):
            client.say([call(20 * batch + n, "check_inventory", title_ids=["manga-001001"]) for n in range(20)])
        answers = [await client.heard() for _ in range(200)]
        names = [each["result"]["structuredContent"].get("error", {}).get("name") for each in answers]
        assert len({each["id"] for each in answers}) == 200
        assert names.count("RATE_LIMITED") >= 100
        assert names.count(None) >= 40
