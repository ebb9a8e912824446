"""What a text says in so many words: themes that it names, the readership, and how much it says at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.store.search.query.themes import ThemeTable
from tools.store.search.query.wordings import GENRES
from tools.store.search.text.characters import has_cjk, normalise
from tools.store.search.text.tokens import words

_ENOUGH = 5
"""Words of content from which on a text says as much of a story as its labels were fitted on."""
_LETTERS_A_WORD = 2.5
"""Of Japanese, which sets no spaces."""
_BEGINNING = 500
"""Characters in which whatever tells of a story has told enough: no more are counted, for answers are worded on the loop."""
_EXPLICIT = (
    r"\b(?:18\+|r-?18\+?|adults?[- ]only|hentai|erotica?|smut|porn(?:ographic)?|x[- ]rated|nsfw|for adults only)(?![a-z])"
)
_EXPLICIT_JA = (
    "(?:成人(?:向け|指定)|18禁|r-?18|官能|エロ(?:漫画|マンガ|本|同人)"
    "|アダルト(?:漫画|マンガ|コミック|向け|(?=なし|抜き|以外)))"
)
_ADULT = re.compile(rf"{_EXPLICIT}|{_EXPLICIT_JA}")


@dataclass(frozen=True, slots=True)
class Said:
    """`telling`: how much of a story so many words can tell, 0 to 1."""

    tags: frozenset[str] = frozenset()
    readerships: frozenset[str] = frozenset()
    telling: float = 1.0


def telling(text: str) -> float:
    """1 from a short sentence on. Goes by the text's beginning."""
    plain = normalise(text[:_BEGINNING])
    japanese = sum(map(has_cjk, plain))
    latin = len(set(words(plain))) if japanese < len(plain) / 2 else 0
    return min(1.0, max(latin, japanese / _LETTERS_A_WORD) / _ENOUGH)


def is_explicit(text: str) -> bool:
    """Whether it speaks of what is for adults alone."""
    return _ADULT.search(normalise(text)) is not None


def said_in(text: str) -> Said:
    """Reads each part of the text once. Blocking: some milliseconds for 2,000 characters."""
    plain = normalise(text)
    tags = frozenset(tag for theme in ThemeTable.load().themes(text) for tag in theme.tags)
    readerships = frozenset(genre for genre, wording in GENRES.items() if wording.search(plain))
    return Said(tags, readerships, telling(text))
