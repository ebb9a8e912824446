"""What readers call what they would rather not read, in English, Japanese and romaji, and the tags that carry it.

The table (aversions.json) is this project's own, written by hand for any manga catalogue, and stands beside the themes: a
theme is what a story is about, an aversion may be a tone ("dark", 重い) or a scene ("kissing"). `tags` are what it names,
`also` what may well hold it: who wants none of it is shown neither, who wants less of it is spared the first alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.resources import files

from tools.store.search.query.themes import ThemeTable, fold

_ADJECTIVE = "い"
_INFLECTED = ("く", "すぎ", "過ぎ", "さ")


class Kind(Enum):
    """How a phrase bears on a list of what is not wanted."""

    UNPLEASANT = "unpleasant"
    """Hardly ever asked for in the breath that excludes something else: "no romance, gore"."""
    PLAIN = "plain"
    """May be either: "no romance, comedy"."""
    ALONE = "alone"
    """Excludes by itself, with no word of negation: "nobody dies", 怖がり."""


@dataclass(frozen=True, slots=True)
class Aversion:
    """The tags that a phrase names, and those that may well hold it besides."""

    tags: tuple[str, ...]
    also: tuple[str, ...] = ()
    kind: Kind = Kind.PLAIN

    def beside(self, asked: Collection[str]) -> Aversion:
        """What is left of it where these tags are asked for; the whole of what it names where that is all asked for."""
        tags = tuple(tag for tag in self.tags if tag not in asked) or self.tags
        return replace(self, tags=tags, also=tuple(tag for tag in self.also if tag not in asked))


@cache
def aversions() -> Mapping[str, Aversion]:
    """Folded phrase → what it means where it is not wanted; every theme is one. The first time it reads two files."""
    table = {phrase: Aversion(tags) for phrase, tags in ThemeTable.load().tags.items()}
    data = json.loads(files("tools.store.search.query").joinpath("aversions.json").read_text(encoding="utf-8"))
    for kind, entries in data.items():
        for entry in entries:
            meant = Aversion(tuple(entry["tags"]), tuple(entry.get("also", ())), Kind(kind))
            table |= dict.fromkeys(_forms(entry["phrases"]), meant)
    return table


def _forms(phrases: list[str]) -> Iterator[str]:
    """The phrases folded, and what negation and degree make of Japanese adjectives: 怖い, 怖く(ない), 怖すぎ(ない)."""
    for phrase in map(fold, phrases):
        yield phrase
        if phrase.endswith(_ADJECTIVE):
            yield from (phrase.removesuffix(_ADJECTIVE) + ending for ending in _INFLECTED)
