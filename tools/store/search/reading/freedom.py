"""What a text says need not be, or may be as well: "it need not be finished", "ongoing is fine too", 値段は気にしない."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tools.store.models import Conditions, Range, Status

NOTHING = Conditions()
_EXCLUSIONS = ("without_tags", "without_genres", "without_authors", "without_titles")


@dataclass(frozen=True, slots=True)
class Freedom:
    """`unneeded`: conditions that need not hold. `allowed`: what satisfies them may be an answer too. `matters`: names of
    conditions of which none is asked for. It states nothing itself; it takes back what was asked for before."""

    unneeded: Conditions = NOTHING
    allowed: Conditions = NOTHING
    matters: tuple[str, ...] = ()

    def leaves(self, older: Conditions) -> Conditions:
        """What of an earlier statement is still asked for."""
        changed: dict[str, Any] = {name: getattr(NOTHING, name) for name in self.matters}
        for name in self.unneeded.stated:
            changed[name] = _without(name, getattr(older, name), getattr(self.unneeded, name))
        for name in self.allowed.stated:
            changed[name] = _widened(getattr(older, name), getattr(self.allowed, name))
        changed = {name: left for name, left in changed.items() if left != getattr(older, name)}
        return replace(older, **changed) if changed else older


def _without(name: str, asked: Any, unneeded: Any) -> Any:
    """Nothing where all that was asked for is what need not be; what asks for something else stays."""
    if name in _EXCLUSIONS:
        return tuple(each for each in asked if each not in unneeded)
    if isinstance(asked, Range):
        return Range() if asked and asked.narrowed(unneeded) == asked else asked
    if isinstance(asked, tuple):
        return () if set(asked) <= set(unneeded) else asked
    return type(asked)() if isinstance(asked, bool) else None if asked == unneeded else asked


def _widened(asked: Any, allowed: Any) -> Any:
    """What admits both. A yes or no, and what is one of two, is asked for no more."""
    if not asked or asked is True:
        return False if asked is True else asked
    widen: Callable[[Any, Any], Any] | None = _WIDER.get(type(asked))
    return widen(asked, allowed) if widen else asked if asked == allowed else None


def _of_either(asked: tuple[Any, ...], allowed: tuple[Any, ...]) -> tuple[Any, ...]:
    both = tuple(dict.fromkeys((*asked, *allowed)))
    return () if set(both) == set(Status) else both


def _hull(asked: Range, allowed: Range) -> Range:
    least = None if asked.least is None or allowed.least is None else min(asked.least, allowed.least)
    return Range(least, None if asked.most is None or allowed.most is None else max(asked.most, allowed.most))


_WIDER: dict[type, Callable[[Any, Any], Any]] = {tuple: _of_either, Range: _hull, float: min, int: min}
