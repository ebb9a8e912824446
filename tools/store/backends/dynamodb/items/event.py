"""Something a person did, in their long-term profile."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

from session.profile import KEPT_DAYS, Event, EventKind
from tools.store.backends.dynamodb.attributes import Item, attribute, text
from tools.store.backends.dynamodb.items.keys import owner_key
from tools.store.records.shape import ShapeError

EVENT_FIELDS = ("owner", *(field.name for field in fields(Event)))


def event_item(owner: str, event: Event) -> Item:
    """Something a person did. The same event has the same key, however often it is told."""
    expires = datetime.fromisoformat(event.at) + timedelta(days=KEPT_DAYS)
    told = hashlib.sha256(event.subject.encode()).hexdigest()[:16]
    record = {
        "owner": owner_key(owner),
        "moment": f"{event.at}#{event.kind}#{told}",
        **{name: str(value) for name, value in asdict(event).items()},
        "expires_at": int(expires.timestamp()),
    }
    return {name: attribute(value) for name, value in record.items()}


def event_of(item: Mapping[str, Any], owner: str) -> Event:
    """The event an item holds. Raises ShapeError, also for somebody else's."""
    if text(item, "owner", "$") != owner_key(owner):
        raise ShapeError("$ is somebody else's event")
    given = {field.name: text(item, field.name, "$") for field in fields(Event)}
    try:
        return Event(EventKind(given.pop("kind")), **given)
    except ValueError as error:
        raise ShapeError(f"$ is no event: {error}") from error
