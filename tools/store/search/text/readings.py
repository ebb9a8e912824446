"""Finds the likely readings of a name in Japanese script, as sound keys.

Customers type kanji even if a catalogue has 浅野いにお only as "Asano, Inio". Each part of the name has readings of known
likelihood; an n-best Viterbi search (Schwartz & Chow 1990) finds the likeliest readings of the whole. Most readings found
are no real names, so a reading is compared with whole names only. A slip in typing kana (two characters swapped, a voicing
mark left out) changes too many letters of the romaji to look like a typo there. So each possible slip is undone in kana.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from tools.store.search.text.characters import has_kanji, is_kana, normalise, to_hiragana
from tools.store.search.text.romaji import sound_key

LONGEST = 8
"""Characters of the longest entry of the dictionary."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A Japanese dictionary: unparsed lines by spelling, with katakana as hiragana. Each look-up parses its line."""

    lines: Mapping[str, str]

    @classmethod
    @cache
    def load(cls) -> Dictionary:
        """Returns the shipped dictionary. The first call reads a file, which takes about 0.1 s."""
        packed = files("tools.store.search.text").joinpath("japanese.tsv.gz").read_bytes()
        rows = (line.partition("\t")[::2] for line in gzip.decompress(packed).decode().splitlines())
        return cls(dict(rows))

    def readings(self, written: str) -> tuple[tuple[str, int], ...]:
        """Returns pairs of hiragana and cost, likeliest first. The cost is -10 × ln(relative frequency)."""
        told = self.lines.get(written, "\t").split("\t")[0].split()
        return tuple((kana, int(cost)) for kana, cost in (each.split(":") for each in told))

    def has_english(self, written: str) -> bool:
        line = self.lines.get(written)
        return line is not None and line[-1] != "\t"

    def english(self, written: str) -> tuple[str, ...]:
        """Returns index terms (tokens.py) of the English translations. A verb or an adjective in kanji is also found without
        its last kana."""
        return tuple(self.lines.get(written, "\t").split("\t")[1].split())

    @staticmethod
    @cache
    def english_words() -> frozenset[str]:
        return frozenset(term for line in Dictionary.load().lines.values() for term in line.partition("\t")[2].split())


MOST = 32
_UNVOICED, _VOICED = "かきくけこさしすせそたちつてとはひふへほ", "がぎぐげござじずぜぞだぢづでどばびぶべぼ"
_VOICE = dict(zip(_UNVOICED + _VOICED, _VOICED + _UNVOICED, strict=True))
_STEP = 3
"""Cost of each part, so that fewer and longer parts are preferred."""
Path = tuple[int, str]


@lru_cache(maxsize=1_024)
def readings(text: str) -> tuple[str, ...]:
    """Returns at most 64 sound keys, likeliest first; none for other scripts, for more than 24 characters or 12 kanji, and
    for kana alone of fewer than 4 or more than 16 characters."""
    written = "".join(c for c in to_hiragana(normalise(text)) if c.isalnum() or c in "ー々")
    if len(written) > 24 or sum(map(has_kanji, written)) > 12:
        return ()
    if not (is_kana(written) or has_kanji(written)):
        return ()
    meant = _slips(written) if is_kana(written) else read_kanji(written)
    return tuple(dict.fromkeys(sound_key(each) for kana in meant for each in _apart(kana)))


def _apart(kana: str) -> Iterator[str]:
    """Yields the kana, and a copy with の split off as a particle before う: "no Umi" keeps a u that "noumi" loses."""
    yield kana
    if "のう" in kana:
        yield kana.replace("のう", "の う")


def _slips(kana: str) -> Iterator[str]:
    """Yields the kana, then copies with two neighbours swapped or a voicing mark added or removed. Only for 4 to 16 kana."""
    if not 4 <= len(kana) <= MOST // 2:
        return
    yield kana
    for i in range(len(kana) - 1):
        yield kana[:i] + kana[i + 1] + kana[i] + kana[i + 2 :]
    for i, letter in enumerate(kana):
        if letter in _VOICE:
            yield kana[:i] + _VOICE[letter] + kana[i + 1 :]


def read_kanji(written: str) -> list[str]:
    """Returns at most `MOST` readings in kana, likeliest first; none if a kanji is unknown to the dictionary."""
    paths: list[list[Path]] = [[(0, "")], *([] for _ in written)]
    for start in range(len(written)):
        best = paths[start] = sorted(set(paths[start]))[:MOST]
        for size, kana, cost in _steps(written, start) if best else ():
            paths[start + size].extend((so_far + cost, read + kana) for so_far, read in best)
    return [kana for _, kana in sorted(paths[-1])[:MOST]]


def _steps(written: str, start: int) -> Iterator[tuple[int, str, int]]:
    character = written[start]
    if not has_kanji(character):
        yield 1, character, 0
    for size in range(1, min(LONGEST, len(written) - start) + 1):
        part = written[start : start + size]
        if size > 1 or has_kanji(part):
            repeated = written[start - 1] if part == "々" and start else part
            for kana, cost in Dictionary.load().readings(repeated)[:6]:
                yield size, kana, cost + _STEP
