"""A server starts with its source's flags, else with the fleet's last good ones, else with every tool off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.call import Principal
from server.config.settings import Settings
from server.flags import follower as opening
from server.flags.document import Flags
from server.flags.follower import Follower, open_flags
from session import keys
from session.redis.keyvalue import Command
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.flags import FAILING, HANGING, serving_flags
from tests.support.inprocess import in_process
from tests.support.pipeline import registered
from tests.support.ports import free_port
from tests.support.process import until
from tools.registry import TOOLS

Opened = Callable[[str | None], Any]
SOON = 30.0
TOOL = registered("lookup_order").tool


@pytest.fixture
async def opened(redis: MultiplexedRedis) -> AsyncIterator[Opened]:
    async with AsyncExitStack() as stack:

        async def run(url: str | None) -> tuple[Follower | None, Flags]:
            flags = Flags()
            return await open_flags(Settings(flags_url=url), flags, TOOLS, redis, stack), flags

        yield run


async def detail(follower: Follower) -> str:
    return (await follower.health(Deadline.after(1))).detail


async def test_without_a_flags_source_tools_keep_their_defaults(opened: Opened) -> None:
    follower, flags = await opened(None)
    assert follower is None
    assert flags.decide(TOOL, Principal()).on


async def test_unusable_flags_file_turns_every_tool_off_without_stopping_the_start(opened: Opened, tmp_path: Path) -> None:
    """An unreadable file may have switched off any of the tools, so all are off until it can be read."""
    file = tmp_path / "flags.json"
    for content in (None, b"{", b'{"lookup_order": 1}'):
        if content is not None:
            file.write_bytes(content)
        follower, flags = await opened(file.as_uri())
        assert [flags.decide(tool, Principal()).on for tool in TOOLS] == [False] * len(TOOLS)
        assert "no call is taken until a document is known" in await detail(follower)
    file.write_bytes(b"{}")
    assert await follower.read_and_log(), "from unknown to what everybody has is a change"
    assert flags.decide(TOOL, Principal()).on
    assert await detail(follower) == ""


async def test_new_process_starts_with_the_last_good_document_of_the_fleet(
    opened: Opened, redis: MultiplexedRedis, tmp_path: Path
) -> None:
    """It is that of its own source, whatever becomes of it; a lagging process overwrites no newer document."""
    file, other = tmp_path / "flags.json", tmp_path / "other.json"
    file.write_text('{"lookup_order": false}')
    first, _ = await opened(file.as_uri())
    sharing = asyncio.create_task(first.share())
    key = keys.flags(file.as_uri())

    async def kept(content: str) -> bool:
        (stored,) = await redis.trip([Command(("GET", key))], Deadline.after(SOON))
        return bool(stored == content.encode())

    await until(lambda: kept('{"lookup_order": false}'), SOON, "the fleet has it")
    file.write_text("{")
    assert not (await opened(other.as_uri()))[1].known
    follower, flags = await opened(file.as_uri())
    assert flags.known
    assert not flags.decide(TOOL, Principal()).on
    assert (
        await detail(follower) == "the flags are not JSON (line 1, column 2); the flags are the last good ones of the fleet"
    )
    await first.read_and_log()
    for stored, expected in ((b"{}", "{}"), (None, '{"lookup_order": false}')):
        await redis.trip([Command(("SET", key, stored) if stored else ("DEL", key))], Deadline.after(SOON))
        first._taken.set()  # its next round: what it has is no longer known to be the newest
        await until(lambda expected=expected: kept(expected), SOON, "the newer stays, and one that was lost is put back")
    file.write_text("{}")
    assert await follower.read_and_log()
    assert await detail(follower) == ""
    sharing.cancel()
    await asyncio.gather(sharing, return_exceptions=True)


async def test_flags_file_with_an_unknown_tool_is_used(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    file.write_text('{"sell_house": true, "lookup_order": false}')
    _, flags = await opened(file.as_uri())
    assert not flags.decide(TOOL, Principal()).on


async def test_flags_over_http_are_read_before_serving(opened: Opened) -> None:
    with serving_flags(b'{"lookup_order": false}') as server:
        follower, flags = await opened(server.url)
    assert not flags.decide(TOOL, Principal()).on
    assert await detail(follower) == ""


async def test_unusable_remote_flags_are_reported_without_stopping_the_start(
    opened: Opened, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong document, an unreachable address and table, and a hanging one are tried."""
    with serving_flags(b'{"lookup_order": 1}') as server:
        follower, flags = await opened(server.url)
        assert "flags left as they were" in caplog.text
        assert "no flags document is known" in caplog.text
        server.set(lookup_order=False, get_recommendations=True)
        assert await follower.read_and_log()
    assert [flags.decide(registered(name).tool, Principal()).on for name in ("lookup_order", "get_recommendations")] == [
        0,
        1,
    ]
    table = f"dynamodb://eu-west-1/manga-flags/production?endpoint=http://127.0.0.1:{free_port()}"
    for url in (f"http://127.0.0.1:{free_port()}/flags", table):
        follower, flags = await opened(url)
        assert not flags.decide(TOOL, Principal()).on
        assert "cannot be reached" in await detail(follower)
    monkeypatch.setattr(opening, "START_SECONDS", 0.05)
    with serving_flags() as server:
        server.mood = HANGING
        follower, flags = await opened(server.url)
    assert not flags.decide(TOOL, Principal()).on
    assert "has not answered yet" in await detail(follower)


async def test_readyz_reports_the_state_of_the_flags_source() -> None:
    """/readyz is degraded while the source is away."""
    with serving_flags() as flags:
        async with in_process(settings=replace(Settings(), flags_url=flags.url)) as server:

            async def state(expected: str) -> bool:
                states = await server.app.dependencies.states()
                return bool(states["flags"]["state"] == expected)

            assert await state("ok")
            flags.mood = FAILING
            await until(lambda: state("down"), 30, "what is wrong is seen")
            flags.mood = "well"
            await until(lambda: state("ok"), 30, "it is over")
