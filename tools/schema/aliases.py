"""The one table of old names that are still taken: arguments of tools and settings that another name has replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Alias:
    """`old` means `new`, in the arguments of the tool `of` or in the `SETTINGS`. It is taken at least `until` that day; the
    changelog says so. A value under the new name wins."""

    of: str
    old: str
    new: str
    until: date


ALIASES: tuple[Alias, ...] = ()


def map_renames(of: str, aliases: Iterable[Alias] | None = None) -> Mapping[str, str]:
    """The new name of each old one."""
    return {each.old: each.new for each in (ALIASES if aliases is None else aliases) if each.of == of}


def rename_keys(given: dict[str, Any], names: Mapping[str, str]) -> None:
    """Moves each value from an old name to the new one of `names`, unless there is a value already."""
    for old, new in names.items():
        if old in given:
            given.setdefault(new, given.pop(old))
