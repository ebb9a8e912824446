"""The names of a title as keys, and how near a query is to one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rapidfuzz.distance import OSA

from tools.store.models import Title
from tools.store.search.romaji import sound_key
from tools.store.search.text import is_kana, normalise

_SUBTITLE = re.compile(r"\s*(?::| - |~|\(| part \d)\s*", re.IGNORECASE)
_MIN_MAIN = 3
MAIN_FACTOR = 0.95
"""A name before its subtitle counts a little less than a whole name."""
ALIAS_FACTOR = 0.98
"""A name that the query is a nickname of counts a little less than the name itself."""
_LOAN_BASE, _LOAN_NEAR, LOAN_LEAST = 0.75, 0.2, 0.35


@dataclass(frozen=True, slots=True)
class NameKeys:
    """`whole` are the sound keys of all names; `main` those of their parts before a subtitle, where that differs."""

    whole: tuple[str, ...]
    main: tuple[str, ...]


def names_of(title: Title) -> tuple[str, ...]:
    """All names in all scripts. A reading that is not plain kana (ＮＡＲＵＴＯナルト) repeats another name and is left
    out.
    """
    kana = title.kana if title.kana and is_kana(normalise(title.kana)) else None
    names = (title.en, title.romaji, title.ja, kana, *title.alt_titles)
    return tuple(dict.fromkeys(n for n in names if n))


def name_keys(title: Title) -> NameKeys:
    names = names_of(title)
    whole = tuple(dict.fromkeys(k for n in names if (k := sound_key(n))))
    main = dict.fromkeys(k for n in names if len(k := sound_key(_SUBTITLE.split(n.strip(), maxsplit=1)[0])) >= _MIN_MAIN)
    return NameKeys(whole, tuple(k for k in main if k not in whole))


def one_likeness(key: str, name: str) -> float:
    """How near two sound keys are, 0 to 1: 1 is equal, about 0.7 a typo or two.

    Typos count as edits with transposition (optimal string alignment; Damerau 1964) over the length of the longer one.
    A query that begins a name counts by how much of the name it covers, since readers stop typing early.
    """
    return begun_likeness(key, name) if name.startswith(key) else float(OSA.normalized_similarity(key, name))


def begun_likeness(key: str, name: str) -> float:
    """How near a key is to a name that begins with it, or is it."""
    share = len(key) / len(name)
    return max(share, 0.78 + 0.15 * share) if len(key) >= _MIN_MAIN - 1 else share


def loan_likeness(near: float) -> float:
    """How near a katakana text is to a Latin name with the same consonants (loans.py), by how alike the two sound
    keys are."""
    return _LOAN_BASE + _LOAN_NEAR * near if near >= LOAN_LEAST else 0.0
