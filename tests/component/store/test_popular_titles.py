"""The snapshot of popular titles, from a real catalogue that may be away."""

from __future__ import annotations

import asyncio

import pytest

from session.redis.multiplexed import MultiplexedRedis
from tests.support.snapshots import Away, memory_over
from tests.support.store import Mood, Shelf
from tests.support.valkey import ask, eventually
from tools.store.catalog import popular as module
from tools.store.catalog.popular import PopularTitles, titles_snapshot
from tools.store.models import Conditions, Title


async def test_snapshot_is_empty_until_the_catalogue_has_answered(shelf: Shelf) -> None:
    catalog = shelf.in_moods().catalog
    popular = PopularTitles(catalog)
    catalog.mood = Mood.FAILS
    assert not await popular.refresh()
    assert popular.index.list_ordered(Conditions(), None, 5) == ()
    assert popular.index.by_id.get("manga-000001") is None
    catalog.mood = Mood.WORKS
    assert await popular.refresh()
    assert [title.popularity_rank for title in popular.index.list_ordered(Conditions(), None, 3)] == [1, 2, 3]
    assert popular.index.by_id.get("manga-000006") is not None
    assert popular.index.by_id.get("manga-999999") is None


async def test_failing_catalogue_leaves_the_last_snapshot(shelf: Shelf) -> None:
    catalog = shelf.in_moods().catalog
    popular = PopularTitles(catalog)
    await popular.refresh()
    catalog.mood = Mood.FAILS
    assert not await popular.refresh()
    assert len(popular.index.list_ordered(Conditions(), None, 50)) == 6


async def test_empty_catalogue_leaves_the_last_snapshot(shelf: Shelf) -> None:
    class Empty:
        async def popular(self, *_: object) -> tuple[()]:
            return ()

    popular = PopularTitles(shelf.in_moods().catalog)
    await popular.refresh()
    popular.catalog = Empty()  # type: ignore[assignment]
    assert await popular.refresh()
    assert len(popular.index.titles) == 6


async def test_new_process_loads_the_snapshot_of_another_from_redis(shelf: Shelf, redis: MultiplexedRedis) -> None:
    one = PopularTitles(shelf.in_moods().catalog, titles_snapshot(memory_over(redis)))
    await one.refresh()
    (key,) = await ask(redis, "KEYS", "manga:mcp:snapshot:*")
    assert 86_000 < await ask(redis, "TTL", key) <= 86_400
    away = shelf.in_moods().catalog
    away.mood = Mood.FAILS
    two = PopularTitles(away, titles_snapshot(memory_over(redis)))
    assert await two._round() == module.RETRY_SECONDS
    assert two.index.list_ordered(Conditions(), None, 50) == one.index.list_ordered(Conditions(), None, 50)
    assert two.index.by_id["manga-000003"] == one.index.by_id["manga-000003"]
    away.mood = Mood.WORKS
    assert await two._round() == module.REFRESH_SECONDS


async def test_stored_snapshot_does_not_replace_what_the_catalogue_answered(shelf: Shelf, redis: MultiplexedRedis) -> None:
    kept = titles_snapshot(memory_over(redis))
    await kept.save((Title("manga-000099", en="Long ago"),), 60)
    popular = PopularTitles(shelf.in_moods().catalog, kept)
    await popular.refresh()
    await kept.save((Title("manga-000099", en="Long ago"),), 60)
    assert await popular.recall()
    assert popular.index.by_id.get("manga-000099") is None


async def test_snapshot_works_without_redis(shelf: Shelf) -> None:
    popular = PopularTitles(shelf.in_moods().catalog, titles_snapshot(memory_over(Away())))
    assert not await popular.recall()
    assert await popular.refresh()
    assert len(popular.index.titles) == 6


async def test_popular_titles_satisfy_the_filters(shelf: Shelf) -> None:
    popular = PopularTitles(shelf.in_moods().catalog)
    await popular.refresh()
    assert [t.en for t in popular.index.list_ordered(Conditions(genres=("shonen",), min_rating=4.6), None, 9)] == [
        "Pirate Sea"
    ]
    assert [t.en for t in popular.index.list_ordered(Conditions(author="Urasawa"), None, 9)] == ["Monster Hunter Doctor"]


async def test_snapshot_is_kept_warm_through_failures(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.001)
    catalog = shelf.in_moods().catalog
    catalog.mood = Mood.FAILS
    popular = PopularTitles(catalog)
    warming = asyncio.create_task(popular.keep_warm())
    await eventually(lambda: len(catalog.asked) > 3)
    catalog.mood = Mood.WORKS
    await eventually(lambda: popular.index.by_id.get("manga-000001"))
    assert not warming.done()
    warming.cancel()
    await asyncio.gather(warming, return_exceptions=True)


async def test_new_process_without_catalogue_and_redis_uses_the_store_records(
    shelf: Shelf,
) -> None:
    """It uses them without waiting for the catalogue."""
    backends = shelf.in_moods()
    backends.catalog.mood = Mood.HANGS
    popular = PopularTitles(backends.catalog, titles_snapshot(memory_over(Away())), records=backends.titles)
    warming = asyncio.create_task(popular.keep_warm())
    await eventually(lambda: popular.index.by_id.get("manga-000001"))
    assert [title.popularity_rank for title in popular.index.list_ordered(Conditions(), None, 3)] == [1, 2, 3]
    assert [title.en for title in popular.index.find_by_name("pirate sea", Conditions(), 5)] == ["Pirate Sea"]
    assert popular.index.match_names(["海賊の海"])["海賊の海"].title_ids == ("manga-000001",)
    backends.catalog.mood = Mood.WORKS
    warming.cancel()
    await asyncio.gather(warming, return_exceptions=True)


async def test_warm_loads_the_stored_snapshot_and_waits_a_second_at_most(
    shelf: Shelf, redis: MultiplexedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    backends, kept = shelf.in_moods(), titles_snapshot(memory_over(redis))
    backends.catalog.mood = Mood.HANGS
    await kept.save((Title("manga-000099", en="Long ago"),), 60)
    popular = PopularTitles(backends.catalog, kept)
    await popular.warm()
    assert list(popular.index.by_id) == ["manga-000099"]
    monkeypatch.setattr(module, "WARM_SECONDS", 0.01)
    backends.titles.mood = Mood.HANGS
    nothing = PopularTitles(backends.catalog, records=backends.titles)
    await nothing.warm()
    assert not nothing.index.titles


async def test_unreadable_records_leave_the_snapshot_empty_and_are_retried(shelf: Shelf) -> None:
    backends = shelf.in_moods()
    backends.catalog.mood = backends.titles.mood = Mood.FAILS
    popular = PopularTitles(backends.catalog, records=backends.titles)
    assert await popular._round() == module.RETRY_SECONDS
    assert popular.index.titles == ()
    backends.titles.mood = Mood.WORKS
    assert await popular._round() == module.RETRY_SECONDS
    assert len(popular.index.titles) == 6
