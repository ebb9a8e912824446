"""get_ratings, through the whole pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calling import called, opened
from tests.support.calls import age
from tests.support.pipeline import Kit
from tests.support.store import Mood
from tests.support.valkey import eventually

ONE_PIECE, NOWHERE = "manga-001001", "manga-999999"


async def test_stars_sum_to_the_count_and_average_to_the_rating(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        result = (await called(app, "get_ratings", {"title_ids": [ONE_PIECE]}))["structuredContent"]
    (rated,) = result["ratings"]
    assert (rated["title"], rated["count"], result["missing"]) == ("One Piece", 400_000, [])
    assert sum(rated["stars"].values()) == rated["count"]
    mean = sum(int(stars) * count for stars, count in rated["stars"].items()) / rated["count"]
    assert mean == pytest.approx(rated["rating"], abs=0.01)


async def test_unknown_titles_are_listed_beside_the_rated_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        some = (await called(app, "get_ratings", {"title_ids": [NOWHERE, ONE_PIECE, NOWHERE]}))["structuredContent"]
        none = (await called(app, "get_ratings", {"title_ids": [NOWHERE]}))["structuredContent"]
    assert [rated["title"] for rated in some["ratings"]] == ["One Piece"]
    assert some["missing"] == [NOWHERE]
    assert "ids that this store does not know" in some["note"]
    assert none["error"]["name"] == "NOT_FOUND"


KNOWN, UNRATED = "manga-000001", "manga-000006"


@pytest.mark.virtual_time
async def test_stale_ratings_are_served_and_refreshed_behind_the_answer(kit: Kit) -> None:
    first = await kit.ask("get_ratings", {"title_ids": [KNOWN, UNRATED]})
    await age(kit, 301)
    stale = await kit.ask("get_ratings", {"title_ids": [KNOWN, UNRATED]})
    assert (stale.meta["source"], stale.value["ratings"]) == ("stale", first.value["ratings"])
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert (await kit.ask("get_ratings", {"title_ids": [KNOWN, UNRATED]})).meta["source"] == "cache"
    assert [rated["rating"] for rated in first.value["ratings"]] == [4.8, None]
    assert [rated["stars"] for rated in first.value["ratings"]] == [None, None], "what nobody counted is not made up"


@pytest.mark.virtual_time
async def test_last_known_ratings_are_used_while_all_backends_fail(kit: Kit) -> None:
    await kit.store.popular.refresh()
    kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
    answer = await kit.ask("get_ratings", {"title_ids": [KNOWN, NOWHERE]})
    assert (answer.meta["source"], answer.meta["fallback"]) == ("fallback", "last_known_ratings")
    assert [rated["title_id"] for rated in answer.value["ratings"]] == [KNOWN]
    assert "Titles in missing cannot be read right now." in answer.note
    assert (await kit.ask("get_ratings", {"title_ids": [NOWHERE]})).failure == "DEPENDENCY_FAILURE"
