"""A tool leaves values for the next one, so that a shopper need not repeat them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from session.failures import MemoryUnavailable
from session.redis.keyvalue import Reply, Step
from session.resilience.deadline import Deadline
from tests.support.pipeline import Kit, Opener
from tools.contract import TEXT, Json, Tool, ToolContext
from tools.registry import TOOLS, Registry, ToolRefused
from tools.schema.parts import answer, arguments

pytestmark = pytest.mark.virtual_time

SEARCH, DETAILS, STOCK, VOLUMES = "search_manga_catalog", "get_manga_details", "check_inventory", "find_volumes"
OWN = {"session": "s", "user": "u"}
NEXT = {"volume": "next"}
EVERY = {"query": "story", "max_results": 3}
TAKEN = "No title was named: this is of Chess Ghost, which was looked at last."


async def shared(kit: Kit, **whose: str) -> dict[str, str]:
    return dict((await kit.memory.recall("s", **{"user": "u", **whose})).shared)


async def test_volume_query_without_a_title_uses_the_title_last_looked_at(kit: Kit) -> None:
    """The customer asks "When does the next one come out?" after the title's details."""
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    answer = await kit.ask(VOLUMES, NEXT, **OWN)
    assert (answer.value["title_id"], answer.note.startswith(TAKEN)) == ("manga-000002", True)
    again = await kit.ask(VOLUMES, {"volume": "1"}, **OWN)
    assert again.value["title_id"] == "manga-000002", "and it is still talked of"


async def test_search_with_one_result_sets_the_current_title(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "chess ghost", "max_results": 1}, **OWN)
    assert (await kit.ask(VOLUMES, NEXT, **OWN)).value["title_id"] == "manga-000002"


async def test_search_with_several_results_clears_the_current_title(kit: Kit) -> None:
    """After a list the model has to name the title, and is told how."""
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    await kit.ask(SEARCH, EVERY, **OWN)
    answer = await kit.ask(VOLUMES, NEXT, **OWN)
    assert answer.failure == "VALIDATION_ERROR"
    assert "pass its title_id too" in answer.result["structuredContent"]["error"]["message"]
    assert await shared(kit) == {}


async def test_search_without_results_keeps_the_current_title(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    await kit.ask(SEARCH, {"query": "qqqq zzzz"}, **OWN)
    assert (await shared(kit))["title_id"] == "manga-000002"


async def test_stock_without_ids_uses_the_last_list_else_the_current_title(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    title = await kit.ask(STOCK, {}, **OWN)
    assert (title.value["checked"], [row["title_id"] for row in title.value["items"]]) == ("last_title", ["manga-000002"])
    await kit.ask(SEARCH, EVERY, **OWN)
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    listed = await kit.ask(STOCK, {}, **OWN)
    assert (listed.value["checked"], len(listed.value["items"])) == ("last_search", 3)


async def test_last_order_is_known_in_its_owners_session_only(kit: Kit) -> None:
    await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, **OWN)
    assert await shared(kit) == {"order_id": "MNG-UUUU0001"}
    assert await shared(kit, user="v") == {}
    reminded = await kit.ask(DETAILS, {"title_id": "manga-000002"}, history=1, **OWN)
    assert "Last order: MNG-UUUU0001" in reminded.result["_meta"]["com.mangaassist/history"]
    await kit.memory.forget("s", "u")
    assert await shared(kit) == {}


async def test_current_title_of_another_user_or_session_is_not_used(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    for other in ({"session": "s", "user": "v"}, {"session": "s"}, {"session": "t", "user": "u"}, {"user": "u"}):
        assert (await kit.ask(VOLUMES, NEXT, **other)).failure == "VALIDATION_ERROR"


async def test_title_not_yet_written_to_redis_precedes_the_stored_one(kit: Kit) -> None:
    """The stored title was looked at earlier and would be the wrong one."""
    await kit.ask(DETAILS, {"title_id": "manga-000001"}, **OWN)
    inner, trips = kit.redis.inner, len(kit.redis.trips)

    class OnlyBegins:
        async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
            if len(kit.redis.trips) > trips + 1:
                raise MemoryUnavailable("away")
            return await inner.trip(steps, deadline)

        async def aclose(self) -> None: ...

    kit.redis.inner = OnlyBegins()
    lost = await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    assert lost.meta["degraded"] == ["session"]
    kit.redis.inner = inner
    assert (await kit.ask(VOLUMES, NEXT, **OWN)).value["title_id"] == "manga-000002"


RATINGS, RECOMMEND = "get_ratings", "get_recommendations"


async def test_ratings_without_ids_use_the_titles_shown_last(kit: Kit) -> None:
    refused = await kit.ask(RATINGS, {}, **OWN)
    assert (refused.failure, "nothing was shown" in refused.result["structuredContent"]["error"]["message"]) == (
        "VALIDATION_ERROR",
        True,
    )
    await kit.ask(SEARCH, EVERY, **OWN)
    several = await kit.ask(RATINGS, {}, **OWN)
    assert (len(several.value["ratings"]), several.note) == (3, "No title was named: these are of the last search (story).")
    await kit.ask(SEARCH, {"query": "qqqq zzzz"}, **OWN)
    nothing = await kit.ask(RATINGS, {"title_ids": []}, **OWN)
    assert (nothing.value["ratings"], "found nothing" in nothing.note) == ([], True)


async def test_details_without_an_id_use_the_single_title_shown(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "chess ghost", "max_results": 1}, **OWN)
    one = await kit.ask(DETAILS, {}, **OWN)
    assert (one.value["title_id"], one.note, one.value["in_stock"] is None) == ("manga-000002", TAKEN, False)
    await kit.ask(SEARCH, EVERY, **OWN)
    several = await kit.ask(DETAILS, {}, **OWN)
    assert (several.failure, "title_id of one" in several.result["structuredContent"]["error"]["message"]) == (
        "VALIDATION_ERROR",
        True,
    )


async def test_volumes_without_arguments_use_the_current_title_unless_a_month_is_given(kit: Kit) -> None:
    month = (await kit.ask(VOLUMES, {}, **OWN)).value
    assert "title_id" not in month
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    assert (await kit.ask(VOLUMES, {"month": "2026-11"}, **OWN)).value.get("title_id") is None
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    answer = await kit.ask(VOLUMES, {}, **OWN)
    assert (answer.value["title_id"], answer.note.startswith(TAKEN)) == ("manga-000002", True)


async def test_results_about_session_state_are_not_cached_across_sessions(kit: Kit) -> None:
    for session, title in (("s", "manga-000002"), ("t", "manga-000001")):
        await kit.ask(DETAILS, {"title_id": title}, session=session, user="u")
    answers = [(await kit.ask(each, {}, session=session, user="u")) for each in (DETAILS, RATINGS) for session in "st"]
    ids = [each.value.get("title_id") or each.value["ratings"][0]["title_id"] for each in answers]
    assert (ids, {each.meta["source"] for each in answers}) == (["manga-000002", "manga-000001"] * 2, {"live"})


def keeper(**more: Any) -> Tool:
    """Leaves the word that it is given, under keys of its own."""

    async def keep(context: ToolContext, asked: Json) -> Json:
        return {"word": asked.get("word", "")}

    given: dict[str, Any] = {"shares": lambda result: {"keeper.word": result["word"]}, "leaves": ("keeper.word",)} | more
    word = {"type": "string", "maxLength": 5000}
    return Tool(
        "keeper", "Keep", "Keeps.", arguments({"word": word}), answer({"word": word}, ["word"]), keep, 100, str, **given
    )


def teller(**more: Any) -> Tool:
    async def tell(context: ToolContext, asked: Json) -> Json:
        return {"shared": dict(context.shared)}

    given: dict[str, Any] = {"reads": ("keeper.word", "title_id")} | more
    return Tool(
        "teller",
        "Tell",
        "Tells.",
        arguments({}),
        answer({"shared": {"type": "object"}}, ["shared"]),
        tell,
        100,
        str,
        **given,
    )


async def test_tool_reads_only_the_shared_keys_it_declares(opener: Opener) -> None:
    kit = await opener(tools=(*TOOLS, keeper(), teller(), replace(teller(reads=()), name="deaf")))
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    await kit.ask("keeper", {"word": "紙"}, **OWN)
    assert (await kit.ask("teller", {}, **OWN)).value["shared"] == {"keeper.word": "紙", "title_id": "manga-000002"}
    assert (await kit.ask("deaf", {}, **OWN)).value["shared"] == {}
    assert (await kit.ask("teller", {}, session="t", user="u")).value["shared"] == {}
    kit.redis.inner.away = True  # type: ignore[attr-defined]
    assert (await kit.ask("teller", {}, **OWN)).value["shared"]["keeper.word"] == "紙", "as this process knows it"


async def test_undeclared_or_oversized_shared_value_is_dropped_and_logged(
    opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    loose = keeper(shares=lambda result: {"keeper.word": result["word"], "keeper.other": "x", "title_idd": "y"})
    kit = await opener(tools=(*TOOLS, loose, teller()))
    await kit.ask("keeper", {"word": "x" * 1001}, **OWN)
    assert await shared(kit) == {}
    assert [each for each in ("keeper.word", "keeper.other", "title_idd") if f"share '{each}'" not in caplog.text] == []
    await kit.ask("keeper", {"word": "x" * 1000}, **OWN)
    assert await shared(kit) == {"keeper.word": "x" * 1000}


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (keeper(leaves=()), "it shares values under no declared key"),
        (keeper(leaves=("word",)), "take title_id, title, order_id, or a key of the form keeper.key"),
        (keeper(leaves=("teller.word",)), "a key of the form keeper.key"),
        (keeper(leaves=("keeper.Word",)), "a key of the form keeper.key"),
        (keeper(leaves=tuple(f"keeper.k{n}" for n in range(9))), "its leaves is no tuple of at most 8 keys"),
        (teller(reads=("words",)), "a key of the form TOOL.key"),
        (teller(reads=("keeper.other",)), "its reads has 'keeper.other', which keeper does not leave"),
        (teller(cache=TEXT), "it reads what a session holds"),
    ],
)
def test_tool_with_an_undeclared_shared_key_is_refused_at_load(tool: Tool, why: str) -> None:
    registry = Registry(() if tool.name == "keeper" else (keeper(),))
    with pytest.raises(ToolRefused, match=re.escape(why)):
        registry.compile_tool(tool, "1", "a-package")
