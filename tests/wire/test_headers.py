"""HTTP headers state user, session, turn and time. `_meta` precedes them, except for the user."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from tests.support.answers import CALL_META, STATED
from tests.support.cases import cases
from tests.support.clients import TRANSPORTS, Client, Connections, params
from tests.support.raw import call, in_2026
from tests.support.serving import Serving

OWNER, OWN_ORDER = "demo-user-1", "MNG-DEMO1001"
ONE_PIECE = "manga-001001"
OVER_HTTP = [name for name, transport in TRANSPORTS.items() if transport.http]


@pytest.fixture(params=params(OVER_HTTP))
def spoken_for(request: pytest.FixtureRequest, fresh: Connections, server: Serving, session: str) -> Client:
    """A client whose headers say, once and for all its requests, who it calls for."""
    headers = {"X-User-ID": OWNER, "X-Session-ID": session, "X-Expected-Calls": "2", "X-Turn-Budget-Ms": "2000"}
    return fresh.open(request.param, server.url, headers)


async def test_user_header_names_the_customer(spoken_for: Client) -> None:
    """SSE clients send their headers with each POST too, so it holds for every call."""
    assert (await spoken_for.call("lookup_order", {"order_id": OWN_ORDER})).value["order_id"] == OWN_ORDER
    agreed = await spoken_for.call("lookup_order", {"order_id": OWN_ORDER}, userId=OWNER)
    assert agreed.value["order_id"] == OWN_ORDER


async def test_a_user_in_meta_that_differs_from_the_header_is_forbidden(spoken_for: Client) -> None:
    """One of the two is wrong, and nobody can say which."""
    answer = await spoken_for.call("lookup_order", {"order_id": OWN_ORDER}, userId="demo-user-2")
    assert (answer.error["code"], answer.error["name"]) == (-32008, "FORBIDDEN")
    search = await spoken_for.call("search_manga_catalog", {"query": "anything"}, userId="demo-user-2")
    assert search.error["name"] == "FORBIDDEN"


async def test_session_header_is_used_unless_meta_names_another(spoken_for: Client) -> None:
    """A client with static headers can still name another session for one call."""
    found = await spoken_for.call("search_manga_catalog", {"query": "robots", "max_results": 2})
    stock = await spoken_for.call("check_inventory")
    ids = [card["title_id"] for card in found.value["results"]]
    assert [item["title_id"] for item in stock.value["items"]] == ids
    elsewhere = await spoken_for.call("check_inventory", sessionId=uuid.uuid4().hex)
    assert elsewhere.error["name"] == "VALIDATION_ERROR"


async def test_budget_header_shortens_the_turn_unless_meta_states_another(spoken_for: Client, turn: str) -> None:
    """The budget of `_meta` precedes that of the header."""
    by_header = await spoken_for.call("get_manga_details", {"title_id": ONE_PIECE}, turnId=turn)
    assert by_header.call["budget"]["remainingMs"] <= 2000 - 200 < by_header.call["budget"]["totalMs"] < 3000
    by_meta = await spoken_for.call("get_manga_details", {"title_id": ONE_PIECE}, turnId=f"{turn}-2", turnBudgetMs=900)
    assert by_meta.call["budget"]["remainingMs"] <= 900 - 200


async def test_token_budget_header_is_counted_over_the_turn(plain: Plain, turn: str, session: str) -> None:
    """Each result states its tokens, and `_meta` may state a smaller budget."""
    headers: dict[str, str | bytes] = {"X-Session-ID": session, "X-Turn-ID": turn, "X-Token-Budget": "350"}
    found = await plain.call("get_manga_details", {"title_id": ONE_PIECE}, {}, headers)
    assert found["structuredContent"]["truncated"] is True
    tokens = found["_meta"][CALL_META]["budget"]["tokens"]
    assert tokens["total"] == 350 > tokens["remaining"]
    fewer = {"com.mangaassist/tokenBudget": 100}
    over = await plain.call("check_inventory", {"title_ids": [ONE_PIECE]}, fewer, headers)
    error = over["structuredContent"]["error"]
    assert (error["name"], error["data"]["details"]) == ("BUDGET_EXHAUSTED", {"what": "tokens"})


class Plain:
    """The 2026 era by hand: one POST, one answer."""

    def __init__(self, server: Serving) -> None:
        self._url = f"{server.url}/mcp"

    async def call(
        self, tool: str, arguments: dict[str, Any], meta: dict[str, Any], headers: dict[str, str | bytes]
    ) -> dict[str, Any]:
        body, own = in_2026(call(tool, arguments, meta))
        async with httpx.AsyncClient(timeout=30) as http:
            response = await http.post(self._url, json=body, headers={**own, **headers})
        assert response.status_code == 200, response.text
        return dict(response.json()["result"])


@pytest.fixture
def plain(server: Serving) -> Plain:
    return Plain(server)


async def test_user_in_utf_8_is_the_same_in_header_and_meta(plain: Plain) -> None:
    """Header bytes reach a server as Latin-1, and still name the customer of `_meta`."""
    user = "客-山田"
    order = {"order_id": OWN_ORDER}
    result = await plain.call("lookup_order", order, {STATED + "userId": user}, {"X-User-ID": user.encode()})
    assert result["structuredContent"]["error"]["name"] == "NOT_FOUND"


async def test_idempotency_key_may_come_as_a_header(plain: Plain, session: str) -> None:
    """`Idempotency-Key` is the header that HTTP APIs use."""
    headers: dict[str, str | bytes] = {"X-Session-ID": session, "Idempotency-Key": "k-1"}
    first = await plain.call("search_manga_catalog", {"query": f"by header {session}"}, {}, headers)
    again = await plain.call("search_manga_catalog", {"query": f"by header {session}"}, {}, headers)
    other = await plain.call("search_manga_catalog", {"query": f"another {session}"}, {}, headers)
    assert first["_meta"][CALL_META]["source"] == again["_meta"][CALL_META]["source"] == "live"
    assert again["structuredContent"] == first["structuredContent"]
    assert other["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"


@cases(
    ("header", "value"),
    [
        ("X-Session-ID", "no spaces"),
        ("X-Turn-ID", "x" * 129),
        ("X-Turn-Budget-Ms", "soon"),
        ("X-Turn-Budget-Ms", "nan"),
        ("X-Turn-Budget-Ms", "-1"),
        ("X-Token-Budget", "many"),
        ("X-Expected-Calls", "0"),
        ("Idempotency-Key", "a/b"),
        ("X-User-ID", "u" * 256),
    ],
)
async def test_malformed_header_is_refused_by_name(header: str, value: str, plain: Plain, session: str) -> None:
    """The result has a violation with the header's name and the expected form."""
    headers: dict[str, str | bytes] = {"X-Session-ID": session, header: value}
    result = await plain.call("check_inventory", {"title_ids": [ONE_PIECE]}, {}, headers)
    error = result["structuredContent"]["error"]
    assert (result["isError"], error["name"]) == (True, "VALIDATION_ERROR")
    assert header in error["data"]["details"]["violations"][0]["path"]


async def test_trace_id_names_the_turn_without_a_stated_one(plain: Plain, session: str) -> None:
    """Agents that only pass on their trace context have turns too."""
    trace = uuid.uuid4().hex
    meta = {"traceparent": f"00-{trace}-{trace[:16]}-01", STATED + "sessionId": session}
    result = await plain.call("get_manga_details", {"title_id": ONE_PIECE}, meta, {})
    assert result["_meta"][CALL_META]["budget"]["turnId"] == trace
    malformed = await plain.call("get_manga_details", {"title_id": ONE_PIECE}, meta | {"traceparent": "00-1-2-3"}, {})
    assert malformed["_meta"][CALL_META]["budget"]["turnId"] is None


@cases("chosen", ["}x", "{a}b", "s" * 15_000, "plain"], ids=["brace", "braces", "15 KB", "well-formed"])
async def test_session_header_of_2025_is_ignored_in_a_2026_request(chosen: str, plain: Plain) -> None:
    """The header belongs to the 2025 era, where the server issues its value."""
    headers: dict[str, str | bytes] = {"Mcp-Session-Id": chosen}
    found = await plain.call("search_manga_catalog", {"query": "pirates", "max_results": 2}, {}, headers)
    assert "session" not in found["_meta"][CALL_META]["degraded"]
    again = await plain.call("check_inventory", {}, {}, headers)
    assert again["structuredContent"]["error"]["name"] == "VALIDATION_ERROR", "something was remembered under it"
