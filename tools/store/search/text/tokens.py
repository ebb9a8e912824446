"""Converts text to index terms: stemmed Latin words and CJK bigrams for prose, character n-grams for names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache

from tools.store.search.text.characters import normalise

MOST = 200
"""Most rows that one prefix finds: a very short one would find half a catalogue."""
_LAST = "\U0010ffff"


class SortedKeys:
    """A sorted index of rows by key, for prefix search. Read-only after construction, so safe to share between threads."""

    def __init__(self, rows: Iterable[tuple[str, int]]) -> None:
        ordered = sorted(rows)
        self._keys = [key for key, _ in ordered]
        self._rows = [row for _, row in ordered]

    def beginning_with(self, prefix: str, most: int | None = MOST) -> list[int]:
        """Returns the rows whose key begins with `prefix`, in the order of their keys: at most `most`, or all if None."""
        start = bisect_left(self._keys, prefix)
        stop = bisect_left(self._keys, prefix + _LAST, lo=start)
        return self._rows[start : stop if most is None else min(stop, start + most)]


_RUNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af々〆]+|[^\W_]+(?:'[^\W_]+)?")
_CJK_START = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af々〆]")
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_STOPWORDS = """
a an and are as at be because become becomes been but by can for from gets go goes had has have he her him his how in into is
it its just me my no not of on one or our out she so some than that the their them they this to too up very was we what when
where which while who whom whose will with you your after before about all also any only other over then there these those
through under until
"""
STOPWORDS = frozenset(_STOPWORDS.split())
"""English words that say nothing of a story. "no" and "one" are here too, since names are matched by sound, not by words."""


def words(text: str) -> list[str]:
    """Returns the index terms of prose, in order: stemmed Latin words without stopwords, and overlapping bigrams of CJK
    text. Bigrams of hiragana alone are left out, since nearly all are grammar (して, から)."""
    terms: list[str] = []
    for run in _RUNS.findall(normalise(text)):
        if _CJK_START.match(run):
            terms.extend(bigrams(run))
        elif run not in STOPWORDS:
            terms.append(stem(run))
    return terms


def bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for i in range(len(run) - 1):
        pair = run[i : i + 2]
        if not _HIRAGANA.fullmatch(pair):
            yield pair


@lru_cache(maxsize=4_096)
def stem(word: str) -> str:
    """Removes the English inflection of a word, by a light suffix stripper like Harman's S-stemmer (1991)."""
    base = word.removesuffix("'s").replace("'", "")
    for suffix, replacement in (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if base.endswith(suffix) and len(base) - len(suffix) >= 3 and not base.endswith(("ss", "us", "is")):
            return _tidy(base[: -len(suffix)] + replacement)
    return _tidy(base)


def _tidy(base: str) -> str:
    """Normalises a stem after its suffix is removed: hidd(ing) becomes hid, danc(ing) and dance become danc."""
    if len(base) > 3 and base[-1] == base[-2] and base[-1] in "bdgmnprt":
        return base[:-1]
    return base[:-1] if len(base) > 3 and base.endswith("e") else base


def grams(key: str) -> list[str]:
    """Returns the n-grams of a sound key: of Latin, bigrams and trigrams with marked ends; of CJK, characters and
    bigrams."""
    if _CJK_START.search(key):
        return [*key, *(key[i : i + 2] for i in range(len(key) - 1))]
    marked = f"^{key}$"
    return [marked[i : i + n] for n in (2, 3) for i in range(len(marked) - n + 1)]
