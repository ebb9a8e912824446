"""A conversation read back by its owner: with a call, as a resource, and nobody else's."""

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


async def test_a_call_says_what_came_before_only_where_it_is_asked_and_in_its_own_two_trips(kit: Kit) -> None:
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


async def test_a_call_is_reminded_of_as_many_calls_as_it_asks_for_those_that_bear_on_it_first(kit: Kit) -> None:
    for query in ("pirates", "ghosts", "romance"):
        await kit.ask(SEARCH, {"query": query}, **OWN)
    both = history(await kit.ask(SEARCH, {"query": "chess ghosts"}, history=2, **OWN))
    assert [line.partition(":")[0] for line in both[1:3]] == [
        'search "romance"',
        'search "ghosts"',
    ]
    assert any("pirates" in line for line in history(await kit.ask(DETAILS, {"title_id": "manga-000001"}, history=1, **OWN)))


async def test_a_failed_call_is_reminded_too(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    failed = await kit.ask(DETAILS, {"title_id": "manga-999999"}, history=1, **OWN)
    assert failed.failure == "NOT_FOUND"
    assert 'search "pirates"' in failed.result["_meta"][META]


@cases("asked", [0, 21, "many", -1, "1e9"])
async def test_a_malformed_number_of_calls_is_refused(kit: Kit, asked: Any) -> None:
    answer = await kit.ask(SEARCH, {"query": "pirates"}, history=asked, **OWN)
    assert answer.failure == "VALIDATION_ERROR"
    [violation] = answer.result["structuredContent"]["error"]["data"]["details"]["violations"]
    assert (violation["path"], violation["fix"]) == (f"$._meta['{META}']", "use a whole number from 1 to 20")


async def test_who_has_no_session_has_no_history(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, user="u")
    answer = await kit.ask(SEARCH, {"query": "pirates"}, user="u", history=5)
    assert answer.result["_meta"][META] == NOTHING_YET


@cases("other", [{"session": "s", "user": "v"}, {"session": "s"}, {"session": "t", "user": "u"}])
async def test_nobody_is_reminded_of_what_another_asked(kit: Kit, other: dict[str, str]) -> None:
    await kit.ask(SEARCH, {"query": "pirates"}, **OWN)
    answer = await kit.ask(DETAILS, {"title_id": "manga-000002"}, history=20, **other)
    assert answer.result["_meta"][META] == NOTHING_YET


async def test_the_words_are_in_the_owners_session_alone_and_go_with_it(kit: Kit) -> None:
    """In no event for logs and spans; and nothing is left once the session was ended."""
    await kit.ask(SEARCH, {"query": "pirates of my youth", "author": "Nobody"}, **OWN)
    own = keys.SessionKeys("s", "u")
    assert "pirates of my youth" not in repr(kit.events)
    past = await kit.memory.recall("s", "u")
    assert past.calls[0].words == "pirates of my youth Nobody"
    await kit.memory.forget("s", "u")
    assert [await ask_redis(kit.redis.inner, "EXISTS", name) for name in own.all()] == [1, 0, 0, 0]
    assert await ask_redis(kit.redis.inner, "HKEYS", own.base) == [b"ended"]
    assert (await kit.memory.recall("s", "u")).calls == ()


# -- as a resource


@pytest.mark.parametrize("era", ERAS)
async def test_the_history_is_read_as_text_that_nobody_else_may_keep(era: str, kit: Kit) -> None:
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


async def test_without_redis_what_this_process_showed_is_told_and_that_it_is_not_all(kit: Kit) -> None:
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
async def test_the_whole_of_a_shortened_result_is_read_by_its_owner_and_nobody_else(era: str, kit: Kit, brief: Kit) -> None:
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


async def test_the_last_five_are_kept_and_each_says_so_in_the_history(brief: Kit) -> None:
    answers = [await brief.ask(SEARCH, ALL | {"max_results": 6 - number % 2}, **OWN) for number in range(7)]
    async with connected(brief, "auto") as client:
        for answer in answers[2:]:
            rows = json.loads(await read(client, address(answer)))["results"]
            assert len(rows) == answer.call.arguments["max_results"]
        for answer in answers[:2]:
            assert (await missing(client, address(answer)))["name"] == "NOT_FOUND"
    kept = [call.result for call in (await brief.memory.recall("s", "u")).calls]
    assert kept == [answer.call.call_id for answer in reversed(answers)]


async def test_what_is_personal_is_kept_nowhere_and_nobody_is_told_otherwise(opener: Opener) -> None:
    kit: Kit = await opener(result_tokens=200)
    order = await kit.ask("lookup_order", {"order_id": "MNG-VVVV0001"}, session="s", user="v")
    assert order.value["truncated"]
    assert "manga://session/results" not in order.note
    async with connected(kit, "auto") as client:
        assert (await missing(client, address(order), user="v"))["name"] == "NOT_FOUND"


async def test_what_would_fill_a_session_is_not_kept(brief: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_result, "LARGEST_WHOLE", 100)
    answer = await brief.ask(SEARCH, ALL, **OWN)
    assert answer.value["truncated"]
    assert "manga://session/results" not in answer.note
    async with connected(brief, "auto") as client:
        assert (await missing(client, address(answer)))["name"] == "NOT_FOUND"


async def test_a_kept_result_without_redis_is_an_error_that_says_so(brief: Kit) -> None:
    answer = await brief.ask(SEARCH, ALL, **OWN)
    brief.redis.inner = Silent()
    async with connected(brief, "auto") as client:
        with pytest.raises(MCPError) as refused:
            await read(client, address(answer))
    assert (refused.value.code, refused.value.data["name"]) == (types.INTERNAL_ERROR, "DEPENDENCY_FAILURE")
