"""Whose an item is, and which of its attributes are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any


def owner_key(owner: str) -> str:
    """Stands for a person in keys. Any text has one, and no two share it; the start of it is `session.keys.user_hash`."""
    return hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()


def projection(names: Sequence[str]) -> dict[str, Any]:
    """The parameters that ask for these attributes alone; aliased, since `status` and others are reserved words."""
    aliases = {f"#{i}": name for i, name in enumerate(names)}
    return {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}
