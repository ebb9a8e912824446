"""What holds for every client, transport and protocol era: one body each, run for all of them."""

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
async def test_result_satisfies_its_output_schema_and_its_text_is_the_same_json(
    tool: str, client: Client, session: str
) -> None:
    """Clients that read the text and clients that read structuredContent get the same."""
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
async def test_title_is_found_by_its_name_in_any_script(query: str, client: Client, session: str) -> None:
    """English, romaji, kana and full-width letters all lead to one title."""
    found = await client.call("search_manga_catalog", {"query": query}, sessionId=session)
    assert ids_of(found)[0] == ONE_PIECE


async def test_title_is_found_by_its_name_in_kanji(client: Client, session: str) -> None:
    """Two kanji are enough, and are returned as written."""
    found = await client.call("search_manga_catalog", {"query": "葬送のフリーレン"}, sessionId=session)
    assert found.value["results"][0]["title_ja"] == "葬送のフリーレン"


async def test_stock_without_ids_is_that_of_the_last_search_of_the_session(client: Client, session: str) -> None:
    """Two searches are made, and the second counts."""
    await client.call("search_manga_catalog", {"query": "detective", "max_results": 2}, sessionId=session)
    found = await client.call("search_manga_catalog", {"query": "volleyball", "max_results": 3}, sessionId=session)
    stock = await client.call("check_inventory", {}, sessionId=session)
    assert stock.value["checked"] == "last_search"
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)


async def test_connection_with_a_session_of_its_own_remembers_the_last_search(client: Client, transport: Transport) -> None:
    """SSE, a 2025 Streamable HTTP session and stdio are sessions by themselves; the 2026 era over HTTP has none."""
    found = await client.call("search_manga_catalog", {"query": f"a cook travels {transport.name}", "max_results": 2})
    stock = await client.call("check_inventory", {})
    if transport.own_session:
        assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)
    else:
        assert stock.error["name"] == "VALIDATION_ERROR"


async def test_result_set_is_usable_without_a_session(client: Client) -> None:
    """Any caller with the name of a result set may use it, whichever session found it."""
    found = await client.call("search_manga_catalog", {"query": "samurai", "max_results": 3}, sessionId="first-of-two")
    arguments = {"result_set": found.value["result_set"]}
    stock = await client.call("check_inventory", arguments, sessionId="second-of-two")
    assert stock.value["checked"] == "result_set"
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)


async def test_invalid_call_reports_every_violation_at_once(client: Client, session: str) -> None:
    """The result lists each violation with its path, its rule and its remedy."""
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
    """The server cannot know which of the two is meant."""
    arguments = {"title_ids": [ONE_PIECE], "result_set": "rs_aaaaaaaaaaaaaaaa"}
    error = (await client.call("check_inventory", arguments, sessionId=session)).error
    assert error["name"] == "VALIDATION_ERROR"


async def test_unknown_tool_is_a_protocol_error_that_names_the_nearest(client: Client, transport: Transport) -> None:
    """-32602 as MCP prescribes. Strands passes on the message alone, so the names have to be in it too."""
    with pytest.raises(RpcError) as raised:
        await client.call("search_manga", {})
    assert "search_manga_catalog" in raised.value.message
    if not transport.strands:
        assert raised.value.code == -32602
        assert raised.value.data["name"] == "TOOL_NOT_FOUND"
        assert raised.value.data["nearest"][0] == "search_manga_catalog"


async def test_customer_sees_their_own_order(client: Client, session: str) -> None:
    """It has every parcel, and no other customer's name."""
    order = (await client.call("lookup_order", {"order_id": OWN_ORDER}, sessionId=session, userId=OWNER)).value
    assert order["order_id"] == OWN_ORDER
    assert order["shipments"][0]["carrier"] == "yamato"
    assert "owner" not in order


async def test_customer_without_an_order_number_gets_their_latest_orders(client: Client, session: str) -> None:
    """The latest comes first; each has its number, which is accepted in any spelling."""
    listed = (await client.call("lookup_order", {}, sessionId=session, userId=OWNER)).value["orders"]
    assert OWN_ORDER in [row["order_id"] for row in listed]
    assert [row["ordered_at"] for row in listed] == sorted((row["ordered_at"] for row in listed), reverse=True)
    said = {"order_id": OWN_ORDER.removeprefix("MNG-").lower()}
    assert (await client.call("lookup_order", said, sessionId=session, userId=OWNER)).value["order_id"] == OWN_ORDER
    assert (await client.call("lookup_order", {}, sessionId=session)).error["name"] == "FORBIDDEN"


async def test_stock_without_ids_is_that_of_the_last_titles_shown_by_any_tool(client: Client, session: str) -> None:
    """Each result has one text, equal to its structure."""
    shown = await client.call("get_recommendations", {"criteria": "cooking", "count": 2}, sessionId=session)
    stock = await client.call("check_inventory", {"title_ids": [], "session_id": "x"}, sessionId=session)
    assert stock.value["checked"] == "last_recommendations"
    rows, cards = stock.value["items"], shown.value["recommendations"]
    assert [(row["title_id"], row["title"]) for row in rows] == [(card["title_id"], card["title"]) for card in cards]
    assert "session_id" in stock.value["note"]
    assert [json.loads(text) for text in stock.texts] == [stock.structured]


async def test_foreign_order_and_missing_order_cannot_be_told_apart(client: Client, session: str) -> None:
    """Guessing order numbers reveals nothing."""
    said = []
    for order in (FOREIGN_ORDER, MISSING_ORDER):
        answer = await client.call("lookup_order", {"order_id": order}, sessionId=session, userId=OWNER)
        assert answer.error["name"] == "NOT_FOUND"
        envelope = answer.structured
        envelope["error"]["data"].pop("request_id")
        said.append((envelope, len(answer.texts), sorted(answer.call)))
    assert said[0] == said[1]


async def test_anonymous_caller_gets_no_order(client: Client, session: str) -> None:
    """This holds for an existing order too."""
    error = (await client.call("lookup_order", {"order_id": OWN_ORDER}, sessionId=session)).error
    assert error["name"] == "FORBIDDEN"


async def test_another_user_in_the_arguments_gets_no_personal_answer(client: Client, session: str) -> None:
    """A model that was talked into it must not reach another customer's recommendations."""
    arguments = {"criteria": "ghosts", "user_id": "demo-user-2"}
    answer = await client.call("get_recommendations", arguments, sessionId=session, userId=OWNER)
    assert answer.value["based_on"] == ["criteria", "popularity"]
    assert "not the customer" in answer.value["note"]
    own = await client.call("get_recommendations", arguments | {"user_id": OWNER}, sessionId=session, userId=OWNER)
    assert own.value["recommendations"]


async def test_session_memory_is_kept_apart_by_user(client: Client, session: str) -> None:
    """The same session id begins empty for another user."""
    await client.call("search_manga_catalog", {"query": "cats"}, sessionId=session, userId=OWNER)
    for other in ({"userId": "demo-user-2"}, {}):
        stock = await client.call("check_inventory", {}, sessionId=session, **other)
        assert stock.error["name"] == "VALIDATION_ERROR"


async def test_session_may_come_by_baggage_and_the_user_never(client: Client, session: str) -> None:
    """Baggage crosses services that nobody checks: it may name a conversation and must not name a customer."""
    baggage = {"baggage": f"tenant=a,session.id={session};p=1,user.id={OWNER}"}
    found = await client.call("search_manga_catalog", {"query": "chess with ghosts", "max_results": 2}, sessionId=session)
    stock = await client.call("check_inventory", {}, meta=baggage)
    assert [item["title_id"] for item in stock.value["items"]] == ids_of(found)
    order = await client.call("lookup_order", {"order_id": OWN_ORDER}, meta=baggage)
    assert order.error["name"] == "FORBIDDEN"


async def test_malformed_session_is_refused_by_name_and_malformed_baggage_ignored(client: Client) -> None:
    """A wrong session is the agent's own mistake, and baggage may be another service's."""
    error = (await client.call("check_inventory", {"title_ids": [ONE_PIECE]}, sessionId="no spaces")).error
    assert error["name"] == "VALIDATION_ERROR"
    assert "sessionId" in error["data"]["details"]["violations"][0]["path"]
    ignored = await client.call("check_inventory", {"title_ids": [ONE_PIECE]}, meta={"baggage": "session.id=no spaces"})
    assert ignored.value["items"]


async def test_remaining_time_of_a_named_turn_falls_from_call_to_call(client: Client, session: str, turn: str) -> None:
    """Every answer states the remaining time for the agent's decisions."""
    budgets = []
    for _ in range(2):
        answer = await client.call("get_manga_details", {"title_id": ONE_PIECE}, sessionId=session, turnId=turn)
        budgets.append(answer.call["budget"])
    assert [budget["turnId"] for budget in budgets] == [turn, turn]
    assert [budget["totalMs"] for budget in budgets] == [3000, 3000]
    assert 0 < budgets[1]["remainingMs"] < budgets[0]["remainingMs"] <= 2800


async def test_stated_budget_shortens_a_turn_and_never_lengthens_it(client: Client, session: str, turn: str) -> None:
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


async def test_exhausted_turn_refuses_orders_and_answers_searches_by_fallback(
    client: Client, session: str, turn: str
) -> None:
    """Orders have no fallback; a search has one, with a label; the next turn is a new one."""
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


async def test_repeated_idempotency_key_gets_the_first_answer(client: Client, session: str) -> None:
    """It is the recorded live answer; without the key the question is answered from the cache."""
    arguments = {"query": f"once upon {session}", "max_results": 2}
    first = await client.call("search_manga_catalog", arguments, sessionId=session, idempotencyKey="once")
    replayed = await client.call("search_manga_catalog", arguments, sessionId=session, idempotencyKey="once")
    without = await client.call("search_manga_catalog", arguments, sessionId=session)
    assert [answer.call["source"] for answer in (first, replayed, without)] == ["live", "live", "cache"]
    assert replayed.value == first.value
    assert replayed.call["asOf"] == first.call["asOf"]


async def test_idempotency_key_used_for_another_call_is_refused(client: Client, session: str) -> None:
    """Otherwise one of the two callers would get the other's answer."""
    asked = {"sessionId": session, "idempotencyKey": "taken"}
    first = await client.call("search_manga_catalog", {"query": f"taken by {session}"}, **asked)
    assert first.call["source"] == "live"
    for other in ({"query": f"taken by {session}", "max_results": 1}, {"query": f"wanted by {session}"}):
        refused = await client.call("search_manga_catalog", other, **asked)
        assert refused.error["name"] == "VALIDATION_ERROR"
        assert [each["rule"] for each in refused.error["data"]["details"]["violations"]] == ["unique"]


async def test_repeated_search_is_answered_from_the_cache(client: Client, session: str) -> None:
    """The answer states its age."""
    arguments = {"query": f"a story about {session}", "max_results": 1}
    first = await client.call("search_manga_catalog", arguments, sessionId=session)
    second = await client.call("search_manga_catalog", arguments, sessionId=session)
    assert (first.call["source"], second.call["source"]) == ("live", "cache")
    assert second.value == first.value
    assert second.call["asOf"] == first.call["asOf"]
