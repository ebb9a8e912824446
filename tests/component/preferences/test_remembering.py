"""Views and searches are recorded behind the answers, and change only that user's recommendations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from server.identity.request_metadata import TrustTokens
from session.profile import Event
from session.redis.multiplexed import MultiplexedRedis
from session.resilience.deadline import Deadline
from tests.support.pipeline import Kit, Opener, opening_kits
from tests.support.store import BAD, Mood, Shelf, held_shelf
from tests.support.valkey import ask, eventually
from tools.get_recommendations import MAY_BE_OWNED

VIEWED = {"title_id": "manga-000001"}
STORY = {"criteria": "tale", "count": 3}

# Two kinds of titles, alike within a kind; by fame they alternate.
RECORDS: list[dict[str, Any]] = [
    {
        "title_id": f"manga-{n:06}",
        "title": {"en": f"{kind} {n}"},
        "tags": tags,
        "popularity_rank": n,
        "synopsis": {"en": "It is a tale."},
    }
    for n, (kind, tags) in enumerate([("Sea", ["Pirates", "Ships"]), ("House", ["Ghosts", "Horror"])] * 5, start=1)
]


pytestmark = pytest.mark.virtual_time


@pytest.fixture(scope="session")
def two_kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with held_shelf(tmp_path_factory.mktemp("two-kinds"), RECORDS) as shelf:
        yield shelf


@pytest.fixture
async def opener(redis: MultiplexedRedis, two_kinds: Shelf) -> AsyncIterator[Opener]:
    async with opening_kits(redis, two_kinds.in_moods) as opener:
        yield opener


async def known(kit: Kit, user: str) -> list[tuple[str, str]]:
    """What is in a user's profile, the oldest first."""
    profile = await kit.backends.profiles.inner.recall(user, Deadline.after(5))
    return [(str(each.kind), each.subject) for each in reversed(profile.events)]


async def written(kit: Kit, number: int) -> None:
    await eventually(lambda: len(kit.profile_events) >= number)
    assert kit.profile_events == ["written"] * number


def told(kit: Kit) -> list[list[tuple[str, Event]]]:
    """Trip by trip."""
    return [arguments[0] for method, arguments in kit.backends.profiles.asked if method == "remember"]


# -- what it changes


async def test_viewed_title_changes_the_recommendations_of_that_user_only(opener: Opener) -> None:
    kit: Kit = await opener(cache=False)
    before = {user: await kit.ask("get_recommendations", STORY, user=user) for user in ("reader", "other", None)}
    assert {answer.value["recommendations"][0]["title_id"] for answer in before.values()} == {"manga-000001"}
    await kit.ask("get_manga_details", {"title_id": "manga-000002"}, user="reader")
    await written(kit, 1)
    after = {user: await kit.ask("get_recommendations", STORY, user=user) for user in ("reader", "other", None)}
    assert [after[user].value for user in ("other", None)] == [before[user].value for user in ("other", None)]
    mine = after["reader"].value
    assert mine["based_on"] == ["criteria", "views", "popularity"]
    assert mine["recommendations"] != before["reader"].value["recommendations"]
    assert any("House 2, which you looked at" in card["reason"] for card in mine["recommendations"])
    assert after["reader"].meta["degraded"] == []


async def test_viewed_title_may_still_be_recommended(kit: Kit) -> None:
    await kit.ask("get_manga_details", VIEWED, user="reader")
    await written(kit, 1)
    answer = await kit.ask("get_recommendations", STORY | {"count": 10}, user="reader")
    reasons = {card["title_id"]: card["reason"] for card in answer.value["recommendations"]}
    assert "ou looked at it before" in reasons["manga-000001"]


async def test_owned_title_that_was_viewed_counts_as_owned(kit: Kit) -> None:
    """User u has bought the title."""
    await kit.ask("get_manga_details", VIEWED, user="u")
    await written(kit, 1)
    answer = await kit.ask("get_recommendations", STORY | {"count": 10}, user="u")
    assert answer.value["based_on"] == ["criteria", "purchases", "popularity"]
    assert "manga-000001" not in {card["title_id"] for card in answer.value["recommendations"]}
    assert any("which you have" in card["reason"] for card in answer.value["recommendations"])


async def test_searched_theme_is_used_for_recommendations(opener: Opener) -> None:
    kit: Kit = await opener(cache=False)
    await kit.ask("search_manga_catalog", {"query": "怖い漫画"}, user="reader")
    await written(kit, 1)
    answer = await kit.ask("get_recommendations", {"criteria": "tale", "count": 1}, user="reader")
    assert answer.value["based_on"] == ["criteria", "searches", "popularity"]


# -- what is remembered


async def test_details_and_searches_are_recorded_whether_live_or_cached(kit: Kit) -> None:
    """A query is recorded in its normalised form."""
    for user, source in (("other", "live"), ("reader", "cache")):
        assert (await kit.ask("get_manga_details", VIEWED, user=user)).meta["source"] == source
    long = "ＳＥＡ   Of\tＴｒｅｅｓ " * 20
    await kit.ask("search_manga_catalog", {"query": long}, user="reader")
    await written(kit, 3)
    for user in ("reader", "other"):
        assert [each for each in await known(kit, user) if each[0] == "viewed"] == [("viewed", "manga-000001")]
    (subject,) = [subject for kind, subject in await known(kit, "reader") if kind == "searched"]
    assert subject == ("sea of trees " * 20)[:100]


async def test_many_events_within_a_second_cost_one_write_and_repeats_none(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.stages.remember.COLLECT_SECONDS", 3600.0)
    for _ in range(3):
        for number in range(1, 7):
            for user in ("reader", "other"):
                await kit.ask("get_manga_details", {"title_id": f"manga-{number:06}"}, user=user)
    assert kit.backends.profiles.asked == []
    await kit.pipeline.profile_queue.aclose()
    (batch,) = told(kit)
    assert len(batch) == 12
    assert kit.profile_events == ["repeated"] * 24 + ["written"] * 12
    for user in ("reader", "other"):
        assert sorted(subject for _, subject in await known(kit, user)) == [f"manga-{n:06}" for n in range(1, 7)]


async def test_anonymous_calls_record_no_profile_event(kit: Kit) -> None:
    for tool, arguments in (
        ("get_manga_details", VIEWED),
        ("search_manga_catalog", {"query": "sea"}),
        ("get_recommendations", STORY),
    ):
        assert (await kit.ask(tool, arguments, session="s")).failure is None
    assert kit.backends.profiles.asked == []


async def test_unauthenticated_calls_record_no_profile_event(opener: Opener) -> None:
    kit: Kit = await opener(identifier=TrustTokens(["right"]))
    assert (await kit.ask("get_manga_details", VIEWED, user="reader", bearer="wrong")).failure == "FORBIDDEN"
    assert kit.backends.profiles.asked == []
    assert (await kit.ask("get_manga_details", VIEWED, user="reader", bearer="right")).failure is None
    await written(kit, 1)


async def test_failed_and_fallback_calls_record_no_profile_event(kit: Kit) -> None:
    """Wrong arguments, a missing title, a fallback and tools that view nothing are tried."""
    assert (await kit.ask("get_manga_details", {"title_id": "?"}, user="u")).failure == "VALIDATION_ERROR"
    assert (await kit.ask("get_manga_details", {"title_id": "manga-999999"}, user="u")).failure == "NOT_FOUND"
    await kit.ask("check_inventory", {"title_ids": ["manga-000001"]}, user="u")
    await kit.ask("lookup_order", {"order_id": "MNG-UUUU0001"}, user="u")
    kit.backends.catalog.mood = kit.backends.titles.mood = Mood.FAILS
    assert (await kit.ask("get_manga_details", VIEWED, user="u")).meta["source"] == "fallback"
    assert kit.backends.profiles.asked == []


async def test_stale_answer_and_its_refresh_record_one_event_only(kit: Kit) -> None:
    await kit.ask("get_manga_details", VIEWED, user="reader")
    (name,) = await ask(kit.redis, "KEYS", "manga:mcp:cache:*")
    made_at, _, text = (await ask(kit.redis, "GET", name)).partition(b" ")
    old = b"%d %s" % (int(made_at) - 301_000, text)
    await ask(kit.redis, "SET", name, old, "KEEPTTL")
    assert (await kit.ask("get_manga_details", VIEWED, user="other")).meta["source"] == "stale"
    await eventually(lambda: not kit.pipeline.cache.refreshes)
    assert await ask(kit.redis, "GET", name) != old
    await written(kit, 1)
    assert len(told(kit)) == 1


async def test_joined_calls_are_recorded_per_user_and_a_replay_once(kit: Kit) -> None:
    """The catalogue is asked once for both calls."""
    kit.backends.catalog.gate = asyncio.Event()
    calls = [kit.ask("get_manga_details", VIEWED, user=user, idempotency_key="k") for user in ("u", "v")]
    asked = asyncio.gather(*calls)
    await eventually(lambda: kit.pipeline.shed.under_way == 2 and kit.calls_of("get") == 1)
    kit.backends.catalog.gate.set()
    await asked
    await kit.ask("get_manga_details", VIEWED, user="u", idempotency_key="k")
    await written(kit, 2)
    assert [await known(kit, user) for user in ("u", "v")] == [[("viewed", "manga-000001")]] * 2


# -- when the backend is not well


@pytest.mark.parametrize("mood", BAD)
async def test_failing_profile_backend_only_labels_recommendations_as_degraded(opener: Opener, mood: Mood) -> None:
    """It never answers here, so a call that waited for it would not answer either."""
    kit: Kit = await opener()
    whole = await kit.ask("get_recommendations", STORY)
    kit.backends.profiles.mood = mood
    for tool, arguments in (("get_manga_details", VIEWED), ("search_manga_catalog", {"query": "sea"})):
        answer = await kit.ask(tool, arguments, user="reader")
        assert (answer.meta["source"], answer.meta["degraded"]) == ("live", [])
    for _ in range(2):  # what had to do without something is not cached
        answer = await kit.ask("get_recommendations", STORY, user="reader")
        assert (answer.meta["source"], answer.meta["degraded"]) == ("live", ["profile"])
        assert answer.value == whole.value
    await eventually(lambda: kit.profile_events == ["dropped"] * 2)


async def test_recommendations_miss_only_the_source_that_failed_orders_or_profile(opener: Opener) -> None:
    kit: Kit = await opener(cache=False)
    await kit.ask("get_manga_details", {"title_id": "manga-000002"}, user="u")
    await written(kit, 1)
    kit.backends.orders.mood = Mood.FAILS
    answer = await kit.ask("get_recommendations", STORY, user="u")
    assert (answer.value["based_on"], answer.meta["degraded"]) == (["criteria", "views", "popularity"], ["orders"])
    assert MAY_BE_OWNED in answer.note
    kit.backends.orders.mood, kit.backends.profiles.mood = Mood.WORKS, Mood.FAILS
    answer = await kit.ask("get_recommendations", STORY, user="u")
    assert (answer.value["based_on"], answer.meta["degraded"]) == (["criteria", "purchases", "popularity"], ["profile"])


@pytest.mark.parametrize(("broken", "seen"), [("orders", "INTERNAL_ERROR"), ("catalog", None)])
async def test_profile_read_is_cancelled_when_its_call_has_failed(kit: Kit, broken: str, seen: str | None) -> None:
    """The read must not outlive its call."""
    kit.backends.profiles.gate = asyncio.Event()
    getattr(kit.backends, broken).mood = Mood.BREAKS if seen else Mood.FAILS
    assert (await kit.ask("get_recommendations", STORY, user="u")).failure == seen
    assert (kit.calls_of("recall"), kit.backends.profiles.cancelled) == (1, 1)


async def test_logs_and_events_contain_nothing_of_a_profile(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await kit.ask("search_manga_catalog", {"query": "my secret wish"}, user="a-user-of-mine")
    await written(kit, 1)
    kit.backends.profiles.mood = Mood.BREAKS
    await kit.ask("search_manga_catalog", {"query": "another secret wish"}, user="a-user-of-mine")
    await eventually(lambda: kit.profile_events == ["written", "dropped"])
    assert "could not be written" in caplog.text
    for shown in (caplog.text, repr(kit.events)):
        assert "secret wish" not in shown
        assert "a-user-of-mine" not in shown
