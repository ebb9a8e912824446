"""Aligns kanji with the parts of a reading: 荒木 and あらき give 荒 あら, 木 き."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from tools.store.search.text.characters import normalise, to_hiragana

KANJI = re.compile(r"[\u3400-\u9fff々]")
_VOICED = dict(zip("かきくけこさしすせそたちつてとはひふへほ", "がぎぐげござじずぜぞだぢづでどばびぶべぼ", strict=True))
_PLOSIVE = dict(zip("はひふへほ", "ぱぴぷぺぽ", strict=True))
_SPELLED_AS = {("は", "わ"), ("を", "お"), ("へ", "え"), ("づ", "ず"), ("ぢ", "じ"), ("ヶ", "が")}
_MOST_CHARACTERS = 40
Units = list[tuple[str, str]]


def plain(text: str) -> str:
    """Returns the text normalised, without spaces and punctuation, and with katakana as hiragana."""
    return re.sub(r"[^\w]|_", "", to_hiragana(normalise(text)))


class Aligner:
    """Aligns words with their readings. `readings`: the readings of each kanji, in hiragana."""

    def __init__(self, readings: Mapping[str, Iterable[str]]) -> None:
        self._readings = {
            kanji: sorted({v for r in known for v in _variants(r)}, key=len, reverse=True)
            for kanji, known in readings.items()
        }

    def align(self, written: str, read: str) -> Units | None:
        """Returns each character with its part of the reading; None if they do not fit, or the word is too long."""
        if len(written) > _MOST_CHARACTERS:
            return None

        @cache
        def rest(i: int, j: int) -> Units | None:
            if i == len(written):
                return [] if j == len(read) else None
            for part in self._may_be(written, i, read[j : j + 1]):
                if read.startswith(part, j) and (after := rest(i + 1, j + len(part))) is not None:
                    return [(written[i], part), *after]
            return None

        return rest(0, 0)

    def _may_be(self, written: str, i: int, heard: str) -> Iterable[str]:
        character = written[i]
        if KANJI.match(character):
            return self._readings.get(written[i - 1] if character == "々" and i else character, ())
        return [heard] if heard and (heard == character or (character, heard) in _SPELLED_AS) else []


def _variants(reading: str) -> set[str]:
    """Returns the reading as it is, with its first sound voiced, and with its last sound assimilated to the next (っ)."""
    found = {reading}
    for table in (_VOICED, _PLOSIVE):
        if reading[:1] in table:
            found.add(table[reading[0]] + reading[1:])
    found |= {each[:-1] + "っ" for each in found if len(each) > 1 and each[-1] in "つちくき"}
    return {each.replace("ぢ", "じ").replace("づ", "ず") for each in found} | found
