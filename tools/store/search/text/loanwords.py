"""Foreign words in katakana against their spelling: both lose what transliteration changes, which leaves the consonants.

モンスター and "monster" are both m-n-s-t, スラムダンク and "slam dunk" both s-r-m-d-n-k. It serves catalogues that know a
title by its Latin name only.
"""

from __future__ import annotations

import re

from tools.store.search.text.characters import normalise
from tools.store.search.text.romaji import to_romaji

_KATAKANA = re.compile(r"[\u30a1-\u30fcー・\s!?0-9]+")
_FOLDS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[^a-z0-9]", ""),
        (r"([a-z])\1+", r"\1"),
        (r"ph", "f"),
        (r"th", "s"),
        (r"ck|q", "k"),
        (r"c(?=[eiy])", "s"),
        (r"c(?!h)", "k"),
        (r"x", "ks"),
        (r"sh", "s"),
        (r"r(?![aeiouy])", ""),
        (r"l", "r"),
        (r"v", "b"),
        (r"m(?=[bp])", "n"),
        (r"ts", "t"),
        (r"[aeiouyw]", ""),
        (r"(?<=.)h(?=.|$)", lambda m: "h" if m.string[m.start() - 1] == "c" else ""),
    )
)
MIN_CONSONANTS = 3


def is_loanword(text: str) -> bool:
    """Whether `text` is katakana throughout (digits and spaces aside), three letters or more."""
    folded = normalise(text)
    return len(folded) >= 3 and _KATAKANA.fullmatch(folded) is not None


def consonants(text: str) -> str:
    """The consonant skeleton of a katakana or Latin text; empty or short ones say nothing."""
    folded = to_romaji(normalise(text))
    for pattern, replacement in _FOLDS:
        folded = pattern.sub(replacement, folded)
    return folded
