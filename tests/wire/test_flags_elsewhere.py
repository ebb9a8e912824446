"""Two replicas follow one document at an address: a change is in every client's list, and no call fails for it. A process
that starts while the document is broken has what the fleet has kept."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.subscriptions import ToolsListChanged

from tests.support.clients import Connections, OfSdk
from tests.support.flags import FlagsServer, serving_flags
from tests.support.raw import message, post_2026
from tests.support.serving import Serving, served
from tests.support.two_replicas import TwoReplicas
from tests.support.valkey import private_valkey

SECONDS = 30.0
OFF = "get_recommendations"
FLIPS = 10


@pytest.fixture
def flags(two: TwoReplicas) -> FlagsServer:
    return two.flags


@pytest.fixture
def clients(fresh: Connections, two: TwoReplicas) -> list[OfSdk]:
    opened = [fresh.open("http-2026", url) for url in two.urls]
    return [client for client in opened if isinstance(client, OfSdk)]


async def names_of(client: OfSdk) -> set[str]:
    found = await client.sdk.list_tools(cache_mode="bypass")
    return {tool.name for tool in found.tools}


async def until_all_hear(clients: Sequence[OfSdk], change: Callable[[], None]) -> None:
    """`change` is made once everybody listens; over when each has heard of it."""
    async with AsyncExitStack() as stack, asyncio.timeout(SECONDS):
        listening = [await stack.enter_async_context(client.sdk.listen(tools_list_changed=True)) for client in clients]
        change()
        heard = await asyncio.gather(*(anext(aiter(each)) for each in listening))
    assert heard == [ToolsListChanged()] * len(clients)


@asynccontextmanager
async def calling(client: OfSdk, failures: list[str]) -> AsyncIterator[None]:
    """Calls one tool after the other until the block ends, and notes what was no success."""

    async def call_on() -> None:
        while True:
            for tool, arguments in ((OFF, {"criteria": "cats"}), ("search_manga_catalog", {"query": "cats"})):
                result = await client.sdk.call_tool(tool, arguments)
                if result.is_error:
                    failures.append(f"{tool}: {(result.structured_content or {})['error']['name']}")

    task = asyncio.create_task(call_on())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_clients_of_every_replica_are_notified_of_each_flag_change_and_no_call_fails(
    clients: list[OfSdk], flags: FlagsServer
) -> None:
    """Both are called all the time; a switched off tool says so, and every other call succeeds."""
    failures: list[str] = []

    async def flip() -> None:
        async with calling(clients[0], failures), calling(clients[1], failures):
            for number in range(FLIPS):
                on = number % 2 == 1
                await until_all_hear(clients, lambda on=on: flags.set(**{OFF: on}))
                for client in clients:
                    assert (OFF in await names_of(client)) is on

    await clients[0].held.ask(flip())
    assert set(failures) == {f"{OFF}: TOOL_NOT_FOUND"}


async def test_wrong_flags_document_changes_no_list(clients: list[OfSdk], flags: FlagsServer) -> None:
    """A wrong document and a hanging source are tried; the next valid document is followed."""

    async def go() -> None:
        await until_all_hear(clients, lambda: flags.set(**{OFF: False, "sell_house": True}))
        asked = len(flags.statuses)
        flags.content = b"{"
        async with asyncio.timeout(SECONDS):
            while len(flags.statuses) < asked + 2 * len(clients) + 1:
                await asyncio.sleep(0.05)
        for client in clients:
            assert OFF not in await names_of(client)
        await until_all_hear(clients, flags.set)

    await clients[0].held.ask(go())


def test_new_process_keeps_tools_off_while_the_flags_document_is_broken(tmp_path: Path, cache: Path) -> None:
    """A file and an address, with and without Redis: unknown tools are neither listed nor callable."""
    file = tmp_path / "flags.json"
    with private_valkey() as redis, serving_flags() as source:
        shared = {"MANGA_REDIS_URL": f"redis://127.0.0.1:{redis.port}", "MANGA_EMBEDDER": "none"}
        for name, url in (("file", file.as_uri()), ("address", source.url)):
            good = json.dumps({OFF: False})
            source.content = good.encode()
            file.write_text(good)
            with served(tmp_path / name / "first", cache, MANGA_FLAGS_URL=url, **shared) as first:
                wait_for_state(first, "ready")
                source.content = b"{"
                file.write_text("{")
                with served(tmp_path / name / "second", cache, MANGA_FLAGS_URL=url, **shared) as second:
                    assert "last good ones of the fleet" in wait_for_state(second, "degraded")
                    assert "search_manga_catalog" in (names := tools_of(second))
                    assert OFF not in names
            with served(tmp_path / name / "alone", cache, MANGA_FLAGS_URL=url, MANGA_EMBEDDER="none") as alone:
                assert "no call is taken until a document is known" in wait_for_state(alone, "starting", 503)
                assert tools_of(alone) == set()
                source.content = good.encode()
                file.write_text(good)
                wait_for_state(alone, "ready")
                assert tools_of(alone) == names


def wait_for_state(server: Serving, expected: str, status: int = 200) -> str:
    """Returns what `/readyz` says of the flags."""
    give_up = time.monotonic() + SECONDS
    while True:
        answer = httpx2.get(f"{server.url}/readyz")
        told = answer.json()
        if told["status"] == expected:
            assert answer.status_code == status
            return str(told["dependencies"]["flags"].get("detail", ""))
        assert time.monotonic() < give_up, told
        time.sleep(0.05)


def tools_of(server: Serving) -> set[str]:
    answer = asyncio.run(post_2026(server.port, message("tools/list")))
    return {tool["name"] for tool in answer["result"]["tools"]}
