"""Maps readers' words, English and Japanese, to tags, and Japanese words to English ones. The table (themes.json) was
written by hand for this project and works with any catalogue."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

from tools.store.search.text.characters import has_cjk, has_kanji, normalise, to_hiragana
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.tokens import stem, words

_LONGEST = 10
_KATAKANA_WORD = re.compile(r"[\u30a1-\u30fcー]+")
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Theme:
    phrase: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThemeTable:
    """`tags` maps phrases to tags. `glossary` maps Japanese words to English words. All keys are folded (see `fold`)."""

    tags: Mapping[str, tuple[str, ...]]
    glossary: Mapping[str, str]

    @classmethod
    @cache
    def load(cls) -> ThemeTable:
        data = json.loads(files("tools.store.search.query").joinpath("themes.json").read_text(encoding="utf-8"))
        return cls({}, {fold(ja): en for ja, en in data["glossary"].items()}).with_phrases(data["tags"])

    def with_phrases(self, of_tags: Mapping[str, Iterable[str]]) -> ThemeTable:
        """Returns a table that also has the phrases in `of_tags`, which maps each tag to its phrases."""
        tags = dict(self.tags)
        for tag, phrases in of_tags.items():
            for folded in map(fold, phrases):
                tags[folded] = tuple(dict.fromkeys((*tags.get(folded, ()), tag)))
        return ThemeTable(tags, self.glossary)

    def themes(self, text: str) -> tuple[Theme, ...]:
        """Returns the themes named in `text`: the longest phrase at each position, without overlaps."""
        latin = [fold(w) for w in _LATIN_WORD.findall(normalise(text))]
        return tuple(
            Theme(p, self.tags[p]) for p in (*_phrases(latin, self.tags), *_substrings(text, self.tags.__contains__))
        )

    def english(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Returns the English index terms of each Japanese word in `text` that the glossary or the dictionary knows."""
        has_english = Dictionary.load().has_english
        found = _substrings(text, lambda word: word in self.glossary or has_english(word))
        return tuple(dict.fromkeys(terms for word in found if (terms := self._terms(word))))

    def _terms(self, word: str) -> tuple[str, ...]:
        told = self.glossary.get(word)
        return Dictionary.load().english(word) if told is None else tuple(dict.fromkeys(words(told)))


def fold(phrase: str) -> str:
    """Returns the form of a phrase that is its key in the tables: Latin words stemmed, kana as hiragana."""
    folded = normalise(phrase)
    return to_hiragana(folded) if has_cjk(folded) else " ".join(stem(w) for w in folded.replace("-", " ").split())


def _phrases(words: list[str], known: Mapping[str, object]) -> Iterator[str]:
    i = 0
    while i < len(words):
        size = next((n for n in (3, 2, 1) if " ".join(words[i : i + n]) in known), 0)
        if size:
            yield " ".join(words[i : i + size])
        i += max(1, size)


def _substrings(text: str, is_known: Callable[[str], bool]) -> Iterator[str]:
    """Yields known Japanese words in `text`, the longest at each position, without overlaps. All are folded (see `fold`)."""
    written = normalise(text)
    folded = to_hiragana(written) if has_cjk(written) else ""
    i = 0
    while i < len(folded):
        sizes = range(min(_LONGEST, len(folded) - i), 0, -1)
        size = next((n for n in sizes if is_known(folded[i : i + n]) and is_word(written, i, i + n)), 0)
        if size:
            yield folded[i : i + size]
        i += max(1, size)


def is_word(text: str, start: int, end: int) -> bool:
    """Returns False if `text[start:end]` is not Japanese; is one kanji or hiragana beside kanji, such as 虫 (insect) in
    手塚治虫; is katakana after other katakana, such as ゲーム (game) in エンドゲーム; or is katakana of at most three
    characters before other katakana. Else returns True, which is a guess."""
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
    """The behaviour of a phrase in a list after a negation ("no romance, gore")."""

    UNPLEASANT = "unpleasant"
    """A theme that is hardly ever asked for beside a refusal: "no romance, gore" refuses both."""
    PLAIN = "plain"
    """A theme that may be asked for or refused in such a list: "no romance, comedy"."""
    ALONE = "alone"
    """A phrase that refuses by itself, without a negation: "nobody dies", 怖がり."""


@dataclass(frozen=True, slots=True)
class Aversion:
    """The tags to exclude when a phrase is refused. `tags`: those that the phrase names. `also`: tags whose titles often
    have the same content."""

    tags: tuple[str, ...]
    also: tuple[str, ...] = ()
    kind: Kind = Kind.PLAIN


@cache
def aversions() -> Mapping[str, Aversion]:
    """Returns the `Aversion` of each folded phrase, themes included. Cached; the first call reads two files."""
    table = {phrase: Aversion(tags) for phrase, tags in ThemeTable.load().tags.items()}
    data = json.loads(files("tools.store.search.query").joinpath("aversions.json").read_text(encoding="utf-8"))
    for kind, entries in data.items():
        for entry in entries:
            meant = Aversion(tuple(entry["tags"]), tuple(entry.get("also", ())), Kind(kind))
            table |= dict.fromkeys(_forms(entry["phrases"]), meant)
    return table


def _forms(phrases: list[str]) -> Iterator[str]:
    """Yields each phrase folded. Of a Japanese adjective, which ends in い, yields its forms in く, すぎ, 過ぎ and さ
    too: 怖い, 怖く(ない), 怖すぎ(ない), 怖さ."""
    for phrase in map(fold, phrases):
        yield phrase
        if phrase.endswith(_ADJECTIVE):
            yield from (phrase.removesuffix(_ADJECTIVE) + ending for ending in _INFLECTED)
