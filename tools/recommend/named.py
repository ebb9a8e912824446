"""Titles that a customer names to say what they like: they know these."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.store.models import Title
from tools.store.search.text.characters import has_cjk, normalise

_LIKING = re.compile(
    r"\b(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?|read|finished|fans? of|similar to|such as|after|favou?rites?)\b"
    r"|みたい|のよう|っぽい|似た|似て|好き|読んだ|読み終|ハマ"
)
_BETWEEN_WORDS = re.compile(r"[\W_]+")
SHORTEST_NAME = 3


def named_as_liked(titles: Iterable[Title], criteria: str) -> tuple[Title, ...]:
    """Those of the titles that the criteria name to say what is liked ("like Berserk", "I loved Naruto and Bleach"), or
    consist of. Whoever says so knows them. Without such a word a name is only a word: "drama from real life" is not `Real`.
    """
    text = _spaced(criteria)
    says_so = _LIKING.search(text) is not None
    return tuple(
        t for t in titles if any(_stands_in(name, text, alone=not says_so) for name in (t.en, t.romaji, t.ja) if name)
    )


def _stands_in(name: str, text: str, *, alone: bool) -> bool:
    spaced = _spaced(name)
    if alone or len(spaced.strip()) < SHORTEST_NAME:
        return spaced == text
    return (spaced.strip() if has_cjk(spaced) else spaced) in text


def _spaced(text: str) -> str:
    return f" {_BETWEEN_WORDS.sub(' ', normalise(text)).strip()} "
