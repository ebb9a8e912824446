"""What every store of profiles does, whatever is behind it."""

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
from tools.store.backends.embedded.customers import CustomerDatabase, EmbeddedProfiles
from tools.store.failures import TimedOut
from tools.store.ports import ProfilePort

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
USERS = ["reader", "Reader", "reader ", "", "読者・太郎 🐟", "r" * 255, "caf\u00e9", "cafe\u0301", "\ud800", "anonymous"]


def event(subject: str, minutes_ago: float = 0, kind: EventKind = EventKind.VIEWED) -> Event:
    return Event.make_event(kind, subject, NOW - timedelta(minutes=minutes_ago))


@pytest.fixture(params=["embedded", "shared", "dynamodb"])
async def profiles(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ProfilePort]:
    if request.param == "embedded":
        yield EmbeddedProfiles(clock=lambda: NOW)
        return
    if request.param == "shared":
        with closing(CustomerDatabase(tmp_path / "people.db")) as file:
            yield EmbeddedProfiles(file, clock=lambda: NOW)
        return
    address = request.getfixturevalue("dynamodb_address")
    async with DynamoStore.open(address, clock=lambda: NOW) as store:
        yield store.profiles


async def test_nothing_is_known_of_somebody_new(profiles: ProfilePort, soon: Deadline) -> None:
    assert await profiles.recall("reader", soon) == Profile()


async def test_what_was_remembered_is_recalled_latest_first_in_whatever_order_it_came(
    profiles: ProfilePort, soon: Deadline
) -> None:
    told = [event("manga-2", 2), event("狼と 香辛料 🐺", 0, EventKind.SEARCHED), event("manga-3", 3, EventKind.SEARCHED)]
    for each in told:
        await profiles.remember([("reader", each)], soon)
    assert (await profiles.recall("reader", soon)).events == (told[1], told[0], told[2])


async def test_the_same_event_told_again_counts_once(profiles: ProfilePort, soon: Deadline) -> None:
    for told in (1, 2, 3):
        await profiles.remember([("reader", event("manga-1"))] * told, soon)
    assert (await profiles.recall("reader", soon)).events == (event("manga-1"),)


async def test_events_of_one_moment_are_all_kept(profiles: ProfilePort, soon: Deadline) -> None:
    """Parallel calls of a turn happen in the same millisecond."""
    told = {event(f"manga-{n}", kind=kind) for n in range(5) for kind in EventKind}
    await asyncio.gather(*(profiles.remember([("reader", each)], soon) for each in told))
    assert set((await profiles.recall("reader", soon)).events) == told


@cases("at_once", [True, False], ids=["in one batch", "one by one"])
async def test_nobody_sees_what_another_did(profiles: ProfilePort, soon: Deadline, at_once: bool) -> None:
    told = [(user, event(f"manga-{number}")) for number, user in enumerate(USERS)]
    for entries in [told] if at_once else [[each] for each in told]:
        await profiles.remember(entries, soon)
    for number, user in enumerate(USERS):
        assert (await profiles.recall(user, soon)).events == (event(f"manga-{number}"),)
    assert await profiles.recall("reade", soon) == Profile()


async def test_what_two_did_in_the_same_moment_is_kept_for_both(profiles: ProfilePort, soon: Deadline) -> None:
    await profiles.remember([("reader", event("manga-1")), ("another", event("manga-1"))], soon)
    for user in ("reader", "another"):
        assert (await profiles.recall(user, soon)).events == (event("manga-1"),)


async def test_remembering_nothing_is_no_error(profiles: ProfilePort, soon: Deadline) -> None:
    await profiles.remember([], soon)
    assert await profiles.recall("reader", soon) == Profile()


async def test_a_recall_is_bounded_to_the_latest(profiles: ProfilePort, soon: Deadline) -> None:
    told = [event(f"manga-{n}", n) for n in range(RECALLED + 20)]
    await profiles.remember([("reader", each) for each in told], soon)
    assert list((await profiles.recall("reader", soon)).events) == told[:RECALLED]


async def test_what_is_half_a_year_old_is_not_recalled(profiles: ProfilePort, soon: Deadline) -> None:
    """Exactly, although DynamoDB itself takes days to remove what has expired."""
    day = 24 * 60
    for minutes in (KEPT_DAYS * day + 1, KEPT_DAYS * day - 1):
        await profiles.remember([("reader", event(f"{minutes}", minutes))], soon)
    assert [each.subject for each in (await profiles.recall("reader", soon)).events] == [f"{KEPT_DAYS * day - 1}"]


async def test_one_who_is_forgotten_is_new_again_and_nobody_else_is(profiles: ProfilePort, soon: Deadline) -> None:
    told = [event(f"manga-{n}", n) for n in range(60)]
    await profiles.remember([*(("reader", each) for each in told), ("another", event("manga-1"))], soon)
    await profiles.forget("reader", soon)
    await profiles.forget("reader", soon)
    await profiles.forget("a stranger", soon)
    assert await profiles.recall("reader", soon) == Profile()
    assert (await profiles.recall("another", soon)).events == (event("manga-1"),)


async def test_of_one_kind_each_subject_is_once_with_its_last_time_latest_first(
    profiles: ProfilePort, soon: Deadline
) -> None:
    for each in (event("a", 3), event("b", 2), event("a", 1), event("a", 0, EventKind.SEARCHED)):
        await profiles.remember([("reader", each)], soon)
    profile = await profiles.recall("reader", soon)
    assert profile.last(EventKind.VIEWED) == (event("a", 1), event("b", 2))
    assert profile.last(EventKind.SEARCHED) == (event("a", 0, EventKind.SEARCHED),)


async def test_the_longest_subject_is_kept_as_it_is(profiles: ProfilePort, soon: Deadline) -> None:
    longest = event("🐟" * LONGEST_SUBJECT)
    await profiles.remember([("r" * 255, longest)], soon)
    assert (await profiles.recall("r" * 255, soon)).events == (longest,)


async def test_an_event_older_than_all_that_is_kept_takes_no_place(profiles: ProfilePort, soon: Deadline) -> None:
    """Events may come late; a full profile is the latest ones whatever the order."""
    told = [event(f"manga-{n}", n) for n in range(RECALLED)]
    await profiles.remember([("reader", each) for each in told], soon)
    await profiles.remember([("reader", event("late", RECALLED + 1))], soon)
    assert list((await profiles.recall("reader", soon)).events) == told


async def test_each_says_how_it_fares(profiles: ProfilePort, soon: Deadline) -> None:
    assert (await profiles.health(soon)).ok


async def test_an_expired_deadline_times_out_and_names_the_profile(profiles: ProfilePort) -> None:
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
