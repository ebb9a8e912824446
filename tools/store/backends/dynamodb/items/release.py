"""A volume that has a day on which it comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from tools.store.backends.dynamodb.attributes import Item, attribute, plain
from tools.store.models import Release
from tools.store.records.shape import decode

RELEASE_FIELDS = tuple(field.name for field in fields(Release))


def release_item(release: Release) -> Item:
    """Under the volume's own key: the same volume on another day is the same item."""
    keys = {"edition": f"{release.format}#{release.volume}", "month": release.month}
    return {name: attribute(value) for name, value in (keys | asdict(release)).items()}


def release_of(item: Mapping[str, Any]) -> Release:
    """The release an item holds. Raises ShapeError."""
    record = {name: plain(value, f"$.{name}") for name, value in item.items() if name in RELEASE_FIELDS}
    return decode(Release, record, unknown="ignore")
