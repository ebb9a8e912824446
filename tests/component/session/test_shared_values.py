"""What one tool leaves for the next by name, so that a shopper need not say it again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from session.failures import MemoryUnavailable
from session.redis.keyvalue import Reply, Step
from session.resilience.deadline import Deadline
from tests.support.pipeline import Kit

pytestmark = pytest.mark.virtual_time

SEARCH, DETAILS, STOCK, VOLUMES = "search_manga_catalog", "get_manga_details", "check_inventory", "find_volumes"
OWN = {"session": "s", "user": "u"}
NEXT = {"volume": "next"}
EVERY = {"query": "story", "max_results": 3}
TAKEN = "No title was named: this is of Chess Ghost, which was looked at last."


async def shared(kit: Kit, **whose: str) -> dict[str, str]:
    return dict((await kit.memory.recall("s", **{"user": "u", **whose})).shared)


async def test_a_volume_without_a_title_is_of_the_title_that_was_looked_at_and_says_so(kit: Kit) -> None:
    """ "When does the next one come out?" after its details."""
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    answer = await kit.ask(VOLUMES, NEXT, **OWN)
    assert (answer.value["title_id"], answer.note.startswith(TAKEN)) == ("manga-000002", True)
    again = await kit.ask(VOLUMES, {"volume": "1"}, **OWN)
    assert again.value["title_id"] == "manga-000002", "and it is still talked of"


async def test_a_search_that_finds_one_title_is_about_it(kit: Kit) -> None:
    await kit.ask(SEARCH, {"query": "chess ghost", "max_results": 1}, **OWN)
    assert (await kit.ask(VOLUMES, NEXT, **OWN)).value["title_id"] == "manga-000002"


async def test_of_several_titles_none_is_meant_by_itself(kit: Kit) -> None:
    """A list came between: the model is to say which, and is told how."""
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    await kit.ask(SEARCH, EVERY, **OWN)
    answer = await kit.ask(VOLUMES, NEXT, **OWN)
    assert answer.failure == "VALIDATION_ERROR"
    assert "pass its title_id too" in answer.result["structuredContent"]["error"]["message"]
    assert await shared(kit) == {}


async def test_a_search_that_finds_nothing_leaves_what_was_talked_of(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    await kit.ask(SEARCH, {"query": "qqqq zzzz"}, **OWN)
    assert (await shared(kit))["title_id"] == "manga-000002"


async def test_stock_without_ids_is_of_what_was_shown_and_without_a_list_of_the_title_looked_at(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    title = await kit.ask(STOCK, {}, **OWN)
    assert (title.value["checked"], [row["title_id"] for row in title.value["items"]]) == ("last_title", ["manga-000002"])
    await kit.ask(SEARCH, EVERY, **OWN)
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    listed = await kit.ask(STOCK, {}, **OWN)
    assert (listed.value["checked"], len(listed.value["items"])) == ("last_search", 3)


async def test_the_order_that_was_looked_up_is_known_in_its_owners_session_alone(kit: Kit) -> None:
    await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, **OWN)
    assert await shared(kit) == {"order_id": "MNG-UUUU0001"}
    assert await shared(kit, user="v") == {}
    reminded = await kit.ask(DETAILS, {"title_id": "manga-000002"}, history=1, **OWN)
    assert "Last order: MNG-UUUU0001" in reminded.result["_meta"]["com.mangaassist/history"]
    await kit.memory.forget("s", "u")
    assert await shared(kit) == {}


async def test_nobody_gets_the_title_that_another_looked_at(kit: Kit) -> None:
    await kit.ask(DETAILS, {"title_id": "manga-000002"}, **OWN)
    for other in ({"session": "s", "user": "v"}, {"session": "s"}, {"session": "t", "user": "u"}, {"user": "u"}):
        assert (await kit.ask(VOLUMES, NEXT, **other)).failure == "VALIDATION_ERROR"


async def test_what_redis_did_not_take_counts_for_more_than_what_it_has(kit: Kit) -> None:
    """A title that was looked at before would be the wrong one."""
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
