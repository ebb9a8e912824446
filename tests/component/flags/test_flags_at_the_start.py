"""How a server starts with its flags: a file that cannot be used stops it, what is elsewhere never does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.call import Principal
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.flags import opening
from server.flags.current import Flags
from server.flags.follower import Follower
from server.flags.opening import open_flags
from session.resilience.deadline import Deadline
from tests.support.flags import FAILING, HANGING, serving_flags
from tests.support.inprocess import in_process
from tests.support.pipeline import registered
from tests.support.ports import free_port
from tests.support.process import until
from tools.registry import TOOLS

Opened = Callable[[str | None], Any]
TOOL = registered("lookup_order").tool


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with AsyncExitStack() as stack:

        async def run(url: str | None) -> tuple[Follower | None, Flags]:
            flags = Flags()
            return await open_flags(Settings(flags_url=url), flags, TOOLS, stack), flags

        yield run


async def detail(follower: Follower) -> str:
    return (await follower.health(Deadline.after(1))).detail


async def test_without_a_source_nobody_is_asked(opened: Opened) -> None:
    follower, flags = await opened(None)
    assert follower is None
    assert flags.decide(TOOL, Principal()).on


@pytest.mark.parametrize("content", [b"{", b'{"lookup_order": 1}', None])
async def test_a_file_that_cannot_be_used_stops_the_start(content: bytes | None, opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingError, match="^MANGA_FLAGS_URL: "):
        await opened(file.as_uri())


async def test_a_file_with_a_tool_of_another_version_does_not(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "flags.json"
    file.write_text('{"sell_house": true, "lookup_order": false}')
    _, flags = await opened(file.as_uri())
    assert not flags.decide(TOOL, Principal()).on


async def test_an_address_is_read_before_anybody_is_served(opened: Opened) -> None:
    with serving_flags(b'{"lookup_order": false}') as server:
        follower, flags = await opened(server.url)
    assert not flags.decide(TOOL, Principal()).on
    assert await detail(follower) == ""


@pytest.mark.parametrize("content", [b"{", b'{"lookup_order": 1}'])
async def test_a_wrong_document_elsewhere_is_told_and_stops_nothing(
    content: bytes, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    """Every tool is as it is by itself until there is a right one."""
    with serving_flags(content) as server:
        follower, flags = await opened(server.url)
        assert flags.decide(TOOL, Principal()).on
        assert "flags left as they were" in caplog.text
        assert await detail(follower)
        server.set(lookup_order=False)
        assert await follower.look_and_tell()
    assert not flags.decide(TOOL, Principal()).on


async def test_an_address_that_is_away_stops_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    follower, flags = await opened(f"http://127.0.0.1:{free_port()}/flags")
    assert flags.decide(TOOL, Principal()).on
    assert "cannot be reached" in await detail(follower)
    monkeypatch.setattr(opening, "START_SECONDS", 0.05)
    with serving_flags() as server:
        server.mood = HANGING
        _, flags = await opened(server.url)
    assert flags.decide(TOOL, Principal()).on


async def test_a_table_that_is_away_stops_nothing(opened: Opened) -> None:
    url = f"dynamodb://eu-west-1/manga-flags/production?endpoint=http://127.0.0.1:{free_port()}"
    follower, flags = await opened(url)
    assert flags.decide(TOOL, Principal()).on
    assert await detail(follower) == "The flags cannot be reached; the flags stay as they were"


async def test_a_server_says_on_readyz_how_its_flags_fare() -> None:
    """It answers, degraded, while their source is away."""
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
