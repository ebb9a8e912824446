from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tools.store.models import Conditions, Ordering, Range, Status

NOTHING = Conditions()


@dataclass(frozen=True, slots=True)
class Understood:
    """A condition found in a text: its English description ("at most 9 volumes"), and the words that state it. `obeyed` is
    False if the condition is too doubtful to be applied. `about` names the fields of `Conditions` that it fills."""

    condition: str
    words: str
    obeyed: bool = True
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of parsing a shopper's text.

    `subject`: the words to search for; may be empty. `conditions`: what titles must satisfy. `understood`: each condition
    with its words. `vague`: True if the subject does not say what a title is about ("something good"). `adult`: True if the
    text asks for adult titles. `remarks`: sentences on doubts, contradictions, and things that no title has. `named`,
    `like`, `known`: ids of titles that the text asks for by name, wants similar titles to, or says the customer knows.
    `again`: True if it asks for something like the customer's earlier titles. `another`: True if somebody else will read the
    manga. `unnamed`: True if the catalogue did not look up names in time, so that statements about names are lost.
    `freedoms`: withdrawals of earlier conditions. `absent`: themes that no title has. `welcome`, `welcome_genres`: tags and
    genres named without a refusal. `endorsed`: tags that some word says are liked. `along`: for each theme not refused, its
    main tag and all tags that its refusal would exclude.
    """

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
        return any(not each.obeyed for each in self.understood)


_EXCLUSIONS = ("without_tags", "without_genres", "without_authors", "without_titles")


@dataclass(frozen=True, slots=True)
class Freedom:
    """A withdrawal of earlier conditions, such as "any length is fine". `unneeded`: conditions that need not hold.
    `allowed`: values to accept as well. `matters`: fields of `Conditions` to reset."""

    unneeded: Conditions = NOTHING
    allowed: Conditions = NOTHING
    matters: tuple[str, ...] = ()

    def leaves(self, older: Conditions) -> Conditions:
        changed: dict[str, Any] = {name: getattr(NOTHING, name) for name in self.matters}
        for name in self.unneeded.stated:
            changed[name] = _without(name, getattr(older, name), getattr(self.unneeded, name))
        for name in self.allowed.stated:
            changed[name] = _widened(getattr(older, name), getattr(self.allowed, name))
        changed = {name: left for name, left in changed.items() if left != getattr(older, name)}
        return replace(older, **changed) if changed else older


def _without(name: str, asked: Any, unneeded: Any) -> Any:
    """Returns a condition's value without the unneeded part. Exclusions are removed one by one. Any other value is dropped
    if it equals `unneeded` or lies within it, else unchanged."""
    if name in _EXCLUSIONS:
        return tuple(each for each in asked if each not in unneeded)
    if isinstance(asked, Range):
        return Range() if asked and asked.narrowed(unneeded) == asked else asked
    if isinstance(asked, tuple):
        return () if set(asked) <= set(unneeded) else asked
    return type(asked)() if isinstance(asked, bool) else None if asked == unneeded else asked


def _widened(asked: Any, allowed: Any) -> Any:
    """Returns the narrowest value that admits both. If there is none, returns None, False or an empty value, which state no
    condition."""
    if not asked or asked is True:
        return False if asked is True else asked
    widen: Callable[[Any, Any], Any] | None = _WIDER.get(type(asked))
    return widen(asked, allowed) if widen else asked if asked == allowed else None


def _of_either(asked: tuple[Any, ...], allowed: tuple[Any, ...]) -> tuple[Any, ...]:
    both = tuple(dict.fromkeys((*asked, *allowed)))
    return () if set(both) == set(Status) else both


_WIDER: dict[type, Callable[[Any, Any], Any]] = {tuple: _of_either, Range: Range.joined, float: min, int: min}
