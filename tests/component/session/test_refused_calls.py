"""A refused call is recorded in its session's history without the refused values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from server.call import Principal, RequestMetadata
from server.identity.request_metadata import TrustStated
from server.stages.session import MOST_PENDING
from session.history import HistoryEntry
from session.redis.keyvalue import Step
from session.resilience.deadline import Deadline
from session.resilience.rate_limit import Rate
from tests.support.calls import QUERY
from tests.support.pipeline import Kit, Opener
from tests.support.store import Backends
from tests.support.valkey import eventually

pytestmark = pytest.mark.virtual_time

SEARCH, DETAILS = "search_manga_catalog", "get_manga_details"
OWN: Any = {"session": "s", "user": "u"}
SECRET = "sk-hunter2"


async def calls(kit: Kit, session: str = "s", user: str | None = "u") -> list[HistoryEntry]:
    return list((await kit.app.memory.recall(session, user)).calls)


async def told(kit: Kit, least: int = 1, **of: Any) -> list[tuple[str, str, bool]]:
    """The history, latest first, once it has so many calls: nobody waits for the record of a refused one."""
    while len(await calls(kit, **of)) < least:
        await asyncio.sleep(0.01)
    return [(each.tool, each.summary, each.succeeded) for each in await calls(kit, **of)]


async def test_refused_arguments_are_recorded_in_history_without_their_values(kit: Kit) -> None:
    await kit.ask(SEARCH, QUERY, **OWN)
    answer = await kit.ask(DETAILS, {"title_id": SECRET, "password": SECRET}, **OWN)
    assert answer.failure == "VALIDATION_ERROR"
    assert (await told(kit, 2))[0] == (DETAILS, "VALIDATION_ERROR", False)
    latest = (await calls(kit))[0]
    assert (latest.arguments, latest.words, latest.shown) == ({}, "", ())
    assert SECRET not in str(latest)
    assert (await kit.app.memory.recall("s", "u")).totals["failures"] == 1


async def test_refused_call_is_answered_before_its_record_is_written(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    released, trip = asyncio.Event(), kit.redis.trip

    async def held(steps: Sequence[Step], deadline: Deadline) -> Any:
        await released.wait()
        return await trip(steps, deadline)

    with monkeypatch.context() as patched:
        patched.setattr(kit.redis, "trip", held)
        assert (await kit.ask(DETAILS, {"title_id": 7}, **OWN)).failure == "VALIDATION_ERROR"
        released.set()
        await asyncio.sleep(1)
    assert await told(kit) == [(DETAILS, "VALIDATION_ERROR", False)]


async def test_rate_limited_calls_are_recorded_once_per_second(opener: Opener) -> None:
    """A repeating client must not push other calls out of the history."""
    kit: Kit = await opener(rate=Rate(0.01, 1))
    await kit.ask(SEARCH, QUERY, **OWN)
    for _ in range(5):
        assert (await kit.ask(SEARCH, QUERY, **OWN)).failure == "RATE_LIMITED"
    assert (await told(kit, 2))[0] == (SEARCH, "RATE_LIMITED", False)
    await asyncio.sleep(0.9)
    await kit.ask(SEARCH, QUERY, **OWN)
    await asyncio.sleep(0.05)
    assert len(await calls(kit)) == 2
    await asyncio.sleep(0.1)
    await kit.ask(SEARCH, QUERY, **OWN)
    lines = await told(kit, 3)
    assert [line[1] for line in lines[:2]] == ["RATE_LIMITED"] * 2


async def test_call_refused_for_load_is_recorded_for_its_caller(opener: Opener, moody: Backends) -> None:
    kit: Kit = await opener(max_concurrent_calls=1)
    moody.catalog.gate = asyncio.Event()
    task = asyncio.create_task(kit.ask(SEARCH, QUERY, session="other", user="v"))
    await eventually(lambda: kit.pipeline.shed.under_way == 1)
    assert (await kit.ask(SEARCH, {"query": SECRET}, **OWN)).failure == "SERVER_BUSY"
    assert await told(kit) == [(SEARCH, "SERVER_BUSY", False)]
    assert SECRET not in str(await calls(kit))
    moody.catalog.gate.set()
    await task


class Granted(TrustStated):
    """Everybody has a token with one scope."""

    async def identify(self, metadata: RequestMetadata, bearer: Any) -> Principal:
        proven = await super().identify(metadata, bearer)
        return Principal(user=proven.user, scopes=frozenset({"mcp:manga-tools:lookup_order"}))


async def test_forbidden_call_is_recorded_and_one_with_conflicting_users_is_not(opener: Opener) -> None:
    """The caller of the first is known; the second has two users, and no history of its own."""
    kit: Kit = await opener(identifier=Granted())
    assert (await kit.ask(SEARCH, QUERY, user_conflict=True, **OWN)).failure == "FORBIDDEN"
    assert (await kit.ask(SEARCH, QUERY, **OWN)).failure == "FORBIDDEN"
    assert await told(kit) == [(SEARCH, "FORBIDDEN", False)]
    assert await calls(kit, user=None) == []


async def test_calls_of_disabled_tools_and_in_exhausted_turns_are_recorded(kit: Kit) -> None:
    kit.switch(get_ratings=False)
    assert (await kit.ask("get_ratings", {"title_ids": ["manga-000001"]}, **OWN)).failure == "TOOL_NOT_FOUND"
    assert await told(kit) == [("get_ratings", "TOOL_NOT_FOUND", False)]
    await kit.ask(SEARCH, QUERY, turn="t", turn_budget_ms=1, **OWN)
    over = await kit.ask("lookup_order", {}, turn="t", turn_budget_ms=1, **OWN)
    assert over.failure == "BUDGET_EXHAUSTED"
    assert ("lookup_order", "BUDGET_EXHAUSTED", False) in await told(kit, 3)


async def test_refused_calls_without_a_session_or_redis_are_not_recorded_and_do_not_fail(kit: Kit) -> None:
    assert (await kit.ask(DETAILS, {"title_id": 7}, user="u")).failure == "VALIDATION_ERROR"
    kit.redis.inner.away = True
    for _ in range(2 * MOST_PENDING):
        assert (await kit.ask(DETAILS, {"title_id": 7}, **OWN)).failure == "VALIDATION_ERROR"
    await asyncio.sleep(1)
    kit.redis.inner.away = False
    await asyncio.sleep(60)
    await kit.ask(SEARCH, QUERY, **OWN)
    assert len(await calls(kit)) == 1


async def test_recording_a_refused_call_reports_whether_its_session_has_listeners(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": SECRET}, **OWN)
    await told(kit)
    (entry,) = await calls(kit)
    assert not await kit.app.memory.add_refused("s", "u", entry)
    await kit.app.memory.mark_listened_to("s", "u")
    assert await kit.app.memory.add_refused("s", "u", entry)
    assert not await kit.app.memory.add_refused("s", "another", entry)
