"""Streams of the operators' page: their number, their lifetime, and readers that do not read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from server.config.settings import Settings
from server.ops import streams
from server.ops.room import OpsAddon
from server.ops.streams import FULL, LINGER_SECONDS, MOST_PAGES, MOST_WAITING_BYTES
from tests.support.inprocess import InProcess, in_process
from tests.support.ops import EVENTS, watching
from tests.support.process import until
from tests.support.raw import Connection, call, in_2026

ONE, TWO = "the-secret-of-the-first", "the-secret-of-the-second"
SECONDS = 20.0
GIVEN_BACK_SECONDS = 5.0
LARGEST_STATE = 2**17


def room_of(own: InProcess) -> OpsAddon:
    (room,) = [each for each in own.http.addons if isinstance(each, OpsAddon)]
    return room


def tasks() -> list[str]:
    return [name for task in asyncio.all_tasks() if (name := task.get_name()).startswith("ops")]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def asking(own: InProcess) -> AsyncIterator[Connection]:
    async with Connection.to(own.port) as connection:
        yield connection


async def ask(connection: Connection, number: int) -> None:
    """In a turn of its own."""
    meta = {"com.mangaassist/sessionId": f"s-{number}", "com.mangaassist/turnId": f"t-{number}"}
    body, headers = in_2026(call("search_manga_catalog", {"query": f"pirates {number}"}, meta, number))
    answer = await connection.request("POST", "/mcp", body, headers)
    assert not answer.json()["result"].get("isError"), answer.body


async def test_stream_begins_with_hello_and_state() -> None:
    async with in_process() as own:
        async with watching(own.port) as page:
            (first, hello), (second, state) = await page.event(), await page.event()
        assert page.said.startswith(b"retry: 2000\n\n")
        assert (first, second) == ("hello", "state")
        assert hello["stages"][0] == "guard"
        assert hello["server"]["auth"] == "none"
        assert {each["name"] for each in hello["tools"]} == {tool.name for tool in own.app.registry}
        assert {each["name"] for each in state["breakers"]} >= {"catalog", "stock", "orders", "redis"}
        assert state["replicas"] == [{"name": hello["server"]["replica"], "seen_s_ago": 0.0, "self": True}]


async def test_call_is_counted_and_sent_with_its_stages() -> None:
    async with in_process() as own:
        async with watching(own.port) as page, asking(own) as connection:
            before = (await page.next("state"))["calls"]["total"]
            await ask(connection, 1)
            told = await page.next("call")
            while (state := await page.next("state"))["calls"]["total"] == before:
                pass
        assert (told["tool"], told["outcome"], told["source"]) == ("search_manga_catalog", "ok", "live")
        names = {each["name"]: each for each in told["intervals"]}
        assert {"session", "cache", "deadline"} <= names.keys()
        assert all(each["parent"] is None or each["parent"] < at for at, each in enumerate(told["intervals"]))
        assert all(0 <= each["from_ms"] <= told["ms"] for each in told["intervals"])
        assert {each["kind"] for each in told["intervals"]} >= {"stage", "redis"}
        assert told["turn_budget_ms"] == Settings().turn_budget_ms
        assert 0 <= told["started_ms_into_turn"] <= told["turn_budget_ms"]
        (row,) = [each for each in state["tools"] if each["name"] == "search_manga_catalog"]
        assert row["sources"]["live"] == row["calls"] == 1
        assert row["p50_ms"] == pytest.approx(told["ms"], rel=0.1)
        assert state["sessions"]["active"] == 1


async def test_calls_before_the_first_page_are_in_the_total() -> None:
    async with in_process() as own, asking(own) as connection:
        for number in range(3):
            await ask(connection, number)
        async with watching(own.port) as page:
            assert (await page.next("state"))["calls"]["total"] == 3


async def test_page_beyond_the_limit_is_refused_and_the_others_stay() -> None:
    async with in_process() as own, AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(watching(own.port)) for _ in range(MOST_PAGES)]
        async with asking(own) as connection:
            refused = await connection.request("GET", EVENTS)
            assert (refused.status, refused.body.decode().strip()) == (503, FULL)
            assert refused.headers["retry-after"]
        for page in pages:
            await page.next("state")
        pages[0].connection.close()
        await until(lambda: len(room_of(own).subscribers) < MOST_PAGES, SECONDS, "a place that is free")
        async with watching(own.port) as another:
            await another.next("hello")


async def test_newcomer_replaces_a_page_of_the_principal_with_the_most() -> None:
    settings = replace(Settings(), auth="token", auth_tokens=(ONE, TWO))
    async with in_process(settings=settings) as own, AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(watching(own.port, bearer(ONE))) for _ in range(MOST_PAGES)]
        async with watching(own.port, bearer(TWO)) as other:
            await other.next("state")
            ended = [asyncio.create_task(page.ended()) for page in pages]
            done, _ = await asyncio.wait(ended, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == 1
            for each in ended:
                each.cancel()
            await asyncio.gather(*ended, return_exceptions=True)


async def test_page_that_does_not_read_loses_calls_and_uses_bounded_memory() -> None:
    """The socket's buffer takes some bytes and the queue is bounded; calls are as fast as before."""
    async with in_process() as own:
        with socket.create_connection(("127.0.0.1", own.port)) as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.sendall(f"GET {EVENTS} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            room = room_of(own)
            await until(lambda: len(room.subscribers) == 1, SECONDS, "a reader")
            (reader,) = room.subscribers
            flood = b"event: call\ndata: " + b"x" * 16_000 + b"\n\n"
            for _ in range(1000):
                reader.push(b"", flood)
                await asyncio.sleep(0)
            assert len(await reader.take()) <= MOST_WAITING_BYTES + LARGEST_STATE
            async with asking(own) as connection:
                for number in range(20):
                    await ask(connection, number)
            async with watching(own.port) as page:
                await page.next("state")
        await until(lambda: len(room.subscribers) == 0, SECONDS, "the place of one that has gone")


async def test_closing_the_last_page_ends_its_listener_and_task() -> None:
    async with in_process() as own:
        assert tasks() == []
        async with watching(own.port) as page, watching(own.port) as other:
            await page.next("state")
            await other.next("state")
            assert len(own.app.listeners._listening) == 1
            assert tasks().count("ops") == 1
        await until(lambda: len(own.app.listeners._listening) == 0, GIVEN_BACK_SECONDS, "nobody listens")
        await until(lambda: not tasks(), GIVEN_BACK_SECONDS, "no task")
        assert LINGER_SECONDS < GIVEN_BACK_SECONDS


async def test_reloaded_page_still_shows_earlier_calls() -> None:
    async with in_process() as own, asking(own) as connection:
        async with watching(own.port) as page:
            await page.next("state")
            await ask(connection, 1)
            await page.next("call")
        async with watching(own.port) as page:
            state = await page.next("state")
            while not state["tools"]:
                state = await page.next("state")
            assert state["tools"][0]["calls"] == 1
            assert tasks().count("ops") == 1


async def test_stream_of_a_draining_server_ends_with_a_draining_state() -> None:
    """The last state states the reason for the end."""
    async with in_process() as own, watching(own.port) as page:
        assert (await page.next("state"))["draining"] is False
        own.app.lifecycle.draining = True
        last = {}
        with suppress(EOFError):
            while True:
                last = await page.next("state")
        assert last["draining"] is True
        async with asking(own) as connection:
            assert (await connection.request("GET", EVENTS)).status == 503


async def test_stream_ends_when_the_server_stops() -> None:
    async with in_process() as own:
        async with watching(own.port) as page:
            await page.next("state")
            await own.http.close_all()
            await page.ended()
        assert len(own.app.listeners._listening) == 0


async def test_ops_stream_ends_when_its_token_is_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.0)
    secrets = tmp_path / "tokens"
    secrets.write_text(f"{ONE}\n{TWO}\n", "utf-8")
    settings = replace(Settings(), auth="token", auth_tokens_file=secrets)
    async with in_process(settings=settings) as own, watching(own.port, bearer(ONE)) as page:
        await page.next("state")
        secrets.write_text(f"{TWO}\n", "utf-8")
        await page.ended()
