"""What every store of preferences does, in each implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from session.preferences import LONGEST, MOST_KEPT, Preference, StoredPreferences
from session.profile import Event, EventKind
from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.store import DynamoStore
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.failures import TimedOut
from tools.store.ports import PreferencesPort

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
USERS = ["reader", "Reader", "reader ", "読者・太郎 🐟", "r" * 255, "caf\u00e9", "cafe\u0301", "\ud800", "anonymous"]


def kept(*texts: str, revision: str = "a") -> StoredPreferences:
    return StoredPreferences(tuple(Preference.from_text(text, NOW) for text in texts), revision)


@pytest.fixture(params=["embedded", "shared", "dynamodb"])
async def preferences(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PreferencesPort]:
    if request.param == "embedded":
        yield EmbeddedCustomers()
        return
    if request.param == "shared":
        with closing(EmbeddedCustomers(tmp_path / "people.db")) as file:
            yield file
        return
    async with DynamoStore.open(request.getfixturevalue("dynamodb_address")) as store:
        yield store.profiles


async def test_new_user_has_no_preferences(preferences: PreferencesPort, soon: Deadline) -> None:
    assert await preferences.stated("reader", soon) == StoredPreferences()


async def test_preferences_are_kept_word_for_word_in_order(preferences: PreferencesPort, soon: Deadline) -> None:
    told = kept("I don't like gore", "予算は一冊700円まで 🐟", "あ" * LONGEST, *(f"note {n}" for n in range(MOST_KEPT - 3)))
    assert await preferences.keep("reader", told, None, soon)
    assert await preferences.stated("reader", soon) == told


async def test_preferences_are_replaced_only_with_the_revision_that_was_read(
    preferences: PreferencesPort, soon: Deadline
) -> None:
    """A writer with another revision has to read again, or it would remove a concurrent change."""
    first, second = kept("no gore"), kept("no gore", "no horror", revision="b")
    assert await preferences.keep("reader", first, None, soon)
    assert not await preferences.keep("reader", second, None, soon)
    assert not await preferences.keep("reader", second, "another", soon)
    assert await preferences.stated("reader", soon) == first
    assert await preferences.keep("reader", second, "a", soon)
    assert await preferences.stated("reader", soon) == second


async def test_one_of_several_concurrent_writes_succeeds(preferences: PreferencesPort, soon: Deadline) -> None:
    tries = [preferences.keep("reader", kept(f"note {n}", revision=f"{n}"), None, soon) for n in range(5)]
    done = await asyncio.gather(*tries)
    assert sum(done) == 1
    assert (await preferences.stated("reader", soon)).revision == str(done.index(True))


async def test_empty_preferences_leave_no_record(preferences: PreferencesPort, soon: Deadline) -> None:
    assert await preferences.keep("reader", kept("no gore"), None, soon)
    assert not await preferences.keep("reader", StoredPreferences(), "another", soon)
    assert await preferences.keep("reader", StoredPreferences(), "a", soon)
    assert await preferences.stated("reader", soon) == StoredPreferences()
    assert await preferences.keep("reader", StoredPreferences(), None, soon), "who has none may be forgotten again"


async def test_preferences_of_users_are_kept_apart(preferences: PreferencesPort, soon: Deadline) -> None:
    for number, user in enumerate(USERS):
        assert await preferences.keep(user, kept(f"note {number}"), None, soon)
    assert await preferences.keep(USERS[0], StoredPreferences(), "a", soon)
    for number, user in enumerate(USERS[1:], start=1):
        assert await preferences.stated(user, soon) == kept(f"note {number}")


async def test_expired_deadline_times_out_with_the_dependency_profile(preferences: PreferencesPort) -> None:
    late = Deadline.after(-1)
    for call in (preferences.stated("reader", late), preferences.keep("reader", kept("no gore"), None, late)):
        with pytest.raises(TimedOut) as caught:
            await call
        assert caught.value.dependency == "profile"


async def test_health_of_working_preferences_is_ok(preferences: PreferencesPort, soon: Deadline) -> None:
    assert (await preferences.health(soon)).ok


async def test_preferences_are_no_events_of_the_profile_and_are_forgotten_with_it(request: pytest.FixtureRequest) -> None:
    """Both are in one table under one owner: a recall skips them, and removing the owner removes them."""
    soon, event = Deadline.after(30), Event.make_event(EventKind.VIEWED, "manga-000001", datetime.now(UTC))
    async with DynamoStore.open(request.getfixturevalue("dynamodb_address")) as store:
        await store.profiles.remember([("reader", event)], soon)
        assert await store.profiles.keep("reader", kept("no gore"), None, soon)
        assert (await store.profiles.recall("reader", soon)).events == (event,)
        await store.profiles.forget("reader", soon)
        assert await store.profiles.stated("reader", soon) == StoredPreferences()
