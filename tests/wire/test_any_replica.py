"""Two replicas behind a proxy without affinity: every kind of client is served as by one, and a replica that is killed takes
nothing with it but what it was at."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import answers, installed
from tests.support.clients import Client, Connections, params
from tests.support.environments import python_of
from tests.support.loop_thread import Held, LoopThread
from tests.support.raw import BOTH, INITIALIZE, VERSION_2025, Answer, Connection, ask, message
from tests.support.round_robin import RoundRobin, round_robin
from tests.support.serving import ROOT, Serving, clean_environment, served, start
from tests.support.sse import SseClient
from tests.support.strands import StrandsDriver
from tests.support.two_replicas import TwoReplicas
from tests.support.valkey import private_valkey

pytestmark = pytest.mark.timeout(240)

CALLS = 12
SECONDS = 120
DEAD_OWNER_SECONDS = 0.1
READS = json.dumps({"uris": [], "prompts": {}})


@pytest.fixture(scope="module")
def proxy(two: TwoReplicas) -> Iterator[tuple[str, RoundRobin]]:
    """Where it is, and how many requests it gave to each of the two."""
    thread = LoopThread()
    held: Held[tuple[int, RoundRobin]] = Held(thread, lambda: round_robin(two.urls))
    port, own = held.value
    yield f"http://127.0.0.1:{port}", own
    held.close()
    thread.close()


@pytest.fixture(scope="module")
def connections(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, strands_driver: StrandsDriver, two: TwoReplicas
) -> Iterator[Connections]:
    opened = Connections(tmp_path_factory.mktemp("any"), cache, strands_driver, two.settings)
    yield opened
    opened.close()


@pytest.mark.parametrize("kind", params(["sse-2025", "http-2025", "get-mcp-as-sse", "strands-sse", "strands-http"]))
async def test_calls_through_a_proxy_without_affinity_are_answered_by_both_replicas(
    kind: str, connections: Connections, proxy: tuple[str, RoundRobin]
) -> None:
    """Session memory works whichever replica answers."""
    url, own = proxy
    client, before = connections.open(kind, url), list(own.served)
    session = f"any-{kind}"
    for number in range(CALLS):
        found = await client.call(
            "search_manga_catalog", {"query": "samurai", "max_results": 1 + number % 3}, sessionId=session
        )
        stock = await client.call("check_inventory", {}, sessionId=session)
        assert [row["title_id"] for row in stock.value["items"]] == [card["title_id"] for card in found.value["results"]]
    assert all(now - past >= CALLS // 2 for now, past in zip(own.served, before, strict=True))


async def test_later_state_of_two_replicas_wins_after_redis_was_away(two: TwoReplicas, connections: Connections) -> None:
    """State known to one replica neither beats a later one nor stays unknown to the other for long."""
    one, other = (connections.shared("http-2026", url) for url in two.urls)

    async def found(client: Client, query: str) -> list[str]:
        return _titles(await _sure(client, "search_manga_catalog", {"query": query, "max_results": 3}), "results")

    async def lost(query: str) -> list[str]:
        two.redis.hang()
        try:
            answer = await other.call("search_manga_catalog", {"query": query, "max_results": 3}, sessionId="apart")
        finally:
            two.redis.go_on()
        assert answer.call["degraded"] == ["session"]
        return _titles(answer, "results")

    await found(one, "samurai")
    earlier = await lost("One Piece")
    later = await found(one, "cooking manga")
    assert later != earlier
    for client in (other, one):
        assert _titles(await _sure(client, "check_inventory", {}), "items") == later
    alone = await lost("pirates")
    async with asyncio.timeout(SECONDS):
        while _titles(await _sure(one, "check_inventory", {}), "items") != alone:
            await asyncio.sleep(0.1)


async def _sure(client: Client, tool: str, arguments: answers.Json) -> answers.Answer:
    """The answer of the first such call that did without nothing."""
    async with asyncio.timeout(SECONDS):
        while (answer := await client.call(tool, arguments, sessionId="apart")).call["degraded"]:
            await asyncio.sleep(0.05)
    return answer


def _titles(answer: answers.Answer, rows: str) -> list[str]:
    return [row["title_id"] for row in answer.value[rows]]


@pytest.mark.parametrize("program", ["mcp-1", "typescript"])
async def test_sdk_1_x_and_typescript_clients_are_served_by_both_replicas(
    program: str, proxy: tuple[str, RoundRobin], cache: Path, tmp_path: Path
) -> None:
    url, _ = proxy
    command = _typescript() if program == "typescript" else _mcp_1()
    environment = clean_environment(cache, {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "READS": READS})
    targets = json.dumps([["sse", f"{url}/sse"], ["http", f"{url}/mcp"]])
    process = await asyncio.create_subprocess_exec(
        *command, targets, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(SECONDS):
            told, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, errors.decode()
    by_kind = [json.loads(line) for line in told.splitlines()]
    assert len(by_kind) == 2
    for seen in by_kind:
        assert [item["title_id"] for item in seen["stock"]["items"]] == ["manga-001001"]
        assert seen["order"]["order_id"] == "MNG-DEMO1001"
        assert seen["unknown"]["code"] == -32602


def _mcp_1() -> list[str]:
    return [str(python_of("clients/mcp-1")), str(installed.CLIENTS / "mcp1_client.py")]


def _typescript() -> list[str]:
    return installed.node().beside(installed.CLIENTS / "typescript_client.mjs")


@pytest.mark.alone
async def test_killed_replica_is_reported_at_once_and_clients_reconnect_to_the_other(tmp_path: Path, cache: Path) -> None:
    """For the whole time until it is known to have gone, and afterwards: then a session that was there is no more, which
    clients of Streamable HTTP answer with a new one."""
    with private_valkey() as redis, ExitStack() as stack:
        settings = {"MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}", "MANGA_EMBEDDER": "none"}
        one, two = (start(tmp_path / name, cache, **settings) for name in ("one", "two"))
        stack.callback(one.kill)
        stack.callback(two.kill)
        port, other = int(one.host.rpartition(":")[2]), int(two.host.rpartition(":")[2])
        session = (await ask(port, "POST", "/mcp", INITIALIZE, BOTH)).headers["mcp-session-id"]
        headers = {**BOTH, "mcp-session-id": session, "mcp-protocol-version": VERSION_2025}
        async with SseClient.to(port) as client, Connection.to(other) as stream:
            await stream.ask("GET", "/mcp", headers=headers)
            assert (await stream.begin()).status == 200
            client.port = other
            assert not (await client.call("get_manga_details", {"title_id": "manga-001001"}))["isError"]
            await asyncio.to_thread(one.kill)
            assert await client.end(SECONDS) is False
            async with asyncio.timeout(SECONDS):
                assert await stream.chunk() is None  # its proper end
            told = await _told(lambda: client.post(message("ping", number=50)), until=404)
        assert {answer.status for answer, _ in told[:-1]} <= {503}
        assert min(seconds for _, seconds in told) < DEAD_OWNER_SECONDS
        assert sorted(seconds for _, seconds in told)[len(told) // 2] < DEAD_OWNER_SECONDS
        gone = await ask(other, "POST", "/mcp", message("ping"), headers)
        assert (gone.status, gone.json()["error"]["message"]) == (404, "Session not found")
        async with SseClient.to(other) as client:
            assert not (await client.call("get_manga_details", {"title_id": "manga-001001"}))["isError"]


@pytest.mark.alone
async def test_turn_that_moves_between_replicas_without_redis_gains_no_time(tmp_path: Path, cache: Path) -> None:
    """Without Redis a replica sees its own calls only: the turn has the time that the agent states, and never more."""
    with private_valkey() as redis, ExitStack() as stack:
        settings = {"MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}", "MANGA_EMBEDDER": "none"}
        replicas = [stack.enter_context(served(tmp_path / name, cache, **settings)) for name in ("one", "two")]
        for away in (False, True):
            turn = f"moves-{away}"
            left = [await _left(replicas[0], turn, 3000)]
            if away:
                redis.kill()
            left.append(await _left(replicas[1], turn, 1500))
            left.append(await _left(replicas[0], turn, 900))
            left.append(await _left(replicas[1], turn))
            assert all(found <= most for found, most in zip(left, (2800, 1300, 700, 1300), strict=True)), left
            assert away or left[3] < 700


async def _left(replica: Serving, turn: str, stated: int | None = None) -> int:
    """Makes a call of that turn, and returns what is left of it in ms, as its result says."""
    said = {"sessionId": turn, "turnId": turn, **({} if stated is None else {"turnBudgetMs": stated})}
    async with SseClient.to(replica.port) as client:
        meta = {f"com.mangaassist/{name}": value for name, value in said.items()}
        result = await client.call("get_manga_details", {"title_id": "manga-001001"}, meta)
    return int(result["_meta"]["com.mangaassist/call"]["budget"]["remainingMs"])


async def _told(post: Callable[[], asyncio.Future[Answer]], until: int) -> list[tuple[Answer, float]]:
    """Asks again and again until that status; each answer and its seconds."""
    told: list[tuple[Answer, float]] = []
    async with asyncio.timeout(SECONDS):
        while not told or told[-1][0].status != until:
            began = time.perf_counter()
            told.append((await post(), time.perf_counter() - began))
    return told
