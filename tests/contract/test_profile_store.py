"""What every store of profiles does, in each implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from session.profile import KEPT_DAYS, LONGEST_SUBJECT, RECALLED, Event, EventKind, Profile
from session.resilience.deadline import Deadline
from tests.support.cases import cases
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.failures import TimedOut
from tools.store.ports import ProfilePort

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
USERS = ["reader", "Reader", "reader ", "", "読者・太郎 🐟", "r" * 255, "caf\u00e9", "cafe\u0301", "\ud800", "anonymous"]


def event(subject: str, minutes_ago: float = 0, kind: EventKind = EventKind.VIEWED) -> Event:
    return Event.make_event(kind, subject, NOW - timedelta(minutes=minutes_ago))


@pytest.fixture(params=["embedded", "shared", "dynamodb"])
async def profiles(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProfilePort]:
    if request.param == "embedded":
        yield EmbeddedCustomers(clock=lambda: NOW)
        return
    if request.param == "shared":
        with closing(EmbeddedCustomers(tmp_path / "people.db", lambda: NOW)) as file:
            yield file
        return
    address = request.getfixturevalue("dynamodb_address")
    async with DynamoStore.open(address, clock=lambda: NOW) as store:
        yield store.profiles


async def test_new_user_has_an_empty_profile(profiles: ProfilePort, soon: Deadline) -> None:
    assert await profiles.recall("reader", soon) == Profile()


async def test_events_are_recalled_latest_first(profiles: ProfilePort, soon: Deadline) -> None:
    told = [event("manga-2", 2), event("狼と 香辛料 🐺", 0, EventKind.SEARCHED), event("manga-3", 3, EventKind.SEARCHED)]
    for each in told:
        await profiles.remember([("reader", each)], soon)
    assert (await profiles.recall("reader", soon)).events == (told[1], told[0], told[2])


async def test_repeated_event_counts_once(profiles: ProfilePort, soon: Deadline) -> None:
    for told in (1, 2, 3):
        await profiles.remember([("reader", event("manga-1"))] * told, soon)
    assert (await profiles.recall("reader", soon)).events == (event("manga-1"),)


async def test_events_of_one_moment_are_all_kept(profiles: ProfilePort, soon: Deadline) -> None:
    """Parallel calls of a turn happen in the same millisecond."""
    told = {event(f"manga-{n}", kind=kind) for n in range(5) for kind in EventKind}
    await asyncio.gather(*(profiles.remember([("reader", each)], soon) for each in told))
    assert set((await profiles.recall("reader", soon)).events) == told


@cases("at_once", [True, False], ids=["in one batch", "one by one"])
async def test_events_of_users_are_kept_apart(profiles: ProfilePort, soon: Deadline, at_once: bool) -> None:
    told = [(user, event(f"manga-{number}")) for number, user in enumerate(USERS)]
    for entries in [told] if at_once else [[each] for each in told]:
        await profiles.remember(entries, soon)
    for number, user in enumerate(USERS):
        assert (await profiles.recall(user, soon)).events == (event(f"manga-{number}"),)
    assert await profiles.recall("reade", soon) == Profile()


async def test_same_event_of_two_users_is_kept_for_both(profiles: ProfilePort, soon: Deadline) -> None:
    await profiles.remember([("reader", event("manga-1")), ("another", event("manga-1"))], soon)
    for user in ("reader", "another"):
        assert (await profiles.recall(user, soon)).events == (event("manga-1"),)


async def test_remembering_no_events_is_no_error(profiles: ProfilePort, soon: Deadline) -> None:
    await profiles.remember([], soon)
    assert await profiles.recall("reader", soon) == Profile()


async def test_recall_is_bounded_to_the_latest_events(profiles: ProfilePort, soon: Deadline) -> None:
    told = [event(f"manga-{n}", n) for n in range(RECALLED + 20)]
    await profiles.remember([("reader", each) for each in told], soon)
    assert list((await profiles.recall("reader", soon)).events) == told[:RECALLED]


async def test_event_older_than_half_a_year_is_not_recalled(profiles: ProfilePort, soon: Deadline) -> None:
    """The limit is exact, although DynamoDB takes days to remove expired items."""
    day = 24 * 60
    for minutes in (KEPT_DAYS * day + 1, KEPT_DAYS * day - 1):
        await profiles.remember([("reader", event(f"{minutes}", minutes))], soon)
    assert [each.subject for each in (await profiles.recall("reader", soon)).events] == [f"{KEPT_DAYS * day - 1}"]


async def test_forgotten_user_has_an_empty_profile_and_others_keep_theirs(profiles: ProfilePort, soon: Deadline) -> None:
    told = [event(f"manga-{n}", n) for n in range(60)]
    await profiles.remember([*(("reader", each) for each in told), ("another", event("manga-1"))], soon)
    await profiles.forget("reader", soon)
    await profiles.forget("reader", soon)
    await profiles.forget("a stranger", soon)
    assert await profiles.recall("reader", soon) == Profile()
    assert (await profiles.recall("another", soon)).events == (event("manga-1"),)


async def test_last_returns_each_subject_of_a_kind_once_latest_first(profiles: ProfilePort, soon: Deadline) -> None:
    for each in (event("a", 3), event("b", 2), event("a", 1), event("a", 0, EventKind.SEARCHED)):
        await profiles.remember([("reader", each)], soon)
    profile = await profiles.recall("reader", soon)
    assert profile.last(EventKind.VIEWED) == (event("a", 1), event("b", 2))
    assert profile.last(EventKind.SEARCHED) == (event("a", 0, EventKind.SEARCHED),)


async def test_longest_subject_is_kept_unchanged(profiles: ProfilePort, soon: Deadline) -> None:
    longest = event("🐟" * LONGEST_SUBJECT)
    await profiles.remember([("r" * 255, longest)], soon)
    assert (await profiles.recall("r" * 255, soon)).events == (longest,)


async def test_late_event_older_than_a_full_profile_is_not_recalled(profiles: ProfilePort, soon: Deadline) -> None:
    """A full profile has the latest events, in whatever order they arrived."""
    told = [event(f"manga-{n}", n) for n in range(RECALLED)]
    await profiles.remember([("reader", each) for each in told], soon)
    await profiles.remember([("reader", event("late", RECALLED + 1))], soon)
    assert list((await profiles.recall("reader", soon)).events) == told


async def test_health_of_a_working_profile_store_is_ok(profiles: ProfilePort, soon: Deadline) -> None:
    assert (await profiles.health(soon)).ok


async def test_expired_deadline_times_out_with_the_dependency_profile(profiles: ProfilePort) -> None:
    late = Deadline.after(-1)
    calls: list[Any] = [
        profiles.remember([("reader", event("manga-1"))], late),
        profiles.recall("reader", late),
        profiles.forget("reader", late),
    ]
    for call in calls:
        with pytest.raises(TimedOut) as caught:
            await call
        assert caught.value.dependency == "profile"
