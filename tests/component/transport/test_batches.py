"""Batches on Streamable HTTP and on SSE streams: each message has its own answer and share of the limits."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from server.backends.opening import Ports
from server.config.settings import Settings
from server.identity import caller_limits
from tests.support import raw
from tests.support.cases import cases
from tests.support.inprocess import InProcess, in_process
from tests.support.process import until
from tests.support.raw import Connection
from tests.support.websocket import call, initialize, request, websocket
from tools.store.ports import CatalogPort

BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Host": "localhost"}
SECONDS = 30
Json = dict[str, Any]


def events(text: str) -> list[Any]:
    return [json.loads(line.removeprefix("data:")) for line in text.splitlines() if line.startswith("data:")]


@asynccontextmanager
async def session(own: InProcess, version: str = "2025-03-26", bearer: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """One of Streamable HTTP, as a client of that time has it: it states no version with its requests."""
    url, headers = f"http://127.0.0.1:{own.port}", BOTH | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=SECONDS) as client:
        begun = await client.post("/mcp", json=initialize(version))
        assert events(begun.text)[0]["result"]["protocolVersion"] == version
        client.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        assert (await client.post("/mcp", json=note("notifications/initialized"))).status_code == 202
        yield client


def note(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def by_id(answers: list[Any]) -> Json:
    return {answer["id"]: answer for answer in answers}


async def test_each_message_of_a_batch_is_answered_and_a_notification_is_not() -> None:
    """The answers are events of one stream; an invalid message and an unknown method are among them."""
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


async def test_batch_of_notifications_gets_202_and_an_empty_or_oversized_one_400() -> None:
    async with in_process() as own, session(own) as client:
        quiet = await client.post("/mcp", json=[note("notifications/cancelled", requestId=n) for n in range(2)])
        assert (quiet.status_code, quiet.content) == (202, b"")
        wrong = await client.post("/mcp", json=[1, {"jsonrpc": "2.0", "id": 2}])
        assert (wrong.status_code, [each["id"] for each in wrong.json()]) == (400, [None, 2])
        for body in ([], [request(n, "ping") for n in range(21)]):
            refused = await client.post("/mcp", json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)


@cases("version", ["2025-06-18", "2025-11-25"])
async def test_batch_is_refused_in_a_version_without_batches(version: str) -> None:
    """A request with another version or another caller's session is refused too."""
    async with in_process() as own:
        async with session(own, version) as client:
            refused = await client.post("/mcp", json=[request(1, "ping")])
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        async with session(own) as client:
            refused = await client.post("/mcp", json=[request(1, "ping")], headers={"MCP-Protocol-Version": version})
            assert refused.status_code == 400
            refused = await client.post("/mcp", json=[request(1, "ping")], headers={"Mcp-Session-Id": "0" * 32})
            assert refused.status_code in (400, 404)


@cases(("first", "second"), [("2025-03-26", "2025-11-25"), ("2025-11-25", "2024-11-05")])
async def test_second_initialize_is_refused_and_the_agreed_version_stays(first: str, second: str) -> None:
    """A first one that fails agrees to nothing, and may be repeated."""
    incomplete = request("bad", "initialize", protocolVersion=second)
    async with in_process(settings=Settings(websocket=True)) as own:
        async with session(own, first) as client:
            refused = await client.post("/mcp", json=initialize(second))
            assert events(refused.text)[0]["error"]["code"] == -32600
            posted = await client.post("/mcp", json=[request(1, "ping")])
            assert posted.status_code == (200 if first == "2025-03-26" else 400)
        async with websocket(own.port) as speaking:
            assert (await speaking.asked(incomplete))["error"]["code"] == -32602
            await speaking.introduced(first)
            assert (await speaking.asked(initialize(second)))["error"]["code"] == -32600
            assert ("result" in await speaking.asked([request(1, "ping")])) is (first == "2025-03-26")


class Hanging:
    """Orders that never come."""

    async def order(self, *asked: object) -> None:
        await asyncio.Event().wait()

    health = order


async def test_calls_of_a_batch_run_one_at_a_time_within_the_post() -> None:
    """The POST lasts as long as all of its calls together, and no call is lost."""
    async with in_process(lambda ports: replace(ports, orders=Hanging())) as own:  # type: ignore[arg-type]
        async with session(own) as client:
            batch = [call(n, "lookup_order", order_id="MNG-DEMO1001") for n in range(20)]
            posted = asyncio.create_task(client.post("/mcp", json=batch, headers={"X-User-ID": "demo-user-1"}))
            most = 0
            while not posted.done():
                most = max(most, own.app.pipeline.shed.under_way)
                await asyncio.sleep(0)
        answers = events((await posted).text)
        assert [each["id"] for each in answers] == list(range(20))
        assert all(each["result"]["isError"] for each in answers)
        assert (most, own.app.pipeline.shed.under_way) == (1, 0)


@dataclass
class Counted:
    """A catalogue that counts its searches."""

    inner: CatalogPort
    begun: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def search(self, *asked: Any) -> Any:
        self.begun += 1
        return await self.inner.search(*asked)


async def test_calls_are_not_begun_for_a_client_that_does_not_read_answers() -> None:
    """In a posted batch and on a WebSocket, only the first few of twenty long answers are made."""
    queries = ("love", "war", "school", "magic", "cooking", "sports", "robots", "history", "music", "ghosts") * 2
    asked = [call(n, "search_manga_catalog", query=query, max_results=20 - n // 10) for n, query in enumerate(queries)]
    counted: list[Counted] = []

    def counting(ports: Ports) -> Ports:
        counted.append(Counted(ports.catalog))
        return replace(ports, catalog=counted[-1])  # type: ignore[arg-type]

    async with in_process(counting, Settings(websocket=True)) as own, session(own) as client:
        posted, spoken, asking = Connection.to(own.port), websocket(own.port), Connection.to(own.port)
        async with posted as posting, spoken as speaking, asking as other:
            await speaking.introduced("2025-03-26")

            async def post() -> None:
                await posting.ask("POST", "/mcp", json.dumps(asked).encode(), {**raw.BOTH, **named(client)})

            async def speak() -> None:
                for each in asked:
                    speaking.say(each)

            for transport, ask in ((posting.writer.transport, post), (speaking.writer.transport, speak)):
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                transport.pause_reading()  # type: ignore[attr-defined]
                before = counted[-1].begun
                await ask()
                await until(lambda before=before: counted[-1].begun > before, SECONDS, "it has begun")
                for _ in range(300):
                    assert (await other.request("GET", "/healthz")).status == 200
                assert counted[-1].begun - before < len(asked) * 3 / 4, transport


def named(client: httpx.AsyncClient) -> dict[str, str]:
    return {"mcp-session-id": client.headers["Mcp-Session-Id"]}


async def test_tool_lists_are_rate_limited_by_their_size() -> None:
    """Twenty KB count as five or six calls of a burst of forty, over any transport and for each reader."""
    async with in_process(settings=Settings(websocket=True), limited=True) as own:
        async with websocket(own.port) as client:
            await client.introduced("2025-03-26")
            client.say([request(n, "tools/list") for n in range(20)])
            streamed = [await client.heard() for _ in range(20)]
        async with session(own) as other:
            posted = events((await other.post("/mcp", json=[request(n, "tools/list") for n in range(20)])).text)
        for answers in (streamed, posted):
            told = [each["error"]["data"]["name"] for each in answers if "error" in each]
            assert 4 <= 20 - len(told) <= 10
            assert set(told) == {"RATE_LIMITED"}


async def test_unknown_names_under_changing_users_count_for_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proven agent may name any number of customers."""
    monkeypatch.setattr(caller_limits, "SHARED_LIMIT_FACTOR", 1)

    def unknown(first: int) -> list[Json]:
        return [
            request(n, "tools/call", name="no_such_tool", _meta={"com.mangaassist/userId": f"u{n}"})
            for n in range(first, first + 20)
        ]

    open_to_all = Settings(host="0.0.0.0", allow_insecure=True)  # noqa: S104
    agents = replace(open_to_all, auth="token", auth_tokens=("the-agent-secret",))
    for settings, refused in ((open_to_all, {"TOOL_NOT_FOUND", "RATE_LIMITED"}), (agents, {"TOOL_NOT_FOUND"})):
        async with in_process(settings=settings, limited=True) as own, session(own, bearer="the-agent-secret") as client:
            posts = [events((await client.post("/mcp", json=unknown(20 * n))).text) for n in range(6)]
        assert {each["error"]["data"]["name"] for told in posts for each in told} == refused


@cases("method", ["resources/list", "resources/templates/list", "prompts/list"])
async def test_every_list_is_rate_limited_by_its_size(method: str) -> None:
    async with in_process(limited=True) as own, session(own) as client:
        told = [
            each
            for _ in range(4)
            for each in events((await client.post("/mcp", json=[request(n, method) for n in range(20)])).text)
        ]
        assert {each["error"]["data"]["name"] for each in told if "error" in each} == {"RATE_LIMITED"}
        assert "result" in told[0]


async def test_batch_on_an_sse_stream_is_answered_one_by_one() -> None:
    """One POST carries the batch, and each answer is an event of its own."""
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


async def test_rate_limit_counts_each_message_of_a_batch() -> None:
    """Ten batches of twenty are two hundred calls; a burst of forty and ten a second are answered."""
    async with in_process(settings=Settings(websocket=True), limited=True) as own, websocket(own.port) as client:
        await client.introduced("2025-03-26")
        for batch in range(10):
            client.say([call(20 * batch + n, "check_inventory", title_ids=["manga-001001"]) for n in range(20)])
        answers = [await client.heard() for _ in range(200)]
        names = [each["result"]["structuredContent"].get("error", {}).get("name") for each in answers]
        assert len({each["id"] for each in answers}) == 200
        assert names.count("RATE_LIMITED") >= 100
        assert names.count(None) >= 40
