"""Japanese words and name parts: how they are read, and what they are in English.

The table (japanese.tsv.gz; NOTICE.md beside it says whence, and under what licence) is made by infra/japanese/build.py. It
serves any catalogue that knows its titles and authors in Latin letters, or tells its stories in English.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LONGEST = 8
"""No entry is longer than this."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Lines by what is written, katakana as hiragana. A line is taken apart when it is asked for: few ever are."""

    lines: Mapping[str, str]

    @classmethod
    @cache
    def load(cls) -> Dictionary:
        """The table that is shipped. The first time it reads a file, which takes about 0.1 s."""
        packed = files("tools.store.search.text").joinpath("japanese.tsv.gz").read_bytes()
        rows = (line.partition("\t")[::2] for line in gzip.decompress(packed).decode().splitlines())
        return cls(dict(rows))

    def readings(self, written: str) -> tuple[tuple[str, int], ...]:
        """Hiragana and what each costs: ten times the negative logarithm of its share, the likeliest first."""
        told = self.lines.get(written, "\t").split("\t")[0].split()
        return tuple((kana, int(cost)) for kana, cost in (each.split(":") for each in told))

    def has_english(self, written: str) -> bool:
        """Whether it is known in English: quicker to ask than for the words."""
        line = self.lines.get(written)
        return line is not None and line[-1] != "\t"

    def english(self, written: str) -> tuple[str, ...]:
        """Index terms (tokens.py) of the English words for it, the commonest first; a verb may lack its ending."""
        return tuple(self.lines.get(written, "\t").split("\t")[1].split())

    @staticmethod
    @cache
    def english_words() -> frozenset[str]:
        """All index terms of the English words of the shipped table."""
        return frozenset(term for line in Dictionary.load().lines.values() for term in line.partition("\t")[2].split())
