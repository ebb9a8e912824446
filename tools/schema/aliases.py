"""Table of deprecated names that are still accepted: renamed arguments of tools, and renamed settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Alias:
    """A deprecated name, `old`, for the argument `new` of the tool `of`; for a setting, `of` is `SETTINGS`. The name is
    accepted at least until the day `until`, which the changelog states."""

    of: str
    old: str
    new: str
    until: date


ALIASES: tuple[Alias, ...] = ()


def map_renames(of: str) -> Mapping[str, str]:
    return {each.old: each.new for each in ALIASES if each.of == of}


def rename_keys(given: dict[str, Any], names: Mapping[str, str]) -> None:
    """Moves each value from its old name to the new one, in place. A value that is already under the new name wins."""
    for old, new in names.items():
        if old in given:
            given.setdefault(new, given.pop(old))
