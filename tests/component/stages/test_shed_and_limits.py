"""Calls refused before any work: by concurrency, by rate, by switched off tools and by missing proof."""

from __future__ import annotations

import asyncio

import pytest

from server.identity.request_metadata import TrustTokens
from session.resilience.rate_limit import Rate
from tests.support.calls import ARGUMENTS, IDS, QUERY
from tests.support.pipeline import Answer, Kit, Opener
from tests.support.store import Backends
from tests.support.valkey import eventually

pytestmark = pytest.mark.virtual_time


async def test_calls_beyond_the_concurrency_limit_are_refused_and_counted(opener: Opener, moody: Backends) -> None:
    kit = await opener(max_concurrent_calls=2)
    moody.catalog.gate = asyncio.Event()
    tasks = [asyncio.create_task(kit.ask("search_manga_catalog", {"query": f"q{n}"})) for n in range(2)]
    await eventually(lambda: kit.pipeline.shed.under_way == 2)
    assert not kit.pipeline.shed.idle.is_set()
    busy = await kit.ask("search_manga_catalog", QUERY)
    assert (busy.failure, busy.outcome.failure.retry_after_ms) == ("SERVER_BUSY", 100)  # type: ignore[union-attr]
    tasks[0].cancel()
    await asyncio.gather(tasks[0], return_exceptions=True)
    assert kit.pipeline.shed.under_way == 1
    moody.catalog.gate.set()
    await tasks[1]
    assert kit.pipeline.shed.under_way == 0
    assert kit.pipeline.shed.idle.is_set()
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None


async def test_principal_with_every_slot_yields_a_share_to_another(opener: Opener, moody: Backends) -> None:
    """A single principal may use every slot. Another gets its share at once, and the first keeps only its own."""
    kit = await opener(max_concurrent_calls=4)
    moody.catalog.gate = asyncio.Event()

    def began(origin: str, number: int) -> list[asyncio.Task[Answer]]:
        words = [{"query": f"{origin} {n}"} for n in range(number)]
        return [asyncio.create_task(kit.ask("search_manga_catalog", each, origin=origin)) for each in words]

    greedy = began("greedy", 4)
    await eventually(lambda: kit.pipeline.shed.under_way == 4)
    modest = began("modest", 2)
    await eventually(lambda: kit.pipeline.shed.under_way == 6)
    assert (await kit.ask("search_manga_catalog", QUERY, origin="modest")).failure == "SERVER_BUSY"
    assert (await kit.ask("search_manga_catalog", QUERY, origin="greedy")).failure == "SERVER_BUSY"
    greedy[0].cancel()
    greedy[1].cancel()
    await eventually(lambda: kit.pipeline.shed.under_way == 4)
    assert (await kit.ask("search_manga_catalog", QUERY, origin="greedy")).failure == "SERVER_BUSY"
    moody.catalog.gate.set()
    answers = await asyncio.gather(*greedy[2:], *modest)
    assert [answer.failure for answer in answers] == [None] * 4
    greedy = began("greedy", 4)
    assert [answer.failure for answer in await asyncio.gather(*greedy)] == [None] * 4


async def test_rate_limited_caller_is_told_when_to_retry(opener: Opener) -> None:
    kit = await opener(rate=Rate(1, 2))
    answers = [await kit.ask("search_manga_catalog", QUERY, user="u", turn="t") for _ in range(3)]
    assert [answer.failure for answer in answers] == [None, None, "RATE_LIMITED"]
    error = answers[-1].result["structuredContent"]["error"]["data"]
    assert error["retryable"]
    assert 0 < error["retry_after_ms"] <= 1000
    assert answers[-1].meta["budget"]["totalMs"] == 3000


async def test_long_text_counts_for_several_calls(opener: Opener) -> None:
    kit = await opener(rate=Rate(1, 5))
    text = "cooking " * 60
    assert [(await kit.ask("search_manga_catalog", {"query": text}, user="u")).failure for _ in range(2)] == [
        None,
        "RATE_LIMITED",
    ]
    assert (await kit.ask("search_manga_catalog", QUERY, user="u")).failure is None


async def test_address_is_limited_only_for_callers_without_user_and_session(opener: Opener) -> None:
    kit = await opener(rate=Rate(0.01, 2), host="0.0.0.0")
    unknown = [(await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1")).failure for _ in range(3)]
    assert unknown == [None, None, "RATE_LIMITED"]
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.2")).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY)).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1", user="u")).failure is None
    assert (await kit.ask("search_manga_catalog", QUERY, address="10.1.1.1", session="s")).failure is None


async def test_disabled_tool_names_its_alternative(kit: Kit) -> None:
    kit.switch(check_inventory=False)
    answer = await kit.ask("check_inventory", IDS)
    assert answer.failure == "TOOL_NOT_FOUND"
    assert "get_manga_details" in answer.texts[0]


async def test_call_without_the_agent_token_is_forbidden_before_any_backend_is_asked(opener: Opener) -> None:
    kit = await opener(identifier=TrustTokens(["secret"]))
    assert (await kit.ask("search_manga_catalog", QUERY, bearer="wrong")).failure == "FORBIDDEN"
    assert (await kit.ask("search_manga_catalog", QUERY)).failure == "FORBIDDEN"
    assert kit.redis.trips == []
    assert (await kit.ask("lookup_order", ARGUMENTS["lookup_order"], bearer="secret", user="u")).failure is None


async def test_transport_session_is_used_where_none_is_stated(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY, transport_session="stream-1", user="u")
    assert (await kit.ask("check_inventory", {}, session="stream-1", user="u")).failure is None
