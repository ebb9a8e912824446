"""A profile's bounds: how long it lasts, and how much it takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from session.profile import KEPT_DAYS, LONGEST_SUBJECT, RECALLED, Event, EventKind
from session.resilience.deadline import Deadline
from tools.store.backends.dynamodb.items import event_item
from tools.store.backends.dynamodb.tables import PROFILE
from tools.store.backends.embedded import customers
from tools.store.backends.embedded.customers import EmbeddedProfiles

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def test_every_item_has_the_attribute_that_its_table_forgets_by() -> None:
    """The second after which DynamoDB may remove it."""
    item = event_item("reader", Event.make_event(EventKind.VIEWED, "manga-000001", NOW))
    assert PROFILE.ttl is not None
    assert int(item[PROFILE.ttl]["N"]) == int((NOW + timedelta(days=KEPT_DAYS)).timestamp())


def test_no_item_is_large_whatever_is_told() -> None:
    """The user is hashed, and the longest subject is some 2 KB; an item may have 400."""
    item = event_item("r" * 10_000, Event.make_event(EventKind.SEARCHED, "🐟" * 5 * LONGEST_SUBJECT, NOW))
    assert len(json.dumps(item, ensure_ascii=False).encode()) < 3_000


async def test_profiles_in_this_process_keep_so_many_events_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a long run of the server takes no more memory than a short one."""
    monkeypatch.setattr(customers, "MOST_EVENTS", 2 * RECALLED)
    profiles, soon = EmbeddedProfiles(clock=lambda: NOW), Deadline.after(5)
    for user in ("a", "b", "c"):
        events = [Event.make_event(EventKind.VIEWED, f"{user}-{n}", NOW) for n in range(RECALLED + 5)]
        await profiles.remember([(user, each) for each in events], soon)
    counts = {user: len((await profiles.recall(user, soon)).events) for user in "abc"}
    assert counts == {"a": 0, "b": RECALLED - 5, "c": RECALLED}
