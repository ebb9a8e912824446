"""How a backend fares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """What a backend says of itself: `detail` is safe to show to anyone; `logged` where it says in the log by itself what is
    wrong, if anything is."""

    ok: bool
    detail: str = ""
    logged: bool = False
