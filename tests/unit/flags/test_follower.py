"""The flags follow their source: a valid document replaces the last one whole, a wrong one changes nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.config.settings import Settings
from server.flags import follower as module
from server.flags.document import Document, DocumentError, Flags, parse
from server.flags.follower import Follower, LastGood, open_flags
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Step
from session.resilience.deadline import Deadline
from tests.support.clocks import HandClock
from tests.support.flags import MemorySource
from tests.support.valkey import eventually
from tools.registry import TOOLS

GOOD = b'{"lookup_order": false}'


def following(content: bytes = b"{}") -> tuple[Follower, MemorySource, Flags]:
    source, flags = MemorySource(content), Flags()
    return Follower(source, flags, TOOLS), source, flags


async def problem(follower: Follower) -> str:
    health = await follower.health(Deadline.after(1))
    assert health.ok is not bool(health.detail)
    return health.detail


async def test_look_returns_whether_the_flags_have_changed() -> None:
    follower, source, flags = following()
    assert not await follower.read_once()
    source.content = GOOD
    assert await follower.read_once()
    assert not await follower.read_once()
    source.content = b'{"lookup_order":   false}'
    assert not await follower.read_once(), "other text, the same flags"
    assert flags.document == parse(GOOD)


@given(
    st.lists(st.sampled_from([GOOD, b"{}", b'{"check_inventory": {"percent": 20}}']) | st.binary(max_size=40), max_size=8)
)
def test_wrong_document_never_replaces_a_right_one(contents: list[bytes]) -> None:
    """In any order of events the flags are those of the last valid document, and health reports the present one."""
    follower, source, flags = following()

    async def one(content: bytes) -> None:
        before = flags.document
        source.content = content
        await follower.read_and_log()
        try:
            expected, wrong = parse(content), False
        except DocumentError:
            expected, wrong = before, True
        assert flags.document == expected
        assert bool(await problem(follower)) is wrong

    async def all_of_them() -> None:
        for content in contents:
            await one(content)

    asyncio.run(all_of_them())


async def test_wrong_document_is_logged_once_and_reported_until_it_is_mended(caplog: pytest.LogCaptureFixture) -> None:
    follower, source, flags = following(GOOD)
    await follower.read_once()
    source.content = b'{"lookup_order": 1}'
    for _ in range(3):
        assert not await follower.read_and_log()
    assert [record.message for record in caplog.records] == [
        "flags left as they were: the flags: $.lookup_order has to be of type boolean or object"
    ]
    assert "$.lookup_order" in await problem(follower)
    assert flags.document == parse(GOOD)
    source.content = GOOD
    assert not await follower.read_and_log(), "they were so all the time"
    assert await problem(follower) == ""


async def test_unreachable_source_is_logged_once_and_again_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="server.flags")
    follower, source, flags = following(GOOD)
    await follower.read_once()
    source.away = "it does not answer in time"
    for _ in range(3):
        await follower.read_and_log()
    assert "it does not answer in time" in await problem(follower)
    assert flags.document == parse(GOOD)
    source.away = None
    await follower.read_and_log()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert await problem(follower) == ""


async def test_wrong_document_is_still_reported_after_its_source_was_away() -> None:
    follower, source, _ = following(b"{")
    await follower.read_and_log()
    source.away = "away"
    await follower.read_and_log()
    source.away = None
    await follower.read_and_log()
    assert await problem(follower) == "the flags are not JSON (line 1, column 2)"


async def test_unknown_tool_is_logged_once_and_other_flags_hold(caplog: pytest.LogCaptureFixture) -> None:
    follower, source, flags = following()
    for share in (1, 2, 3):
        source.content = json.dumps({"sell_house": {"percent": share}, "lookup_order": False}).encode()
        assert await follower.read_and_log()
    assert [record.message for record in caplog.records] == [
        "the flags name tools that this version does not have: sell_house"
    ]
    assert await problem(follower) == ""
    assert flags.document.flags["lookup_order"] == ()


async def test_cancelled_look_loses_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start gives up waiting while the document is being parsed."""
    follower, source, flags = following(GOOD)
    begun, go_on = threading.Event(), threading.Event()

    def held(content: bytes) -> Document:
        begun.set()
        go_on.wait(10)
        return parse(content)

    monkeypatch.setattr(module, "parse", held)
    first = asyncio.create_task(follower.read_once())
    await eventually(begun.is_set)
    first.cancel()
    go_on.set()
    await asyncio.gather(first, return_exceptions=True)
    assert first.cancelled()
    assert await follower.read_once()
    assert flags.document == parse(GOOD)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.001)


@pytest.mark.usefixtures("often")
async def test_watcher_is_told_of_every_change() -> None:
    follower, source, flags = following()
    told: list[bool] = []

    async def changed(_: bool) -> None:
        told.append("lookup_order" in flags.document.flags)

    watching = asyncio.create_task(follower.watch(changed))
    source.content = GOOD
    await eventually(lambda: told == [True])
    source.content = b"{"
    await eventually(lambda: follower._broken)
    source.content = b"{}"
    await eventually(lambda: told == [True, False])
    assert not watching.done()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_follower_that_was_hinted_looks_at_once_and_hints_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first follower to see a change hints the others, or every replica would hint every other."""
    monkeypatch.setattr(module, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.001)
    follower, source, _ = following()
    told: asyncio.Queue[bool] = asyncio.Queue()
    watching = asyncio.create_task(follower.watch(told.put))
    try:
        async with asyncio.timeout(30):
            for content in (GOOD, b"{}"):
                source.content = content
                follower.read_soon()
                assert await told.get() is False
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.usefixtures("often")
async def test_follower_that_sees_a_change_first_hints_the_others() -> None:
    """A hint that came before its source had changed does not count: this follower is the first after all."""
    follower, source, _ = following()
    told: asyncio.Queue[bool] = asyncio.Queue()
    follower.read_soon()
    watching = asyncio.create_task(follower.watch(told.put))
    try:
        async with asyncio.timeout(30):
            while follower._hint.is_set():
                await asyncio.sleep(0)
            source.content = GOOD
            assert await told.get() is True
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_hints_never_shorten_the_pause_between_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    follower, source, _ = following()
    reads: list[None] = []

    async def counted() -> bytes | None:
        reads.append(None)
        return b"{}"

    monkeypatch.setattr(source, "read", counted)
    for name in ("POLL_SECONDS", "LEAST_SECONDS"):
        monkeypatch.setattr(module, name, 3600.0)
    watching = asyncio.create_task(follower.watch(lambda _: asyncio.sleep(0)))
    for _ in range(100):
        follower.read_soon()
        await asyncio.sleep(0)
    assert reads == []
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_packages_are_reloaded_when_the_reload_word_changes() -> None:
    """The word at the start (packages are loaded then), other changes and an absent word reload nothing."""
    follower, source, _ = following(b'{"$reload": "1"}')
    await follower.read_once()
    told: list[str] = []
    follower.when_reload(lambda: told.append("reload"))
    for content, reloads in [
        (b'{"$reload": "1", "lookup_order": false}', 0),
        (b'{"$reload": "2", "lookup_order": false}', 1),
        (b'{"$reload": 3}', 1),
        (b'{"lookup_order": false}', 1),
        (b'{"$reload": "2"}', 2),
    ]:
        source.content = content
        await follower.read_and_log()
        assert told == ["reload"] * reloads, content


async def test_lag_is_the_time_since_the_flags_last_matched_their_source() -> None:
    """A wrong document and an unreachable source both make the flags old."""
    clock, source = HandClock(), MemorySource(GOOD)
    follower = Follower(source, Flags(), TOOLS, clock)
    clock.advance(5)
    assert follower.lag() == 5
    await follower.read_once()
    assert follower.lag() == 0
    source.content = b"no document"
    for _ in range(2):
        clock.advance(5)
        await follower.read_and_log()
    assert follower.lag() == 10
    source.content = GOOD
    await follower.read_once()
    assert follower.lag() == 0


class Kept:
    """A Redis of one value, which tells what is written there and when; `away` while it does not answer."""

    def __init__(self, stored: object = None) -> None:
        self.stored, self.away = stored, False
        self.written: list[tuple[float, Any]] = []

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Any]:
        assert 0 < deadline.remaining() <= 0.5
        if self.away:
            raise MemoryUnavailable("away")
        (step,) = steps
        if isinstance(step, tuple) and step[0] == "SET":
            self.written.append((asyncio.get_running_loop().time(), step[2:]))
        return [self.stored]

    async def aclose(self) -> None: ...


def with_last_good(kept: Kept, content: bytes = GOOD) -> tuple[Follower, MemorySource, Flags]:
    source, flags = MemorySource(content), Flags()
    flags.known = False
    return Follower(source, flags, TOOLS, last_good=LastGood(kept, "file:///flags")), source, flags


async def test_last_good_document_is_taken_only_while_none_is_known(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    follower, _, flags = with_last_good(kept, b"{}")
    for kept.stored, kept.away in ((None, False), ("{}", False), (GOOD, True), (b"{", False)):
        assert (await follower.take_last_good(), flags.known) == (False, False)
    assert caplog.text.count("cannot be used") == 1
    assert await problem(follower) == "it has not answered yet; no call is taken until a document is known"
    kept.stored, kept.away = GOOD, False
    assert (await follower.take_last_good(), flags.known, flags.document) == (True, True, parse(GOOD))
    assert await problem(follower) == "it has not answered yet; the flags are the last good ones of the fleet"
    assert await follower.read_once(), "its own source has other flags"
    kept.stored = GOOD
    assert (await follower.take_last_good(), flags.document) == (False, parse(b"{}"))
    assert not await following()[0].take_last_good()


@pytest.mark.virtual_time
async def test_good_document_is_shared_at_once_and_each_half_minute_but_replaces_a_newer_one_only_if_it_is_the_newest() -> (
    None
):
    kept = Kept()
    follower, source, _ = with_last_good(kept)
    sharing = asyncio.create_task(follower.share())
    await asyncio.sleep(5)
    assert kept.written == []
    await follower.read_once()
    await asyncio.sleep(31)
    source.away = "away"
    await follower.read_and_log()
    kept.away = True
    await asyncio.sleep(20)
    kept.away = False
    await asyncio.sleep(20)
    assert kept.written == [(5, (GOOD,)), (35, (GOOD,)), (65, (GOOD, "NX"))]
    sharing.cancel()
    await asyncio.gather(sharing, return_exceptions=True)
    await following()[0].share()
    kept = Kept(GOOD)
    follower, _, _ = with_last_good(kept)
    await follower.take_last_good()
    sharing = asyncio.create_task(follower.share())
    await asyncio.sleep(1)
    assert [written for _, written in kept.written] == [(GOOD, "NX")], "what is of the fleet is not the newest"
    sharing.cancel()
    await asyncio.gather(sharing, return_exceptions=True)


@pytest.mark.virtual_time
async def test_source_is_read_each_quarter_second_and_ten_times_a_second_if_hinted_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    follower, source, _ = following()
    loop, reads = asyncio.get_running_loop(), list[float]()
    began = loop.time()

    async def read() -> bytes:
        reads.append(round(loop.time() - began, 3))
        return b"{}"

    monkeypatch.setattr(source, "read", read)
    watching = asyncio.create_task(follower.watch(lambda _: asyncio.sleep(0)))
    await asyncio.sleep(1.01)
    assert reads == [0.25, 0.5, 0.75, 1.0]
    for _ in range(10):
        follower.read_soon()
        await asyncio.sleep(0.05)
    assert reads[4:] == [1.1, 1.2, 1.3, 1.4, 1.5]
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.virtual_time
async def test_start_waits_a_second_and_a_half_for_the_flags(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Hangs(MemorySource):
        async def read(self) -> bytes:
            await asyncio.Event().wait()
            return b""

    monkeypatch.setattr(module, "open_flags_source", lambda url, stack: Hangs())
    loop = asyncio.get_running_loop()
    for stored, known in ((GOOD, True), (None, False)):
        began, flags = loop.time(), Flags()
        caplog.clear()
        async with AsyncExitStack() as stack:
            await open_flags(Settings(flags_url="file:///flags"), flags, TOOLS, Kept(stored), stack)
        assert (loop.time() - began, flags.known) == (1.5, known)
        assert ("does not answer yet" in caplog.text, "no flags document is known" in caplog.text) == (True, not known)
