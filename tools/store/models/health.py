"""How a backend fares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """What a backend says of itself: `detail` is safe to show to anyone."""

    ok: bool
    detail: str = ""
