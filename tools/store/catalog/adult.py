"""Where titles for adults alone may appear (`tools.store.audience` says which these are)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tools.store.audience import audience_of
from tools.store.models import Audience, Title


class Adult(StrEnum):
    """MANGA_ADULT. On request: where the customer asks by name or by word, which `tools.conditions` states in each search.
    Off: nowhere, which `tools.store.catalog.catalog` keeps. On: like any other title."""

    ON_REQUEST = "on-request"
    OFF = "off"
    ON = "on"


def is_adult(title: Title) -> bool:
    return audience_of(title) is Audience.ADULT


def without_adult(titles: Sequence[Title]) -> tuple[Title, ...]:
    return tuple(title for title in titles if not is_adult(title))
