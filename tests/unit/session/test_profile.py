"""A profile is bounded in lifetime and in size."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from session.preferences import Preference, StoredPreferences
from session.profile import KEPT_DAYS, LONGEST_SUBJECT, RECALLED, Event, EventKind, latest
from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.items import event_item
from tools.store.backends.dynamodb.tables import PROFILE
from tools.store.backends.embedded import customers
from tools.store.backends.embedded.customers import EmbeddedCustomers

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def test_profile_item_has_the_expiry_attribute_of_its_table() -> None:
    """It is the second after which DynamoDB may remove the item."""
    item = event_item("reader", Event.make_event(EventKind.VIEWED, "manga-000001", NOW))
    assert PROFILE.ttl is not None
    assert int(item[PROFILE.ttl]["N"]) == int((NOW + timedelta(days=KEPT_DAYS)).timestamp())


def test_profile_item_stays_below_3000_bytes() -> None:
    """The user is hashed and the longest subject has some 2 KB; DynamoDB allows 400 KB."""
    item = event_item("r" * 10_000, Event.make_event(EventKind.SEARCHED, "🐟" * 5 * LONGEST_SUBJECT, NOW))
    assert len(json.dumps(item, ensure_ascii=False).encode()) < 3_000


def test_event_has_a_subject_of_up_to_500_characters_and_an_age_and_the_latest_hundred_are_recalled() -> None:
    longest = Event.make_event(EventKind.SEARCHED, "x" * 501, NOW)
    assert (longest.subject, longest.at) == ("x" * 500, "2026-11-02T09:30:00.000Z")
    for subject, at in (
        ("x" * 501, longest.at),
        ("", longest.at),
        ("x", longest.at[:-1]),
        ("x", "2026-13-02T09:30:00.000Z"),
    ):
        with pytest.raises(ValueError, match="."):
            Event(EventKind.SEARCHED, subject, at)

    event = Event.make_event(EventKind.VIEWED, "x", NOW)
    assert [event.days_old(NOW + timedelta(hours=hours)) for hours in (36, 0, -36)] == [1.5, 0.0, 0.0]
    events = [Event.make_event(EventKind.VIEWED, f"{n:03}", NOW) for n in range(101)]
    assert latest([*events, *events]) == tuple(reversed(events[1:]))


async def test_embedded_profiles_keep_a_bounded_number_of_events_and_evict_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long run of the server takes no more memory than a short one."""
    monkeypatch.setattr(customers, "MOST_EVENTS", 2 * RECALLED)
    profiles, soon = EmbeddedCustomers(clock=lambda: NOW), Deadline.after(5)
    for user in ("a", "b", "c"):
        events = [Event.make_event(EventKind.VIEWED, f"{user}-{n}", NOW) for n in range(RECALLED + 5)]
        await profiles.remember([(user, each) for each in events], soon)
    counts = {user: len((await profiles.recall(user, soon)).events) for user in "abc"}
    assert counts == {"a": 0, "b": RECALLED - 5, "c": RECALLED}
    kept = StoredPreferences((Preference.from_text("no gore", NOW),), "r")
    for number in range(1001):
        assert await profiles.keep(f"u{number}", kept, None, soon)
    assert [await profiles.stated(user, soon) for user in ("u0", "u1", "u1000")] == [StoredPreferences(), kept, kept]
