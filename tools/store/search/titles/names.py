"""The names of a title as keys, and how near a query is to one of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.store.models import Author, Title
from tools.store.search.text.characters import has_cjk, has_kanji, is_kana, normalise
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, sound, sound_key

_FAMOUS_RATINGS, _LAST_RANK = 400_000, 100_000


def prior(title: Title) -> float:
    """From 0 to 1, on a log scale: from the number of ratings, else from the rank, else 0.

    A static score beside what matches, as in Craswell et al., "Relevance weighting for query independent evidence" (SIGIR
    2005).
    """
    if title.rating_count:
        return min(1.0, math.log1p(title.rating_count) / math.log1p(_FAMOUS_RATINGS))
    if title.popularity_rank:
        return max(0.0, 1.0 - math.log(title.popularity_rank) / math.log(_LAST_RANK))
    return 0.0


_SUBTITLE = re.compile(r"\s*(?::| - |~|\(| part \d)\s*", re.IGNORECASE)
_MIN_MAIN = 3
MAIN_FACTOR = 0.95
"""A name before its subtitle counts a little less than a whole name."""
_HEARD_LEAST, _HEARD = 0.7, 0.84
"""Names of the same consonants and this alike by letters are one that was written by ear: "one peace", "dethe note"."""
_LOANWORD_BASE, _LOANWORD_NEAR, LOANWORD_LEAST = 0.75, 0.2, 0.35


@dataclass(frozen=True, slots=True)
class NameKeys:
    """Sound keys of a title's names: `whole` of all of them, `main` of their parts before a subtitle where that differs."""

    whole: tuple[str, ...]
    main: tuple[str, ...]

    @classmethod
    def of(cls, title: Title) -> NameKeys:
        names = names_of(title)
        whole = dict.fromkeys(sound_key(name) for name in names)
        main = dict.fromkeys(sound_key(_SUBTITLE.split(name.strip(), maxsplit=1)[0]) for name in names)
        return cls(
            tuple(key for key in whole if key),
            tuple(key for key in main if len(key) >= _MIN_MAIN and key not in whole),
        )

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.whole, *self.main)


def names_of(title: Title) -> tuple[str, ...]:
    """All names in all scripts. Kana that are not plain (ＮＡＲＵＴＯナルト) repeat another name and are left out."""
    kana = title.kana if title.kana and is_kana(normalise(title.kana)) else None
    names = (title.en, title.romaji, title.ja, kana, *title.alt_titles)
    return tuple(dict.fromkeys(n for n in names if n))


def heard(key: str, names: Sequence[str], near: NDArray[np.float64]) -> NDArray[np.float64]:
    """The likenesses `near` of the key to the names, raised where the key may be a spelling of the name by ear."""
    doubtful = np.flatnonzero((near >= _HEARD_LEAST) & (near < _HEARD))
    skeleton = consonants(key) if len(doubtful) and key.isascii() else ""
    if len(skeleton) >= MIN_CONSONANTS:
        for row in doubtful:
            name = names[int(row)]
            if name[0] == key[0] and name.isascii() and consonants(name) == skeleton:
                near[row] = _HEARD
    return near


def begun_likeness(key: str, name: str) -> float:
    """The likeness of a key to a name that begins with it, or equals it."""
    share = len(key) / len(name)
    return max(share, 0.78 + 0.15 * share) if len(key) >= _MIN_MAIN - 1 else share


def loanword_likeness(near: float) -> float:
    """How near a katakana text is to a Latin name with the same consonants (romaji.consonants), by how alike the two
    sound keys are."""
    return _LOANWORD_BASE + _LOANWORD_NEAR * near if near >= LOANWORD_LEAST else 0.0


MOST_NAMES = 64
"""Names that are looked up at once."""
MOST_TITLES = 20
"""Titles of one name in an answer, the best known."""
_SHORTEST_FAMILY, _SHORTEST_KANJI_FAMILY, _SHORTEST_CJK_MAIN = 3, 2, 3


class ExactName:
    """A name as it is asked for. `key`: by its sound; empty where nothing of it can be a name."""

    def __init__(self, asked: str) -> None:
        self.key = sound_key(asked)
        self._words = sound(asked).count(" ") + 1

    @property
    def may_precede_subtitle(self) -> bool:
        return len(self.key) >= _SHORTEST_CJK_MAIN if has_cjk(self.key) else self._words > 1

    @property
    def may_be_family(self) -> bool:
        """True if it may be the family name of an author in Latin letters, or in kana by its sound."""
        return self._words == 1 and len(self.key) >= _SHORTEST_FAMILY and not has_kanji(self.key)

    @property
    def may_be_written_family(self) -> bool:
        """True if it may be a family name in kanji: a prefix of the written name, in which nothing parts the two."""
        return has_kanji(self.key) and len(self.key) >= _SHORTEST_KANJI_FAMILY


def exact_names(asked: Sequence[str]) -> dict[str, ExactName]:
    """The first 64 of them that may be names."""
    names = {each: ExactName(each) for each in list(dict.fromkeys(asked))[:MOST_NAMES]}
    return {each: name for each, name in names.items() if name.key}


def family_key(author: Author) -> str:
    """The sound key of the family name; empty where the name has one part."""
    family, comma, _ = author.name.partition(",")
    return sound_key(family) if comma else ""
