"""Missing ids are remembered; orders, fallbacks and partial results are not cached; personal results are cached per user."""

from __future__ import annotations

import asyncio

import pytest

from session import keys
from tests.support.calls import ARGUMENTS, QUERY
from tests.support.pipeline import Kit
from tests.support.store import Mood
from tests.support.valkey import ask

pytestmark = pytest.mark.virtual_time


async def test_unknown_title_id_is_asked_for_once_and_answered_not_found_each_time(kit: Kit) -> None:
    wrong = {"title_id": "manga-999999"}
    answers = [await kit.ask("get_manga_details", wrong, session=f"s{n}") for n in range(4)]
    assert kit.calls_of("get") == 1
    told = [answer.result["structuredContent"]["error"] for answer in answers]
    for error in told:
        error["data"].pop("request_id")
    assert told == [told[0]] * 4
    assert (told[0]["name"], answers[-1].result["isError"]) == ("NOT_FOUND", True)
    kit.backends.catalog.mood = Mood.FAILS
    assert (await kit.ask("get_manga_details", wrong)).failure == "NOT_FOUND"


async def test_unknown_title_id_is_asked_of_the_stock_once_per_half_minute(kit: Kit) -> None:
    mixed = {"title_ids": ["manga-999999", "manga-000001"]}
    for _ in range(4):
        answer = await kit.ask("check_inventory", mixed)
        assert (answer.value["not_found"], answer.meta["source"]) == (["manga-999999"], "live")
        kit.clock.advance(6)
    asked = [list(arguments[0]) for _, arguments in kit.backends.stock.asked]
    assert asked == [["manga-999999", "manga-000001"], *[["manga-000001"]] * 3]
    kit.clock.advance(7)
    await kit.ask("check_inventory", mixed)
    assert "manga-999999" in kit.backends.stock.asked[-1][1][0]


async def test_missing_order_is_looked_up_each_time(kit: Kit) -> None:
    for _ in range(2):
        assert (await kit.ask("lookup_order", {"order_id": "MNG-XXXX9999"}, user="u")).failure == "NOT_FOUND"
    assert kit.calls_of("order") == 2


async def test_fallback_and_partial_results_are_not_cached(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.FAILS
    await kit.ask("search_manga_catalog", QUERY)
    await kit.ask("get_recommendations", {"criteria": "x"})
    kit.backends.catalog.mood, kit.backends.orders.mood = Mood.WORKS, Mood.FAILS
    answer = await kit.ask("get_recommendations", {"criteria": "x"}, user="u")
    assert answer.meta["degraded"] == ["orders"]
    assert await ask(kit.redis, "KEYS", "manga:mcp:cache:*") == []


async def test_personal_results_are_cached_per_user(kit: Kit) -> None:
    """Three callers ask the same question, and none gets an answer with another's purchases."""
    answers = {
        user: await kit.ask("get_recommendations", {"criteria": "romance", "count": 6}, user=user)
        for user in ("u", "v", None)
    }
    ids = {user: {card["title_id"] for card in answer.value["recommendations"]} for user, answer in answers.items()}
    assert {answer.meta["source"] for answer in answers.values()} == {"live"}
    assert "manga-000001" not in ids["u"]
    assert not {"manga-000002", "manga-000003"} & ids["v"]
    assert answers[None].value["based_on"] == ["criteria", "popularity"]
    assert len(await ask(kit.redis, "KEYS", "manga:mcp:cache:*:get_recommendations:*")) == 3
    at_once = await asyncio.gather(
        *(kit.ask("get_recommendations", {"criteria": "other", "count": 6}, user=user) for user in ("u", "v") * 3)
    )
    for user, answer in zip(("u", "v") * 3, at_once, strict=True):
        owned = {"u": {"manga-000001"}, "v": {"manga-000002", "manga-000003"}}[user]
        assert not owned & {card["title_id"] for card in answer.value["recommendations"]}


async def test_owned_title_is_not_recommended_by_the_fallback(kit: Kit) -> None:
    kit.backends.catalog.mood = Mood.HANGS
    answer = await kit.ask("get_recommendations", {"criteria": "romance", "count": 6}, user="u")
    assert answer.meta["source"] == "fallback"
    ids = {card["title_id"] for card in answer.value["recommendations"]}
    assert ids
    assert "manga-000001" not in ids


async def test_orders_are_never_cached_or_written_to_redis(kit: Kit) -> None:
    for _ in range(2):
        answer = await kit.ask("lookup_order", ARGUMENTS["lookup_order"], user="u", session="s", idempotency_key="k")
        assert answer.meta["source"] == "live"
    assert kit.calls_of("order") == 2
    stored = {name: await dump(kit, name) for name in await ask(kit.redis, "KEYS", "*")}
    known = "b'order_id', b'MNG-UUUU0001'"
    session = keys.SessionKeys.of("s", "u").base.encode()
    assert known in stored[session], "its owner's session knows which one is talked of, and no more of it"
    stored[session] = stored[session].replace(known, "")
    assert not any(each in text for text in stored.values() for each in ("MNG-", "Tokyo")), "an order was written down"


async def dump(kit: Kit, name: bytes) -> str:
    kind = await ask(kit.redis, "TYPE", name)
    command = {b"string": ("GET",), b"hash": ("HGETALL",), b"list": ("LRANGE",)}[kind]
    more = (0, -1) if kind == b"list" else ()
    return str(await ask(kit.redis, *command, name, *more))
