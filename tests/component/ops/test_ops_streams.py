"""Streams of the operators' page: how many, for how long, and what becomes of those who do not read."""

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
from server.ops.room import Room
from server.ops.streams import FULL, LINGER_SECONDS, MOST_PAGES, MOST_WAITING_BYTES
from tests.support.inprocess import InProcess, in_process
from tests.support.ops import EVENTS, watching
from tests.support.process import until
from tests.support.raw import Connection, call, in_2026

ONE, TWO = "the-secret-of-the-first", "the-secret-of-the-second"
SECONDS = 20.0
GIVEN_BACK_SECONDS = 5.0
LARGEST_STATE = 2**17


def room_of(own: InProcess) -> Room:
    (room,) = [each for each in own.http.addons if isinstance(each, Room)]
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


async def test_it_begins_with_who_speaks_and_how_things_stand() -> None:
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


async def test_a_call_is_counted_and_told_with_where_its_time_went() -> None:
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


async def test_what_was_counted_before_anybody_looked_is_in_the_sums() -> None:
    async with in_process() as own, asking(own) as connection:
        for number in range(3):
            await ask(connection, number)
        async with watching(own.port) as page:
            assert (await page.next("state"))["calls"]["total"] == 3


async def test_one_page_too_many_is_told_so_and_the_others_stay() -> None:
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


async def test_nobody_keeps_others_out_by_opening_all() -> None:
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


async def test_whoever_does_not_read_loses_calls_and_costs_no_memory_and_no_call() -> None:
    """The socket takes some; what waits beyond that is bounded, and the calls go on as quickly."""
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


async def test_after_the_last_page_nothing_is_kept_and_no_task_runs() -> None:
    async with in_process() as own:
        assert tasks() == []
        async with watching(own.port) as page, watching(own.port) as other:
            await page.next("state")
            await other.next("state")
            assert len(own.app.listeners) == 1
            assert tasks().count("ops") == 1
        await until(lambda: len(own.app.listeners) == 0, GIVEN_BACK_SECONDS, "nobody listens")
        await until(lambda: not tasks(), GIVEN_BACK_SECONDS, "no task")
        assert LINGER_SECONDS < GIVEN_BACK_SECONDS


async def test_a_page_that_is_loaded_again_finds_what_was_there() -> None:
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


async def test_a_stream_ends_as_it_should_when_the_server_drains() -> None:
    """And its last state says why."""
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


async def test_a_stream_ends_as_it_should_when_the_server_stops() -> None:
    async with in_process() as own:
        async with watching(own.port) as page:
            await page.next("state")
            await own.http.close_all()
            await page.ended()
        assert len(own.app.listeners) == 0


async def test_a_stream_ends_with_its_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.0)
    secrets = tmp_path / "tokens"
    secrets.write_text(f"{ONE}\n{TWO}\n", "utf-8")
    settings = replace(Settings(), auth="token", auth_tokens_file=secrets)
    async with in_process(settings=settings) as own, watching(own.port, bearer(ONE)) as page:
        await page.next("state")
        secrets.write_text(f"{TWO}\n", "utf-8")
        await page.ended()
