"""What has to hold whatever the client, the transport and the protocol's era: one body each, run for all of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.answers import Answer, RpcError
from tests.support.cases import cases
from tests.support.clients import Client, Transport

OWNER, OWN_ORDER = "demo-user-1", "MNG-DEMO1001"
FOREIGN_ORDER, MISSING_ORDER = "MNG-DEMO2001", "MNG-ZZZZZZZZ"
ONE_PIECE = "manga-001001"
EACH_TOOL: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "pirates looking for a treasure", "genre": "shonen", "max_results": 3},
    "get_manga_details": {"title_id": ONE_PIECE},
    "check_inventory": {"title_ids": [ONE_PIECE, "manga-001016"]},
    "find_volumes": {"title_id": ONE_PIECE, "volume": "next"},
    "get_recommendations": {"criteria": "quiet fantasy about time passing", "count": 2},
    "classify_genre": {"text": "A widow opens an inn at the end of the railway."},
    "lookup_order": {"order_id": OWN_ORDER},
}


def ids_of(found: Answer) -> list[str]:
    return [card["title_id"] for card in found.value["results"]]


@cases("tool", list(EACH_TOOL))
async def test_a_result_satisfies_its_output_schema_and_its_text_is_the_same_json(
    tool: str, client: Client, session: str
) -> None:
    """Clients that read the text and clients that read structuredContent have to see the same."""
    schema = next(each["outputSchema"] for each in await client.tools() if each["name"] == tool)
    answer = await whole_answer(client, tool, sessionId=session, userId=OWNER)
    Draft202012Validator(schema).validate(answer.value)
    assert json.loads(answer.texts[0]) == answer.structured
    assert answer.texts[0] == json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
    assert answer.call["source"] in ("live", "cache")


async def whole_answer(client: Client, tool: str, **stated: str) -> Answer:
    """One without anything left out: on a busy machine Redis or the encoder may be late for the first, and says so."""
    async with asyncio.timeout(30):
        while (answer := await client.call(tool, EACH_TOOL[tool], **stated)).call["degraded"]:
            await asyncio.sleep(0.1)
    return answer


@cases("query", ["One Piece", "wan piisu", "わんぴーす", "ワンピース", "ONE PIECE"])
async def test_a_title_is_found_by_its_name_in_any_script(query: str, client: Client, session: str) -> None:
    """English, romaji, kana and full-width letters all lead to one title."""
    found = await client.call("search_manga_catalog", {"query": query}, sessionId=session)
    assert ids_of(found)[0] == ONE_PIECE


async def test_a_title_is_found_by_its_name_in_kanji(client: Client, session: str) -> None:
    """Two kanji are enough, and come back as they were written."""
    found = await client.call("search_manga_catalog", {"query": "葬送のフリーレン"}, sessionId=session)
    assert found.value["results"][0]["title_ja"] == "葬送のフリーレン"


async def test_stock_without_ids_is_that_of_the_last_search_of_the_session(client: Client, session: str) -> None:
    """The second of two searches counts."""
    await client.call("search_manga_catalog", {"query": "detective", "max_results": 2}, sessionId=session)
    found = await client.call("search_manga_catalog", {"query": "volleyball", "max_results": 3}, sessionId=session)
    stock = await client.call("check_inventory", {}, sessionId=session)
    assert stock.value["checked"] == "last_search"
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)


async def test_a_connection_that_is_a_session_remembers_its_search_without_being_told_to(
    client: Client, transport: Transport
) -> None:
    """SSE, a 2025 Streamable HTTP session and stdio are sessions by themselves; the 2026 era over HTTP has none."""
    found = await client.call("search_manga_catalog", {"query": f"a cook travels {transport.name}", "max_results": 2})
    stock = await client.call("check_inventory", {})
    if transport.own_session:
        assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)
    else:
        assert stock.error["name"] == "VALIDATION_ERROR"


async def test_a_result_set_chains_without_a_session(client: Client) -> None:
    """Whoever has the name of a result set may use it, whichever session found it."""
    found = await client.call("search_manga_catalog", {"query": "samurai", "max_results": 3}, sessionId="first-of-two")
    arguments = {"result_set": found.value["result_set"]}
    stock = await client.call("check_inventory", arguments, sessionId="second-of-two")
    assert stock.value["checked"] == "result_set"
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)


async def test_an_invalid_call_names_every_violation_at_once(client: Client, session: str) -> None:
    """As a result that a model can read, each violation with its path, its rule and how to mend it."""
    arguments = {"genre": "horror", "max_results": 99, "min_rating": "high", "colour": "red"}
    answer = await client.call("search_manga_catalog", arguments, sessionId=session)
    error = answer.error
    assert (error["code"], error["name"]) == (-32602, "VALIDATION_ERROR")
    assert (error["data"]["tool"], error["data"]["retryable"]) == ("search_manga_catalog", False)
    broken = {(each["path"], each["rule"]) for each in error["data"]["details"]["violations"]}
    assert broken == {
        ("$.query", "required"),
        ("$.genre", "enum"),
        ("$.max_results", "maximum"),
        ("$.min_rating", "type"),
        ("$.colour", "additionalProperties"),
    }
    assert all(each["fix"] and each["message"] for each in error["data"]["details"]["violations"])
    assert json.loads(answer.texts[0]) == answer.structured


async def test_title_ids_and_result_set_together_are_refused(client: Client, session: str) -> None:
    """Which of the two was meant cannot be known."""
    arguments = {"title_ids": [ONE_PIECE], "result_set": "rs_aaaaaaaaaaaaaaaa"}
    error = (await client.call("check_inventory", arguments, sessionId=session)).error
    assert error["name"] == "VALIDATION_ERROR"


async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_nearest(
    client: Client, transport: Transport
) -> None:
    """-32602 as MCP prescribes. Strands passes on the message alone, so the names have to be in it too."""
    with pytest.raises(RpcError) as raised:
        await client.call("search_manga", {})
    assert "search_manga_catalog" in raised.value.message
    if not transport.strands:
        assert raised.value.code == -32602
        assert raised.value.data["name"] == "TOOL_NOT_FOUND"
        assert raised.value.data["nearest"][0] == "search_manga_catalog"


async def test_a_customer_sees_their_own_order(client: Client, session: str) -> None:
    """With every parcel, and nobody else's name on it."""
    order = (await client.call("lookup_order", {"order_id": OWN_ORDER}, sessionId=session, userId=OWNER)).value
    assert order["order_id"] == OWN_ORDER
    assert order["shipments"][0]["carrier"] == "yamato"
    assert "owner" not in order


async def test_a_customer_who_has_no_number_gets_their_latest_orders(client: Client, session: str) -> None:
    """Latest first, each to be looked up by its number; and a number counts however it is said."""
    listed = (await client.call("lookup_order", {}, sessionId=session, userId=OWNER)).value["orders"]
    assert OWN_ORDER in [row["order_id"] for row in listed]
    assert [row["ordered_at"] for row in listed] == sorted((row["ordered_at"] for row in listed), reverse=True)
    said = {"order_id": OWN_ORDER.removeprefix("MNG-").lower()}
    assert (await client.call("lookup_order", said, sessionId=session, userId=OWNER)).value["order_id"] == OWN_ORDER
    assert (await client.call("lookup_order", {}, sessionId=session)).error["name"] == "FORBIDDEN"


async def test_stock_is_that_of_what_was_shown_last_whoever_showed_it(client: Client, session: str) -> None:
    """One text each time, which says what the structure says."""
    shown = await client.call("get_recommendations", {"criteria": "cooking", "count": 2}, sessionId=session)
    stock = await client.call("check_inventory", {"title_ids": [], "session_id": "x"}, sessionId=session)
    assert stock.value["checked"] == "last_recommendations"
    rows, cards = stock.value["items"], shown.value["recommendations"]
    assert [(row["title_id"], row["title"]) for row in rows] == [(card["title_id"], card["title"]) for card in cards]
    assert "session_id" in stock.value["note"]
    assert [json.loads(text) for text in stock.texts] == [stock.structured]


async def test_a_foreign_order_and_a_missing_one_cannot_be_told_apart(client: Client, session: str) -> None:
    """Whoever guesses order numbers learns nothing."""
    said = []
    for order in (FOREIGN_ORDER, MISSING_ORDER):
        answer = await client.call("lookup_order", {"order_id": order}, sessionId=session, userId=OWNER)
        assert answer.error["name"] == "NOT_FOUND"
        envelope = answer.structured
        envelope["error"]["data"].pop("request_id")
        said.append((envelope, len(answer.texts), sorted(answer.call)))
    assert said[0] == said[1]


async def test_an_anonymous_caller_gets_no_order(client: Client, session: str) -> None:
    """Not even one that exists."""
    error = (await client.call("lookup_order", {"order_id": OWN_ORDER}, sessionId=session)).error
    assert error["name"] == "FORBIDDEN"


async def test_another_user_in_the_arguments_gets_nothing_personal(client: Client, session: str) -> None:
    """A model that was talked into it must not reach another customer's recommendations."""
    arguments = {"criteria": "ghosts", "user_id": "demo-user-2"}
    answer = await client.call("get_recommendations", arguments, sessionId=session, userId=OWNER)
    assert answer.value["based_on"] == ["criteria", "popularity"]
    assert "not the customer" in answer.value["note"]
    own = await client.call("get_recommendations", arguments | {"user_id": OWNER}, sessionId=session, userId=OWNER)
    assert own.value["recommendations"]


async def test_what_a_session_remembers_is_kept_apart_by_user(client: Client, session: str) -> None:
    """The same session id with another user begins with nothing."""
    await client.call("search_manga_catalog", {"query": "cats"}, sessionId=session, userId=OWNER)
    for other in ({"userId": "demo-user-2"}, {}):
        stock = await client.call("check_inventory", {}, sessionId=session, **other)
        assert stock.error["name"] == "VALIDATION_ERROR"


async def test_the_session_may_come_by_baggage_and_the_user_never(client: Client, session: str) -> None:
    """Baggage crosses services that nobody checks: it may name a conversation and must not name a customer."""
    baggage = {"baggage": f"tenant=a,session.id={session};p=1,user.id={OWNER}"}
    found = await client.call("search_manga_catalog", {"query": "chess with ghosts", "max_results": 2}, sessionId=session)
    stock = await client.call("check_inventory", {}, meta=baggage)
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)
    order = await client.call("lookup_order", {"order_id": OWN_ORDER}, meta=baggage)
    assert order.error["name"] == "FORBIDDEN"


async def test_a_malformed_session_is_named_as_what_is_wrong(client: Client) -> None:
    """It is the agent's own mistake, unlike malformed baggage."""
    error = (await client.call("check_inventory", {"title_ids": [ONE_PIECE]}, sessionId="no spaces")).error
    assert error["name"] == "VALIDATION_ERROR"
    assert "sessionId" in error["data"]["details"]["violations"][0]["path"]
    ignored = await client.call("check_inventory", {"title_ids": [ONE_PIECE]}, meta={"baggage": "session.id=no spaces"})
    assert ignored.value["items"]


async def test_what_is_left_of_a_named_turn_falls_from_call_to_call(client: Client, session: str, turn: str) -> None:
    """Every answer says how much, so that the agent can decide."""
    budgets = []
    for _ in range(2):
        answer = await client.call("get_manga_details", {"title_id": ONE_PIECE}, sessionId=session, turnId=turn)
        budgets.append(answer.call["budget"])
    assert [budget["turnId"] for budget in budgets] == [turn, turn]
    assert [budget["totalMs"] for budget in budgets] == [3000, 3000]
    assert 0 < budgets[1]["remainingMs"] < budgets[0]["remainingMs"] <= 2800


async def test_a_stated_budget_shortens_a_turn_and_never_lengthens_it(client: Client, session: str, turn: str) -> None:
    """The agent knows best how late it is, but not how long the customer will wait."""

    async def budget(**stated: Any) -> dict[str, Any]:
        arguments = {"title_id": ONE_PIECE}
        answer = await client.call("get_manga_details", arguments, sessionId=session, turnId=turn, **stated)
        return dict(answer.call["budget"])

    whole = await budget()
    shorter = await budget(turnBudgetMs=1200)
    longer = await budget(turnBudgetMs=60_000)
    assert whole["remainingMs"] > 1000 >= shorter["remainingMs"] >= longer["remainingMs"]
    assert longer["totalMs"] <= shorter["totalMs"] < whole["totalMs"] == 3000


async def test_a_used_up_turn_starts_nothing_more(client: Client, session: str, turn: str) -> None:
    """Orders have no lower rung; a search still has one, and says so; the next turn is a new one."""
    asked = {"sessionId": session, "userId": OWNER}
    order = await client.call("lookup_order", {"order_id": OWN_ORDER}, turnId=turn, turnBudgetMs=0, **asked)
    assert (order.error["code"], order.error["name"]) == (-32006, "BUDGET_EXHAUSTED")
    assert order.call["budget"]["remainingMs"] == 0
    search = await client.call(
        "search_manga_catalog", {"query": f"unheard of {turn}", "genre": "josei"}, turnId=turn, **asked
    )
    assert (search.call["source"], search.call["fallback"]) == ("fallback", "cached_popular_manga")
    assert {card["genre"] for card in search.value["results"]} == {"josei"}
    assert "fallback" in search.value["note"]
    again = await client.call("lookup_order", {"order_id": OWN_ORDER}, turnId=f"{turn}-next", **asked)
    assert again.value["order_id"] == OWN_ORDER


async def test_the_same_idempotency_key_gets_the_same_answer_again(client: Client, session: str) -> None:
    """The recorded answer as it was, live; without the key the same question is answered from the cache."""
    arguments = {"query": f"once upon {session}", "max_results": 2}
    first = await client.call("search_manga_catalog", arguments, sessionId=session, idempotencyKey="once")
    replayed = await client.call("search_manga_catalog", arguments, sessionId=session, idempotencyKey="once")
    without = await client.call("search_manga_catalog", arguments, sessionId=session)
    assert [answer.call["source"] for answer in (first, replayed, without)] == ["live", "live", "cache"]
    assert replayed.value == first.value
    assert replayed.call["asOf"] == first.call["asOf"]


async def test_an_idempotency_key_used_for_something_else_is_refused(client: Client, session: str) -> None:
    """Otherwise one of the two callers would get the other's answer."""
    asked = {"sessionId": session, "idempotencyKey": "taken"}
    first = await client.call("search_manga_catalog", {"query": f"taken by {session}"}, **asked)
    assert first.call["source"] == "live"
    for other in ({"query": f"taken by {session}", "max_results": 1}, {"query": f"wanted by {session}"}):
        refused = await client.call("search_manga_catalog", other, **asked)
        assert refused.error["name"] == "VALIDATION_ERROR"
        assert [each["rule"] for each in refused.error["data"]["details"]["violations"]] == ["unique"]


async def test_a_repeated_search_says_that_it_comes_from_the_cache(client: Client, session: str) -> None:
    """And since when it is known."""
    arguments = {"query": f"a story about {session}", "max_results": 1}
    first = await client.call("search_manga_catalog", arguments, sessionId=session)
    second = await client.call("search_manga_catalog", arguments, sessionId=session)
    assert (first.call["source"], second.call["source"]) == ("live", "cache")
    assert second.value == first.value
    assert second.call["asOf"] == first.call["asOf"]
