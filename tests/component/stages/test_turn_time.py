"""The time budgets of turns and calls, and the work that ends with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.calls import ARGUMENTS, QUERY, age
from tests.support.pipeline import Kit, Opener
from tests.support.store import Mood
from tests.support.valkey import eventually

pytestmark = pytest.mark.virtual_time


def exhausted(kit: Kit, turn: str = "t") -> dict[str, Any]:
    return {"session": "s", "user": "u", "turn": turn, "arrived": kit.clock() - 2.95}


async def test_exhausted_turn_refuses_tools_without_a_fallback_before_any_backend_is_asked(kit: Kit) -> None:
    who = exhausted(kit)
    for tool in ("lookup_order", "check_inventory"):
        answer = await kit.ask(tool, ARGUMENTS[tool], **who)
        assert answer.failure == "BUDGET_EXHAUSTED"
        error = answer.result["structuredContent"]["error"]["data"]
        assert (error["retryable"], error["fallback_available"]) == (False, False)
        assert "used up" in answer.result["structuredContent"]["error"]["message"]
        assert not answer.note, "once is enough"
    assert kit.backends.orders.asked == kit.backends.stock.asked == []


async def test_exhausted_turn_is_answered_by_fallbacks_without_backend_calls(kit: Kit) -> None:
    """Remembered preferences are not read either, and the answer says so."""
    who = exhausted(kit)
    for tool, without in {"search_manga_catalog": ["preferences", "stock"], "get_manga_details": ["stock"]}.items():
        answer = await kit.ask(tool, ARGUMENTS[tool], **who)
        assert (answer.failure, answer.meta["source"]) == (None, "fallback")
        assert answer.meta["degraded"] == without
        assert "the time for this turn" in answer.note
        assert "available right now" not in answer.note, "nothing is wrong with the search"
    assert kit.calls_of("availability") == 0, "price and stock were asked when nothing may be started"
    assert kit.calls_of("search") + kit.calls_of("get") == 0


async def test_caller_error_in_an_exhausted_turn_is_reported_as_such(kit: Kit) -> None:
    answer = await kit.ask("check_inventory", {"result_set": "rs_" + "a" * 16}, **exhausted(kit))
    assert answer.failure == "NOT_FOUND"


async def test_exhausted_turn_is_served_from_the_cache_without_a_refresh(kit: Kit) -> None:
    await kit.ask("search_manga_catalog", QUERY)
    asked = kit.calls_of("search")
    assert (await kit.ask("search_manga_catalog", QUERY, **exhausted(kit))).meta["source"] == "cache"
    await age(kit, 301)
    assert (await kit.ask("search_manga_catalog", QUERY, **exhausted(kit, "t2"))).meta["source"] == "stale"
    assert kit.calls_of("search") == asked
    assert not kit.pipeline.cache.refreshes


async def test_hanging_tool_and_its_backend_call_are_cancelled_at_the_deadline(kit: Kit) -> None:
    kit.backends.orders.mood = Mood.HANGS
    answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u")
    assert answer.failure == "TIMEOUT"
    await eventually(lambda: kit.backends.orders.cancelled == kit.calls_of("order") > 0)


async def test_call_gets_its_share_of_the_turn_within_the_tool_timeout(opener: Opener) -> None:
    kit = await opener()
    for tool in ("search_manga_catalog", "lookup_order"):
        for expected in (1, 4, 20):
            call = kit.call(tool, ARGUMENTS[tool], session="s", user="u", turn=f"{tool}{expected}", expected_calls=expected)
            await kit.pipeline.run(call)
            share = max(100, 2800 // expected)
            given = call.deadline.at - call.arrived  # type: ignore[union-attr]
            assert given == pytest.approx(min(call.tool.tool.timeout_ms, share) / 1000)


async def test_no_call_outlives_the_call_timeout(opener: Opener) -> None:
    kit = await opener(call_timeout_ms=100)
    call = kit.call("search_manga_catalog", QUERY)
    await kit.pipeline.run(call)
    assert call.deadline.at == pytest.approx(call.arrived + 0.1)  # type: ignore[union-attr]
