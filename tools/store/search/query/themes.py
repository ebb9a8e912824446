"""Maps readers' words, English and Japanese, to tags, and Japanese story words to English ones.

The table (themes.json) was written by hand in this project, for any manga catalogue. The glossary lets a query in Japanese
match a synopsis that exists in English only; without an embedder nothing else does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

from tools.store.search.text.characters import has_cjk, has_kanji, normalise, to_hiragana
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.tokens import stem, words
from tools.store.tags import Tag

_LONGEST = 10
_KATAKANA_WORD = re.compile(r"[\u30a1-\u30fcー]+")
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Theme:
    """A phrase of the query and the tags that readers mean by it (a title may carry any of them)."""

    phrase: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThemeTable:
    """The tables of words. `tags`: folded phrase → tags. `glossary`: folded Japanese word → English words."""

    tags: Mapping[str, tuple[str, ...]]
    glossary: Mapping[str, str]

    @classmethod
    @cache
    def load(cls) -> ThemeTable:
        """Returns the shipped table. The first call reads a file."""
        data = json.loads(files("tools.store.search.query").joinpath("themes.json").read_text(encoding="utf-8"))
        tags: dict[str, tuple[str, ...]] = {}
        for tag, phrases in data["tags"].items():
            for phrase in phrases:
                folded = fold(phrase)
                tags[folded] = tuple(dict.fromkeys((*tags.get(folded, ()), tag)))
        return cls(tags, {fold(ja): en for ja, en in data["glossary"].items()})

    def with_tags(self, own: Mapping[str, Tag]) -> ThemeTable:
        """Returns a copy with a shop's own words for tags."""
        tags = dict(self.tags)
        for tag, rule in own.items():
            for folded in map(fold, (tag, *rule.synonyms)):
                tags[folded] = tuple(dict.fromkeys((*tags.get(folded, ()), tag)))
        return ThemeTable(tags, self.glossary)

    def themes(self, text: str) -> tuple[Theme, ...]:
        """Returns the themes named in `text`, by the longest phrase at each place; each part of the text is used once."""
        latin = [fold(w) for w in _LATIN_WORD.findall(normalise(text))]
        return tuple(Theme(p, self.tags[p]) for p in (*_phrases(latin, self.tags), *_substrings(text, self.tags)))

    def english(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Returns, for each Japanese word of `text` that the glossary or the dictionary knows, the terms of its English
        words."""
        found = _substrings(text, _Either(self.glossary, Dictionary.load()))
        return tuple(dict.fromkeys(terms for word in found if (terms := self._terms(word))))

    def _terms(self, word: str) -> tuple[str, ...]:
        """Returns the terms of a Japanese word in English, by the glossary, which knows manga, else by the dictionary."""
        told = self.glossary.get(word)
        return Dictionary.load().english(word) if told is None else tuple(dict.fromkeys(words(told)))


@dataclass(frozen=True, slots=True)
class _Either:
    """A container of the words that the glossary or the dictionary translates to English; kana of grammar are in neither."""

    glossary: Mapping[str, str]
    dictionary: Dictionary

    def __contains__(self, word: object) -> bool:
        return word in self.glossary or (isinstance(word, str) and self.dictionary.has_english(word))


def fold(phrase: str) -> str:
    """Returns the phrase as the tables hold it: Latin words stemmed, kana as hiragana."""
    folded = normalise(phrase)
    return to_hiragana(folded) if has_cjk(folded) else " ".join(stem(w) for w in folded.replace("-", " ").split())


def _phrases(words: list[str], known: Mapping[str, object]) -> Iterator[str]:
    """Yields the known runs of up to three Latin words, the longest at each place."""
    i = 0
    while i < len(words):
        size = next((n for n in (3, 2, 1) if " ".join(words[i : i + n]) in known), 0)
        if size:
            yield " ".join(words[i : i + size])
        i += max(1, size)


def _substrings(text: str, known: Container[str]) -> Iterator[str]:
    """Yields the known Japanese words inside `text`, the longest at each place, and no Latin ones."""
    written = normalise(text)
    folded = to_hiragana(written) if has_cjk(written) else ""
    i = 0
    while i < len(folded):
        sizes = range(min(_LONGEST, len(folded) - i), 0, -1)
        size = next((n for n in sizes if folded[i : i + n] in known and is_word(written, i, i + n)), 0)
        if size:
            yield folded[i : i + size]
        i += max(1, size)


def is_word(text: str, start: int, end: int) -> bool:
    """True if the phrase is a Japanese word of its own here: 虫 is no insect in 手塚治虫, ゲーム no game in エンドゲーム."""
    if not has_cjk(text[start:end]):
        return False
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if _KATAKANA_WORD.fullmatch(text, start, end):
        return not _is_katakana(before) and (end - start > 3 or not _is_katakana(after))
    return end - start > 1 or not (has_kanji(before) or has_kanji(after))


def _is_katakana(character: str) -> bool:
    return _KATAKANA_WORD.fullmatch(character) is not None


_ADJECTIVE = "い"
_INFLECTED = ("く", "すぎ", "過ぎ", "さ")


class Kind(Enum):
    """The role of a theme in a list after a negation: refused with the others, or asked for."""

    UNPLEASANT = "unpleasant"
    """A theme that is hardly ever asked for beside a refusal: "no romance, gore" refuses both."""
    PLAIN = "plain"
    """A theme that may be asked for or refused in such a list: "no romance, comedy"."""
    ALONE = "alone"
    """A phrase that refuses by itself, without a negation: "nobody dies", 怖がり."""


@dataclass(frozen=True, slots=True)
class Aversion:
    """The tags that a refused phrase names, and in `also` tags whose titles often contain the same."""

    tags: tuple[str, ...]
    also: tuple[str, ...] = ()
    kind: Kind = Kind.PLAIN


@cache
def aversions() -> Mapping[str, Aversion]:
    """Returns the meaning of each folded phrase when it is refused; every theme is one. The first call reads two files."""
    table = {phrase: Aversion(tags) for phrase, tags in ThemeTable.load().tags.items()}
    data = json.loads(files("tools.store.search.query").joinpath("aversions.json").read_text(encoding="utf-8"))
    for kind, entries in data.items():
        for entry in entries:
            meant = Aversion(tuple(entry["tags"]), tuple(entry.get("also", ())), Kind(kind))
            table |= dict.fromkeys(_forms(entry["phrases"]), meant)
    return table


def _forms(phrases: list[str]) -> Iterator[str]:
    """Yields the folded phrases, and of adjectives the forms for negation and excess: 怖い, 怖く(ない), 怖すぎ(ない)."""
    for phrase in map(fold, phrases):
        yield phrase
        if phrase.endswith(_ADJECTIVE):
            yield from (phrase.removesuffix(_ADJECTIVE) + ending for ending in _INFLECTED)
