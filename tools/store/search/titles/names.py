"""Compares queries with the names of titles, by their sound keys (text/romaji.py)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, count
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from tools.store.models import Author, Title
from tools.store.search.columns import Floats, Mask, Rows
from tools.store.search.text.characters import has_cjk, has_kanji, is_kana, normalise
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound, sound_key

_FAMOUS_RATINGS, _LAST_RANK = 400_000, 100_000


def prior(title: Title) -> float:
    """Returns a title's fame, 0 to 1 on a log scale: from the number of ratings, else from the popularity rank, else 0.
    Ranking uses it as a query-independent score (Craswell et al., SIGIR 2005)."""
    if title.rating_count:
        return min(1.0, math.log1p(title.rating_count) / math.log1p(_FAMOUS_RATINGS))
    if title.popularity_rank:
        return max(0.0, 1.0 - math.log(title.popularity_rank) / math.log(_LAST_RANK))
    return 0.0


_SUBTITLE = re.compile(r":| - |~|\(| part \d", re.IGNORECASE)
_MIN_MAIN = 3
MAIN_FACTOR = 0.95
"""Weight of a name's part before the subtitle: a little less than a whole name."""
_PHONETIC_LEAST, _PHONETIC = 0.7, 0.84
"""Least similarity by letters of a name to a key that spells it by ear ("one peace"), and the similarity it then gets."""
_LOANWORD_BASE, _LOANWORD_NEAR, LOANWORD_LEAST = 0.75, 0.2, 0.35


@dataclass(frozen=True, slots=True)
class NameKeys:
    """Sound keys of a title's names: `whole` of full names, `main` of the parts before a subtitle where these differ."""

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
    """Returns all names in all scripts. A kana field that is not only kana (ＮＡＲＵＴＯナルト) is left out."""
    kana = title.kana if title.kana and is_kana(normalise(title.kana)) else None
    names = (title.en, title.romaji, title.ja, kana, *title.alt_titles)
    return tuple(dict.fromkeys(n for n in names if n))


def boost_phonetic_matches(key: str, names: Sequence[str], near: NDArray[np.float64]) -> NDArray[np.float64]:
    """Raises the similarities `near` of the key to the names, in place, where the key may be the name written by ear ("one
    peace"). Returns `near`."""
    doubtful = np.flatnonzero((near >= _PHONETIC_LEAST) & (near < _PHONETIC))
    skeleton = consonants(key) if len(doubtful) and key.isascii() else ""
    if len(skeleton) >= MIN_CONSONANTS:
        for row in doubtful:
            name = names[int(row)]
            if name[0] == key[0] and name.isascii() and consonants(name) == skeleton:
                near[row] = _PHONETIC
    return near


def begun_likeness(key: str, name: str) -> float:
    share = len(key) / len(name)
    return max(share, 0.78 + 0.15 * share) if len(key) >= _MIN_MAIN - 1 else share


def loanword_likeness(near: float) -> float:
    """Returns the similarity of a katakana text to a Latin name with the same consonants. `near` is the similarity of their
    sound keys; below `LOANWORD_LEAST` the result is 0."""
    return _LOANWORD_BASE + _LOANWORD_NEAR * near if near >= LOANWORD_LEAST else 0.0


MOST_NAMES = 64
"""Most names that are looked up at once."""
MOST_TITLES = 20
"""Most titles in the answer for one name: the best known."""


class ExactName:
    """A name to look up exactly. `key` is its sound key; empty if the text cannot be a name."""

    def __init__(self, asked: str) -> None:
        self.key = sound_key(asked)
        self._words = sound(asked).count(" ") + 1

    @property
    def may_precede_subtitle(self) -> bool:
        return len(self.key) >= 3 if has_cjk(self.key) else self._words > 1

    @property
    def may_be_family(self) -> bool:
        return self._words == 1 and len(self.key) >= 3 and not has_kanji(self.key)

    @property
    def may_be_written_family(self) -> bool:
        """True if the name may be a family name in kanji, which is a prefix of the author's whole name."""
        return has_kanji(self.key) and len(self.key) >= 2


def exact_names(asked: Sequence[str]) -> dict[str, ExactName]:
    """Returns the `ExactName` of each text that may be a name, among the first `MOST_NAMES` different texts."""
    names = {each: ExactName(each) for each in list(dict.fromkeys(asked))[:MOST_NAMES]}
    return {each: name for each, name in names.items() if name.key}


def family_key(author: Author) -> str:
    """Returns the sound key of the family name, which precedes the comma; empty if the name has no comma."""
    family, comma, _ = author.name.partition(",")
    return sound_key(family) if comma else ""


LEAST = 0.5
"""Similarities below this need not be exact, since ranking does not use them."""


class NameTable:
    """The names of titles. Results are arrays of shape (titles,), 0 to 1. Read-only, so safe to share between threads.
    Subclasses may find names by an index: they override `_find_alike`, `_beginning` and `_of_consonants`."""

    def __init__(self, titles: Iterable[NameKeys]) -> None:
        keys: list[str] = []
        counts: list[int] = []
        for named in titles:
            keys += named.whole
            keys += named.main
            counts += (len(named.whole), len(named.main))
        groups = np.repeat(np.arange(len(counts)), np.array(counts, np.intp))
        self._store(keys, groups // 2, groups % 2 == 1, len(counts) // 2)

    def _store(self, keys: Sequence[str], owners: NDArray[np.signedinteger], main: Mask, titles: int) -> None:
        """Stores one row per name: its sound key, the row of its title (`owners`, ascending), and whether it is only the
        part of a name before the subtitle (`main`)."""
        self._keys, self._owners, self._titles = keys, owners, titles
        self._factors = np.where(main, MAIN_FACTOR, 1.0)

    def likeness(self, asked: Sequence[tuple[str, float]], among: Mask | None = None) -> Floats:
        """Returns, for each title, the highest product of a factor and the similarity of its key to one of the title's
        names; 0 outside `among`.

        `asked` has pairs of a sound key and a factor. Similarities are 1 for equal names, 0.95 for names equal before a
        subtitle, about 0.7 with a typo or two; those below `LEAST` may be too low. Typos count as edits with transposition
        (optimal string alignment; Damerau 1964). A key that begins a name scores 0.78 to 0.93, more the more of the name it
        covers, since readers stop typing early; a single character scores just its share. A key that sounds like a name
        scores 0.84."""
        found = np.zeros(self._titles, np.float32)
        for key, factor in asked:
            rows = self._find_alike(key, among)
            names = self._keys if rows is None else [self._keys[row] for row in rows.tolist()]
            near = cdist((key,), names, scorer=OSA.normalized_similarity, score_cutoff=LEAST, dtype=np.float64)[0]
            self._raise(found, rows, factor * boost_phonetic_matches(key, names, near))
        np.maximum(found, self._score_beginnings(asked), out=found)
        return found if among is None else np.where(among, found, np.float32(0.0))

    def beginning_with(self, keys: Sequence[str]) -> Floats:
        """Returns, for each title, the highest `begun_likeness` of a key to a name that begins with that key; else 0."""
        return self._score_beginnings([(key, 1.0) for key in keys])

    def spelled_in_katakana(self, text: str) -> Floats:
        """Returns the similarity of each title's nearest Latin name to a katakana text; 0 if no name is near."""
        found = np.zeros(self._titles, np.float32)
        skeleton = consonants(text) if is_loanword(text) else ""
        if len(skeleton) >= MIN_CONSONANTS:
            key = sound_key(text)
            rows = self._of_consonants(skeleton, key)
            near = [loanword_likeness(OSA.normalized_similarity(key, self._keys[row])) for row in rows]
            np.maximum.at(found, self._owners[rows], np.array(near, np.float32))
        return found

    def keys_of(self, title: int) -> tuple[str, ...]:
        first, last = np.searchsorted(self._owners, [title, title + 1])
        return tuple(self._keys[first:last])

    def _find_alike(self, key: str, among: Mask | None) -> Rows | None:
        """Returns the rows of names that may resemble the key, in titles `among` if given; None stands for all rows."""
        return None

    def _beginning(self, keys: tuple[str, ...]) -> list[int]:
        """Returns the rows of names that begin with a key. Loops in C, since there are thousands of names."""
        return list(compress(count(), map(methodcaller("startswith", keys), self._keys)))

    def _of_consonants(self, skeleton: str, key: str) -> list[int]:
        """Returns the rows of Latin names with these consonants. Consonants are costly, so skips names unlike the key."""
        near = cdist((key,), self._keys, scorer=OSA.normalized_similarity, score_cutoff=LOANWORD_LEAST)[0]
        latin = ((row, self._keys[row]) for row in np.flatnonzero(near).tolist())
        return [row for row, name in latin if name.isascii() and consonants(name) == skeleton]

    def _score_beginnings(self, asked: Sequence[tuple[str, float]]) -> Floats:
        found = np.zeros(self._titles, np.float32)
        rows = self._beginning(tuple(key for key, _ in asked))
        names = [self._keys[row] for row in rows]
        near = [max(factor * begun_likeness(key, n) for key, factor in asked if n.startswith(key)) for n in names]
        self._raise(found, np.array(rows, np.intp), np.array(near, np.float64))
        return found

    def _raise(self, found: Floats, rows: Rows | None, near: NDArray[np.float64]) -> None:
        """Raises `found`, in place, to the similarities of the names in `rows` (None: all). Parts of names count less."""
        hits = np.flatnonzero(near)
        picked = hits if rows is None else rows[hits]
        np.maximum.at(found, self._owners[picked], (near[hits] * self._factors[picked]).astype(np.float32))
