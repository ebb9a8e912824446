"""The result of reading a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tools.store.models import Conditions, Ordering, Range, Status

NOTHING = Conditions()


@dataclass(frozen=True, slots=True)
class Understood:
    """A condition in a few English words ("at most 9 volumes"), and the words of the text that state it. `about`: the names
    of the fields of `Conditions` that it fills, so that who overrules one knows whose words those were."""

    condition: str
    words: str
    obeyed: bool = True
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """`subject`: the text without the words that state something, to search by; possibly empty. `conditions`: what has to
    hold, the titles that must not be answers among them (`without_titles`). `like`: ids of the titles that the answers are
    to be like; `known`: ids of titles that the customer said they know, which those of `like` are among. `vague`: nothing
    that is left says what a title is about ("something good"). `adult`: the words ask for what is sold to adults alone.
    `freedoms`: what is no requirement, whatever was asked for before. `remarks`: sentences on what it states and nothing can
    be. `named`: ids of the titles that it asks for by name. `again`: something like what the customer had before is
    asked for. `another`: somebody else is to read it. `absent`:
    themes that nothing in the catalogue has. `welcome`: tags and readerships that are named and not refused, `endorsed`
    those of them that some word says are liked. `unnamed`: the catalogue did not say in time what goes by the names in
    the text, and what was said of them is lost."""

    text: str
    subject: str
    conditions: Conditions = NOTHING
    ordering: Ordering | None = None
    like: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    understood: tuple[Understood, ...] = ()
    vague: bool = False
    adult: bool = False
    freedoms: tuple[Freedom, ...] = ()
    remarks: tuple[str, ...] = ()
    again: bool = False
    named: tuple[str, ...] = ()
    another: bool = False
    absent: tuple[str, ...] = ()
    welcome: frozenset[str] = frozenset()
    endorsed: frozenset[str] = frozenset()
    welcome_genres: frozenset[str] = frozenset()
    along: tuple[tuple[str, frozenset[str]], ...] = ()
    unnamed: bool = False

    @property
    def doubted(self) -> bool:
        """True if a condition was understood in it and is not obeyed."""
        return any(not each.obeyed for each in self.understood)


NOTHING = Conditions()
_EXCLUSIONS = ("without_tags", "without_genres", "without_authors", "without_titles")


@dataclass(frozen=True, slots=True)
class Freedom:
    """Takes back earlier conditions and states none. `unneeded`: conditions that need not hold. `allowed`: titles that
    satisfy these may be answers too. `matters`: names of conditions that are dropped whole."""

    unneeded: Conditions = NOTHING
    allowed: Conditions = NOTHING
    matters: tuple[str, ...] = ()

    def leaves(self, older: Conditions) -> Conditions:
        """Returns the earlier conditions that this freedom leaves."""
        changed: dict[str, Any] = {name: getattr(NOTHING, name) for name in self.matters}
        for name in self.unneeded.stated:
            changed[name] = _without(name, getattr(older, name), getattr(self.unneeded, name))
        for name in self.allowed.stated:
            changed[name] = _widened(getattr(older, name), getattr(self.allowed, name))
        changed = {name: left for name, left in changed.items() if left != getattr(older, name)}
        return replace(older, **changed) if changed else older


def _without(name: str, asked: Any, unneeded: Any) -> Any:
    """The condition without its unneeded part; unchanged if it asks for more than that."""
    if name in _EXCLUSIONS:
        return tuple(each for each in asked if each not in unneeded)
    if isinstance(asked, Range):
        return Range() if asked and asked.narrowed(unneeded) == asked else asked
    if isinstance(asked, tuple):
        return () if set(asked) <= set(unneeded) else asked
    return type(asked)() if isinstance(asked, bool) else None if asked == unneeded else asked


def _widened(asked: Any, allowed: Any) -> Any:
    """The narrowest condition that admits both. A yes or no, or one of two values, is dropped."""
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
