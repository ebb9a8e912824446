"""A conversation is readable by its owner only, with a call or as a resource."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from server.stages import shorten as whole_result
from session import keys
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Reply, Step
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Answer, Kit, Opener
from tests.support.valkey import ask as ask_redis

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]

SEARCH, DETAILS, STOCK = "search_manga_catalog", "get_manga_details", "check_inventory"
OWN = {"session": "s", "user": "u"}
HISTORY = "manga://session/history"
META = "com.mangaassist/history"
NOTHING_YET = "Nothing has been asked in this conversation yet."
NOT_KNOWN = "Earlier calls of this conversation cannot be read right now."


def history(answer: Answer) -> list[str]:
    """The lines of what a call was reminded of, without how long ago."""
    return [line.partition(" ")[2] if line[:1].isdigit() else line for line in answer.result["_meta"][META].split("\n")]


async def read(client: Client, uri: str, session: str = "s", user: str | None = "u") -> str:
    stated: Any = {"com.mangaassist/sessionId": session} | ({"com.mangaassist/userId": user} if user else {})
    [content] = (await client.read_resource(uri, meta=stated)).contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


async def missing(client: Client, uri: str, session: str = "s", user: str | None = "u") -> dict[str, Any]:
    """What somebody is told who reads what is not there, but for what differs by chance."""
    with pytest.raises(MCPError) as refused:
        await read(client, uri, session, user)
    assert refused.value.code == types.INVALID_PARAMS
    return {name: value for name, value in refused.value.data.items() if name not in ("uri", "request_id")} | {
        "message": refused.value.message
    }


# -- with a call


async def test_history_is_added_to_a_call_only_on_request_and_without_a_third_trip(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    kit.redis.trips.clear()
    plain = await kit.ask(DETAILS, {"title_id": "manga-000001"}, **OWN)
    assert META not in plain.result["_meta"]
    asked = await kit.ask(DETAILS, {"title_id": "manga-000001"}, history=20, **OWN)
    assert len(kit.redis.trips) == 4
    assert history(asked) == [
        "Calls so far, latest first:",
        "details: Pirate Sea",
        'search "pirates": 1 of 1 titles: Pirate Sea',
        "Last title: manga-000001 Pirate Sea",
        'Shown last by search "pirates": 1. manga-000001 Pirate Sea',
    ]


async def test_requested_number_of_past_calls_is_selected_by_relevance(kit: Kit) -> None:
    for query in ("pirates", "ghosts", "romance"):
        await kit.ask(SEARCH, {"query": query}, **OWN)
    both = history(await kit.ask(SEARCH, {"query": "chess ghosts"}, history=2, **OWN))
    assert [line.partition(":")[0] for line in both[1:3]] == [
        'search "romance"',
        'search "ghosts"',
    ]
    assert any("pirates" in line for line in history(await kit.ask(DETAILS, {"title_id": "manga-000001"}, history=1, **OWN)))


async def test_failed_call_carries_the_history_too(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    failed = await kit.ask(DETAILS, {"title_id": "manga-999999"}, history=1, **OWN)
    assert failed.failure == "NOT_FOUND"
    assert 'search "pirates"' in failed.result["_meta"][META]


@cases("asked", [0, 21, "many", -1, "1e9"])
async def test_malformed_number_of_calls_is_refused(kit: Kit, asked: Any) -> None:
    answer = await kit.ask(SEARCH, {"query": "pirates"}, history=asked, **OWN)
    assert answer.failure == "VALIDATION_ERROR"
    [violation] = answer.result["structuredContent"]["error"]["data"]["details"]["violations"]
    assert (violation["path"], violation["fix"]) == (f"$._meta['{META}']", "use a whole number from 1 to 20")


async def test_call_without_a_session_has_no_history(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, user="u")
    answer = await kit.ask(SEARCH, {"query": "pirates"}, user="u", history=5)
    assert answer.result["_meta"][META] == NOTHING_YET


@cases("other", [{"session": "s", "user": "v"}, {"session": "s"}, {"session": "t", "user": "u"}])
async def test_history_of_another_user_or_session_is_never_shown(kit: Kit, other: dict[str, str]) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    answer = await kit.ask(DETAILS, {"title_id": "manga-000002"}, history=20, **other)
    assert answer.result["_meta"][META] == NOTHING_YET


async def test_query_words_are_kept_in_the_session_only_and_deleted_with_it(kit: Kit) -> None:
    """No event for logs and spans has them, and an ended session leaves nothing."""
    await kit.ask(SEARCH, {"query": "pirates of my youth", "author": "Nobody"}, **OWN)
    own = keys.SessionKeys.of("s", "u")
    assert "pirates of my youth" not in repr(kit.events)
    past = await kit.memory.recall("s", "u")
    assert past.calls[0].words == "pirates of my youth Nobody"
    await kit.memory.forget("s", "u")
    assert [await ask_redis(kit.redis.inner, "EXISTS", name) for name in own] == [1, 0, 0, 0]
    assert await ask_redis(kit.redis.inner, "HKEYS", own.base) == [b"ended"]
    assert (await kit.memory.recall("s", "u")).calls == ()


# -- as a resource


@pytest.mark.parametrize("era", ERAS)
async def test_history_resource_is_private_text_and_reading_it_is_no_call(era: str, kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    async with connected(kit, era) as client:
        text = await read(client, HISTORY)
        assert 'search "pirates": 1 of 1 titles: Pirate Sea' in text
        assert await read(client, HISTORY, user="v") == await read(client, HISTORY, user=None) == NOTHING_YET
        assert await read(client, HISTORY, session="t") == NOTHING_YET
        result = await client.read_resource(HISTORY)
    assert era == "legacy" or (result.ttl_ms, result.cache_scope) == (0, "private")
    assert len((await kit.memory.recall("s", "u")).calls) == 1, "to read is no call of the conversation"


class Silent:
    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        raise MemoryUnavailable("away")

    async def aclose(self) -> None: ...


async def test_history_without_redis_has_only_what_this_process_showed_and_says_so(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    kit.redis.inner = Silent()
    reminded = await kit.ask(DETAILS, {"title_id": "manga-000001"}, history=5, **OWN)
    known = f'{NOT_KNOWN}\nShown last by search "pirates": 1. manga-000001 Pirate Sea'
    assert reminded.result["_meta"][META].replace("\nLast title: manga-000001 Pirate Sea", "") == known
    assert reminded.meta["degraded"] == ["session"]
    async with connected(kit, "auto") as client:
        assert await read(client, HISTORY) == known
        assert await read(client, HISTORY, user="v") == NOT_KNOWN


# -- whole results


ALL = {"query": "story", "max_results": 6}
"""More than 400 tokens."""
NEVER = "manga://session/results/0123456789abcdef0123456789abcdef"


@pytest.fixture
async def brief(opener: Opener) -> Kit:
    """Gives no more than 400 tokens, which has room for the address of the whole."""
    own: Kit = await opener(result_tokens=400)
    return own


def address(answer: Answer) -> str:
    return f"manga://session/results/{answer.call.call_id}"


@pytest.mark.parametrize("era", ERAS)
async def test_whole_of_a_shortened_result_is_readable_by_its_owner_only(era: str, kit: Kit, brief: Kit) -> None:
    whole = (await kit.ask(SEARCH, ALL)).value
    brief.redis.trips.clear()
    answer = await brief.ask(SEARCH, ALL, **OWN)
    assert len(brief.redis.trips) == 2
    assert answer.value["truncated"]
    assert answer.value != whole
    assert address(answer) in answer.note
    async with connected(brief, era) as client:
        assert json.loads(await read(client, address(answer))) == whole
        never = await missing(client, NEVER)
        for session, user in (("s", "v"), ("s", None), ("t", "u")):
            assert await missing(client, address(answer), session, user) == never
        assert never["name"] == "NOT_FOUND"
        await brief.memory.forget("s", "u")
        assert await missing(client, address(answer)) == never


async def test_last_five_shortened_results_are_kept_and_marked_in_the_history(brief: Kit) -> None:
    answers = [await brief.ask(SEARCH, ALL | {"max_results": 6 - number % 2}, **OWN) for number in range(7)]
    async with connected(brief, "auto") as client:
        for answer in answers[2:]:
            rows = json.loads(await read(client, address(answer)))["results"]
            assert len(rows) == answer.call.arguments["max_results"]
        for answer in answers[:2]:
            assert (await missing(client, address(answer)))["name"] == "NOT_FOUND"
    kept = [call.result for call in (await brief.memory.recall("s", "u")).calls]
    assert kept == [answer.call.call_id for answer in reversed(answers)]


async def test_shortened_personal_result_is_not_kept(opener: Opener) -> None:
    kit: Kit = await opener(result_tokens=200)
    order = await kit.ask("lookup_order", {"order_id": "MNG-VVVV0001"}, session="s", user="v")
    assert order.value["truncated"]
    assert "manga://session/results" not in order.note
    async with connected(kit, "auto") as client:
        assert (await missing(client, address(order), user="v"))["name"] == "NOT_FOUND"


async def test_result_too_large_for_a_session_is_not_kept(brief: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_result, "LARGEST_WHOLE", 100)
    answer = await brief.ask(SEARCH, ALL, **OWN)
    assert answer.value["truncated"]
    assert "manga://session/results" not in answer.note
    async with connected(brief, "auto") as client:
        assert (await missing(client, address(answer)))["name"] == "NOT_FOUND"


async def test_reading_a_kept_result_without_redis_is_a_dependency_failure(brief: Kit) -> None:
    answer = await brief.ask(SEARCH, ALL, **OWN)
    brief.redis.inner = Silent()
    async with connected(brief, "auto") as client:
        with pytest.raises(MCPError) as refused:
            await read(client, address(answer))
    assert (refused.value.code, refused.value.data["name"]) == (types.INTERNAL_ERROR, "DEPENDENCY_FAILURE")
