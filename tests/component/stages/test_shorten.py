"""Long results are shortened to the token budget of a call and a turn, through the whole pipeline."""

from __future__ import annotations

import json

import pytest

from tests.support.calls import ARGUMENTS, IDS, QUERY
from tests.support.pipeline import Answer, Kit, Opener
from tools.results.shortening import estimate

pytestmark = pytest.mark.virtual_time
INVENTORY = "check_inventory"
WHO = {"session": "s", "user": "u", "turn": "t"}


def tokens(answer: Answer) -> dict[str, int]:
    return dict(answer.meta["budget"]["tokens"])


async def test_tokens_are_neither_reported_nor_cut_without_a_budget(kit: Kit) -> None:
    answer = await kit.ask(INVENTORY, IDS, **WHO)
    assert "tokens" not in answer.meta["budget"]
    assert "truncated" not in answer.value


async def test_tokens_of_answers_are_subtracted_from_the_budget_of_the_turn(kit: Kit) -> None:
    first = await kit.ask(INVENTORY, IDS, **WHO, token_budget=1500)
    assert tokens(first) == {"total": 1500, "remaining": 1500 - estimate(first.texts[0])}
    second = await kit.ask(INVENTORY, IDS, **WHO)
    assert tokens(second) == {"total": 1500, "remaining": tokens(first)["remaining"] - estimate(second.texts[0])}
    assert [len(kit.redis.trips)] == [4], "two trips a call"


async def test_stated_token_budget_can_only_shrink(kit: Kit) -> None:
    await kit.ask(INVENTORY, IDS, **WHO, token_budget=1500)
    more = await kit.ask(INVENTORY, IDS, **WHO, token_budget=100_000)
    assert tokens(more)["total"] == 1500
    less = await kit.ask(INVENTORY, IDS, **WHO, token_budget=600)
    assert tokens(less)["total"] < 1500
    assert tokens(less)["remaining"] == 600 - estimate(less.texts[0])


async def test_turn_without_a_stated_token_budget_has_the_configured_one(opener: Opener) -> None:
    kit: Kit = await opener(turn_tokens=5000)
    assert tokens(await kit.ask(INVENTORY, IDS, **WHO))["total"] == 5000
    assert tokens(await kit.ask(INVENTORY, IDS))["total"] == 5000, "a turn of this call alone"


async def test_call_without_tokens_left_is_refused_and_frees_its_idempotency_key(kit: Kit) -> None:
    over = await kit.ask("search_manga_catalog", QUERY, **WHO, token_budget=149, idempotency_key="k")
    assert over.failure == "BUDGET_EXHAUSTED"
    data = over.result["structuredContent"]["error"]["data"]
    assert (data["details"], data["retryable"]) == ({"what": "tokens"}, False)
    assert kit.calls_of("search") == 0
    again = await kit.ask("search_manga_catalog", QUERY, session="s", user="u", turn="next", idempotency_key="k")
    assert again.failure is None


async def test_exhausted_time_is_reported_apart_from_tokens(kit: Kit) -> None:
    over = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], **WHO, arrived=kit.clock() - 2.95)
    assert over.result["structuredContent"]["error"]["data"]["details"] == {"what": "time"}


async def test_shortened_result_is_cached_and_replayed_whole(kit: Kit) -> None:
    """The cache and the idempotency record hold the whole result."""
    whole = await kit.ask("get_manga_details", ARGUMENTS["get_manga_details"])
    short = await kit.ask("get_manga_details", ARGUMENTS["get_manga_details"], **WHO, token_budget=200, idempotency_key="k")
    assert (short.meta["source"], short.value["truncated"]) == ("cache", True)
    assert estimate(short.texts[0]) <= 200 < estimate(whole.texts[0])
    assert short.call.conversation is not None
    assert json.loads(await short.call.conversation.whole_result(short.call.call_id) or b"") == whole.value
    again = await kit.ask(
        "get_manga_details", ARGUMENTS["get_manga_details"], session="s", user="u", turn="n", idempotency_key="k"
    )
    assert again.value == whole.value


async def test_call_gets_its_share_of_the_remaining_tokens(kit: Kit) -> None:
    one = await kit.ask("get_manga_details", ARGUMENTS["get_manga_details"], **WHO, token_budget=1000)
    assert "truncated" not in one.value
    of_five = {"session": "s", "user": "u", "turn": "n", "token_budget": 1000, "expected_calls": 5}
    assert estimate((await kit.ask("get_manga_details", ARGUMENTS["get_manga_details"], **of_five)).texts[0]) <= 200


async def test_malformed_token_budget_is_refused(kit: Kit) -> None:
    answer = await kit.ask(INVENTORY, IDS, **WHO, token_budget="plenty")
    assert answer.failure == "VALIDATION_ERROR"
    assert "X-Token-Budget" in answer.result["structuredContent"]["error"]["message"]


async def test_tokens_are_counted_in_process_while_redis_is_away(kit: Kit) -> None:
    kit.redis.inner.away = True  # type: ignore[attr-defined]
    first = await kit.ask(INVENTORY, IDS, **WHO, token_budget=1500)
    second = await kit.ask(INVENTORY, IDS, **WHO)
    assert first.meta["degraded"] == ["session"]
    assert tokens(second)["remaining"] < tokens(first)["remaining"] < 1500
