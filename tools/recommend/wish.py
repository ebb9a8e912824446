"""A customer's wish beyond conditions: themes, a mood, a search, or nothing to search by."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from itertools import chain

from tools.conditions.wanted import Want
from tools.recommend.wording import content
from tools.store.audience import EXPLICIT, MATURE
from tools.store.models import CatalogQuery, Conditions
from tools.store.search.query.parsed import Tone, ToneTable
from tools.store.search.query.themes import Theme, ThemeTable
from tools.store.search.text.characters import normalise

THEMES_ALONE = 0.7
"""The share of themes in the text from which on only themes are searched for: its words would find names."""


@dataclass(frozen=True, slots=True)
class Wish:
    """`search`: the words to search by, empty where themes and moods say it all or nothing is said. `wanted`, `mood` and
    `unwanted`: tags, as in `ReaderQuery`. `another`: somebody else is to read it."""

    want: Want
    search: str
    wanted: tuple[tuple[str, ...], ...]
    mood: tuple[str, ...]
    unwanted: tuple[str, ...]
    another: bool

    @property
    def asks(self) -> bool:
        """True if the wish has anything that titles can fit."""
        return bool(self.search or self.themes or self.want.like)

    @property
    def like_one(self) -> bool:
        """True if the wish is likeness to one title and nothing else."""
        return len(self.want.like) == 1 and not self.themes

    @property
    def themes(self) -> frozenset[str]:
        """All tags that were asked for."""
        return frozenset((*chain.from_iterable(self.wanted), *self.mood))

    @property
    def conditions(self) -> Conditions:
        return self.want.conditions

    def with_want(self, want: Want) -> Wish:
        return replace(self, want=want)

    def query(self, limit: int) -> CatalogQuery:
        return CatalogQuery(self.search, self.conditions, limit, 0, self.want.ordering)


def wish_of(want: Want, tags: Container[str]) -> Wish:
    """`tags` are those that the catalogue has: a theme that it has no tag for can only be searched for by its words."""
    text = normalise(want.beside if want.like else want.text)
    tones, rest = ToneTable.load().read(text)
    said = content(rest)
    themes = [each for each in ThemeTable.load().themes(rest) if any(tag in tags for tag in each.tags)]
    wanted = dict.fromkeys(tuple(tag for tag in each.tags if tag in tags) for each in themes)
    mood = dict.fromkeys(tag for tone in tones for tag in tone.wanted if tag in tags)
    searched = "" if want.like or not said or _share(themes, said) >= THEMES_ALONE else rest
    return Wish(
        want=want,
        search=" ".join(searched.split()),
        wanted=tuple(wanted),
        mood=tuple(mood),
        unwanted=_list_unwanted_tags(tones, {*chain.from_iterable(wanted), *mood}, another=want.another),
        another=want.another,
    )


def _share(themes: list[Theme], said: str) -> float:
    named = sum(len(each.phrase.replace(" ", "")) for each in themes)
    return named / len(said.replace(" ", ""))


def _list_unwanted_tags(tones: tuple[Tone, ...], asked: Container[str], *, another: bool) -> tuple[str, ...]:
    """Tags that a tone rules out and, for a reader of unknown taste, those that need a warning; none that are asked for."""
    wrong = [*chain.from_iterable(tone.unwanted for tone in tones), *(sorted(EXPLICIT | MATURE) if another else ())]
    return tuple(dict.fromkeys(tag for tag in wrong if tag not in asked))
