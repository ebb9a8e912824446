"""One server of the last release and one of this on the same stores: each reads what the other has written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.release.beside import THIS, Beside, Release, Stack, differences, new_name
from tests.support.flags import FAILING, WELL
from tests.support.process import serving, until
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, Connection, ask, call, message
from tests.support.sse import SseClient

pytestmark = pytest.mark.timeout(400)
"""The first test starts an OpenSearch, seeds it, and starts two servers."""

SEARCH, STOCK = "search_manga_catalog", "check_inventory"
ONE_PIECE = "manga-001001"
SOON = 20.0
CLOSED = "http://127.0.0.1:9"
both_ways = pytest.mark.parametrize(("writer", "reader"), [("last", "this"), ("this", "last")])


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["title_id"] for row in rows]


@both_ways
async def test_a_session_goes_on_with_the_other(beside: Beside, writer: str, reader: str) -> None:
    """What was shown, its result set, and the history."""
    session = new_name("session")
    found = await beside.call(writer, SEARCH, {"query": "pirates", "max_results": 3}, sessionId=session)
    stock = await beside.call(reader, STOCK, {}, sessionId=session)
    assert ids(stock["items"]) == ids(found["results"])
    assert stock["checked"] == "last_search"
    again = await beside.call(reader, STOCK, {"result_set": found["result_set"]})
    assert ids(again["items"]) == ids(found["results"])
    calls = [await history(beside, each, session) for each in (writer, reader)]
    assert calls[0] == calls[1]
    assert [each["tool"] for each in calls[0]] == [STOCK, SEARCH]
    assert calls[0][1]["words"] == "pirates"


async def history(beside: Beside, release: str, session: str) -> list[dict[str, Any]]:
    return list((await ask(beside.ports[release], "GET", f"/sessions/{session}")).json()["calls"])


@both_ways
async def test_one_title_that_was_looked_at_is_known_to_the_other(beside: Beside, writer: str, reader: str) -> None:
    session = new_name("session")
    await beside.call(writer, "get_manga_details", {"title_id": ONE_PIECE}, sessionId=session)
    ratings = await beside.call(reader, "get_ratings", {}, sessionId=session)
    assert ids(ratings["ratings"]) == [ONE_PIECE]


@both_ways
async def test_a_session_that_one_ends_is_gone_from_what_they_share(beside: Beside, writer: str, reader: str) -> None:
    session = new_name("session")
    await beside.call(writer, SEARCH, {"query": "pirates"}, sessionId=session)
    await beside.call(reader, STOCK, {}, sessionId=session)
    assert (await ask(beside.ports[reader], "DELETE", f"/sessions/{session}")).status == 204
    assert await beside.failure(reader, STOCK, {}, sessionId=session) == "VALIDATION_ERROR"
    for release in (writer, reader):
        assert [each["succeeded"] for each in await history(beside, release, session)] == [False]


@both_ways
async def test_a_turn_has_one_budget_of_time_and_tokens(beside: Beside, writer: str, reader: str) -> None:
    stated = {"sessionId": new_name("session"), "turnId": new_name("turn")}
    budgets = []
    for release in (writer, reader, writer):
        of_first = {"turnBudgetMs": 4_000, "tokenBudget": 5_000} if not budgets else {}
        result = await beside.result(release, "get_manga_details", {"title_id": ONE_PIECE}, **stated, **of_first)
        budgets.append(result["_meta"]["com.mangaassist/call"]["budget"])
    assert [each["totalMs"] for each in budgets] == [budgets[0]["totalMs"]] * 3
    assert budgets[0]["totalMs"] < 4_500
    assert budgets[0]["remainingMs"] >= budgets[1]["remainingMs"] >= budgets[2]["remainingMs"]
    tokens = [each["tokens"]["remaining"] for each in budgets]
    assert tokens[0] > tokens[1] > tokens[2]


@both_ways
async def test_a_turn_that_is_over_is_over_for_the_other(beside: Beside, writer: str, reader: str) -> None:
    stated = {"sessionId": new_name("session"), "turnId": new_name("turn"), "userId": "demo-user-1"}
    await beside.result(writer, "lookup_order", {}, **stated, turnBudgetMs=50)
    assert await beside.failure(reader, "lookup_order", {}, **stated) == "BUDGET_EXHAUSTED"


@both_ways
async def test_a_key_that_one_has_recorded_the_other_replays(beside: Beside, writer: str, reader: str) -> None:
    """A result that comes from the cache, which both may share, is not recorded."""
    stated = {"sessionId": new_name("session"), "idempotencyKey": new_name("key")}
    asked = {"query": "school", "max_results": 2 if writer == "last" else 3}
    first = await beside.call(writer, SEARCH, asked, **stated)
    again = await beside.call(reader, SEARCH, asked, **stated)
    assert ids(again["results"]) == ids(first["results"])
    assert await beside.failure(reader, SEARCH, {"query": "cooking"}, **stated) == "VALIDATION_ERROR"


@both_ways
async def test_a_preference_is_obeyed_and_forgotten_by_both(beside: Beside, writer: str, reader: str) -> None:
    user = new_name("user")
    before = await beside.call(reader, SEARCH, {"query": "action", "max_results": 10}, userId=user)
    await beside.call(writer, "remember_preference", {"preference": "only finished series"}, userId=user)
    for release in (writer, reader):
        found = await beside.call(release, SEARCH, {"query": "action", "max_results": 10}, userId=user)
        assert ids(found["results"]) != ids(before["results"])
        assert {row["status"] for row in found["results"]} == {"Finished"}
        assert "only finished series" in await beside.read(release, "manga://profile", userId=user)
    await beside.call(reader, "forget_preference", {"preference": "all"}, userId=user)
    found = await beside.call(writer, SEARCH, {"query": "action", "max_results": 10}, userId=user)
    assert ids(found["results"]) == ids(before["results"])


@both_ways
async def test_a_profile_is_read_alike(beside: Beside, writer: str, reader: str) -> None:
    """What a customer looked at by one is in the profile of the other, and their recommendations are the same."""
    user = new_name("user")
    for query, title in (("pirates", ONE_PIECE), ("school", "manga-001002")):
        await beside.call(writer, SEARCH, {"query": query}, userId=user)
        await beside.call(writer, "get_manga_details", {"title_id": title}, userId=user)

    async def written() -> bool:
        return all([ONE_PIECE in await beside.read(each, "manga://profile", userId=user) for each in (writer, reader)])

    await until(written, SOON, "the profile has what was looked at")
    answers = [
        await beside.call(each, "get_recommendations", {"criteria": "pirates", "count": 5}, userId=user)
        for each in (writer, reader)
    ]
    assert ids(answers[0]["recommendations"]) == ids(answers[1]["recommendations"])


SAME: list[tuple[str, dict[str, Any]]] = [
    ("get_manga_details", {"title_id": ONE_PIECE}),
    (STOCK, {"title_ids": [ONE_PIECE, "manga-001002", "manga-001003"]}),
    ("get_ratings", {"title_ids": [ONE_PIECE, "manga-001002"]}),
    ("find_volumes", {"title_id": ONE_PIECE}),
    ("lookup_order", {}),
    ("lookup_order", {"order_id": "MNG-DEMO1001"}),
    (SEARCH, {"query": "One Piece"}),
    (SEARCH, {"query": "ワンピース"}),
]


async def test_both_answer_alike_from_the_same_records(beside: Beside) -> None:
    for tool, arguments in SAME:
        answers = [await beside.call(each, tool, arguments, userId="demo-user-1") for each in ("last", "this")]
        assert differences(*answers) == [], (tool, arguments)


@both_ways
async def test_a_cached_result_is_not_misread(beside: Beside, writer: str, reader: str) -> None:
    """The second time each answers from its cache, or the other's, with the same."""
    arguments = {"query": f"a story about cooking {new_name('in')}", "max_results": 4}
    answers = [await beside.call(each, SEARCH, arguments) for each in (writer, writer, reader, reader, writer)]
    assert all(ids(each["results"]) == ids(answers[0]["results"]) for each in answers)


async def test_a_flag_decides_alike_and_is_followed_by_both(beside: Beside) -> None:
    """For everyone, and for a share of the customers."""
    users = [f"customer-{number}" for number in range(24)]

    async def on(release: str) -> set[str]:
        asked = {"title_ids": [ONE_PIECE]}
        failures = [await beside.failure(release, "compare_prices", asked, userId=user) for user in users]
        assert set(failures) <= {"", "TOOL_NOT_FOUND"}
        return {user for user, failure in zip(users, failures, strict=True) if not failure}

    async def settled(wanted: int | None) -> set[str]:
        """How many have it, by both; None for some."""
        seen: list[set[str]] = []

        async def agreed() -> bool:
            seen[:] = [await on(each) for each in ("last", "this")]
            return seen[0] == seen[1] and (0 < len(seen[0]) < len(users) if wanted is None else len(seen[0]) == wanted)

        await until(agreed, SOON, f"both give it to {wanted or 'some'}")
        return seen[0]

    beside.stack.flags.set(enable_price_comparison_tool=True)
    await settled(len(users))
    beside.stack.flags.set(enable_price_comparison_tool={"percent": 50})
    await settled(None)
    beside.stack.flags.set()
    await settled(0)


@both_ways
async def test_a_stream_of_one_is_answered_by_the_other(beside: Beside, writer: str, reader: str) -> None:
    """HTTP+SSE, and a session of Streamable HTTP."""
    async with SseClient.to(beside.ports[writer]) as client:
        found = await client.call(SEARCH, {"query": "pirates", "max_results": 2})
        client.port = beside.ports[reader]
        stock = await client.call(STOCK, {})
        assert ids(stock["structuredContent"]["items"]) == ids(found["structuredContent"]["results"])
    async with Connection.to(beside.ports[writer]) as connection:
        begun = await connection.request("POST", "/mcp", INITIALIZE)
        held = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
        assert (await connection.request("POST", "/mcp", INITIALIZED, held)).status == 202
    for number, release in enumerate((reader, writer)):
        asked = call(SEARCH, {"query": "pirates"}, number=number)
        answer = await ask(beside.ports[release], "POST", "/mcp", asked, {**BOTH, **held})
        assert answer.status == 200, answer
        assert answer.json()["result"]["structuredContent"]["results"]


@both_ways
async def test_who_listens_to_one_hears_of_the_other(beside: Beside, writer: str, reader: str) -> None:
    """A change of their own history."""
    session = {"X-Session-ID": new_name("session")}
    async with SseClient.to(beside.ports[reader], session) as client:
        await client.post(message("resources/subscribe", {"uri": "manga://session/history"}, 900), session)
        await client.answer_to(900)

        async def heard() -> bool:
            await beside.call(writer, SEARCH, {"query": "pirates"}, sessionId=session["X-Session-ID"])
            await asyncio.sleep(0.2)
            return any(each.get("method") == "notifications/resources/updated" for each in client.heard)

        await until(heard, SOON, "the notification")


@both_ways
async def test_what_was_cut_is_whole_with_the_other(beside: Beside, writer: str, reader: str) -> None:
    session = new_name("session")
    stated = {"sessionId": session, "tokenBudget": 700, "turnId": new_name("turn")}
    result = await beside.result(writer, SEARCH, {"query": "action", "max_results": 20}, **stated)
    cut = result["structuredContent"]
    assert cut.get("truncated"), cut
    uri = f"manga://session/results/{result['_meta']['com.mangaassist/call']['callId']}"
    whole = json.loads(await beside.read(reader, uri, sessionId=session))
    assert len(json.dumps(whole)) > len(json.dumps(cut))


@pytest.mark.slow
@both_ways
async def test_a_start_without_backends_knows_what_the_other_has_kept(
    writer: str, reader: str, stack: Stack, beside: Beside, last: Release, tmp_path: Path
) -> None:
    """The last good flags, the stock that was seen last, popular titles: in Redis, for whoever finds nothing else."""
    releases, database = {"last": last, "this": THIS}, 1 + (writer == "last")
    settings = stack.settings(last) | {"MANGA_REDIS_URL": stack.redis.replace("/0", f"/{database}")}
    alone = {"MANGA_CATALOG_URL": CLOSED, "MANGA_STORE_URL": f"dynamodb://eu-west-1?endpoint={CLOSED}"}
    stack.flags.set(get_ratings=False)
    try:
        async with started(releases[writer], tmp_path, settings) as port:
            own = Beside(stack, {writer: port})
            await own.call(writer, SEARCH, {"query": "pirates"})
            await own.call(writer, STOCK, {"title_ids": [ONE_PIECE]})
            assert await own.failure(writer, "get_ratings", {"title_ids": [ONE_PIECE]}) == "TOOL_NOT_FOUND"
            await until(lambda: has_kept(settings["MANGA_REDIS_URL"]), SOON, "the snapshots are in Redis")
        stack.flags.mood = FAILING
        async with started(releases[reader], tmp_path, settings | alone) as port:
            own = Beside(stack, {reader: port})
            stock = (await own.result(reader, STOCK, {"title_ids": [ONE_PIECE]}))["structuredContent"]
            assert [row["availability"] for row in stock["items"]] == ["last_known"], stock
            found = await own.result(reader, SEARCH, {"query": "One Piece"})
            assert found["_meta"]["com.mangaassist/call"]["fallback"] == "cached_popular_manga"
            assert ONE_PIECE in ids(found["structuredContent"]["results"])
            assert await own.failure(reader, "get_ratings", {"title_ids": [ONE_PIECE]}) == "TOOL_NOT_FOUND"
    finally:
        stack.flags.mood = WELL
        stack.flags.set()


@asynccontextmanager
async def started(release: Release, folder: Path, settings: Mapping[str, str]) -> AsyncIterator[int]:
    own = {name.removeprefix("MANGA_").lower(): value for name, value in settings.items()}
    async with serving(tree=release.tree, data_dir=folder, **own) as process:
        yield process.port


async def has_kept(redis: str) -> bool:
    client = Redis.from_url(redis)
    try:
        names = [name.decode() async for name in client.scan_iter("manga:mcp:snapshot:*")]
        return len(names) >= 2 and bool([name async for name in client.scan_iter("manga:mcp:flags:*")])
    finally:
        await client.aclose()
