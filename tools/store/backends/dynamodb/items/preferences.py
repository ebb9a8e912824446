"""What a customer has asked to be remembered: one item beside the events of their profile, before all of them.

Its sort key is no time and sorts before every one, so that no recall of events meets it, and whoever sweeps the owner's
items out of the table takes it along.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from session.preferences import MOST_KEPT, Kept, Preference
from tools.store.backends.dynamodb.attributes import Item, attribute, plain, text
from tools.store.backends.dynamodb.items.keys import owner_key
from tools.store.records.shape import ShapeError

MOMENT = "#preferences"
PREFERENCES_FIELDS = ("owner", "revision", "stated")


def preferences_key(owner: str) -> Item:
    return {"owner": {"S": owner_key(owner)}, "moment": {"S": MOMENT}}


def preferences_item(owner: str, kept: Kept) -> Item:
    """The whole of it goes when the last of them has gone."""
    last = max(each.last_day for each in kept.preferences)
    expires = datetime.combine(last + timedelta(days=1), time(), UTC)
    record = {
        "revision": kept.revision,
        "stated": [{"text": each.text, "at": each.at} for each in kept.preferences],
        "expires_at": int(expires.timestamp()),
    }
    return preferences_key(owner) | {name: attribute(value) for name, value in record.items()}


def preferences_of(item: Mapping[str, Any], owner: str) -> Kept:
    """What an item holds. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's")
    stated = plain(item.get("stated"), "$.stated")
    try:
        preferences = tuple(Preference(each["text"], each["at"]) for each in stated[:MOST_KEPT])
    except (ValueError, TypeError, LookupError) as error:
        raise ShapeError("$.stated are no preferences") from error
    return Kept(preferences, text(item, "revision", "$"))
