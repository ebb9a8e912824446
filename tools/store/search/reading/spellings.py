"""Finds misspelled Japanese phrases: wholly or partly in kana, with another kanji of the same sound, or in katakana with one
letter added, missing, changed or moved."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from rapidfuzz.distance import OSA

from tools.store.search.reading.tables import Lexicon, fold_japanese, left_out
from tools.store.search.reading.tokens import Entry, Is
from tools.store.search.text.characters import has_kanji, to_hiragana
from tools.store.search.text.readings import Dictionary, read_kanji

_LONGEST, _LEAST_KANA, _LEAST_KATAKANA = 5, 4, 5
"""Most kanji of a phrase; fewest letters of a spelling in kana; fewest letters of a katakana word that may be misspelled."""
_MOST_SOUNDS, _READINGS = 12, 2
"""Most readings that are tried of one kanji, and of a phrase."""
_KANJI, _KATAKANA = re.compile(f"[\u3400-\u9fff]{{2,{_LONGEST}}}"), re.compile("[\u30a1-\u30fc]+")
_ALIKE = str.maketrans("ソシヅァィゥェォャュョッ", "ンツツアイウエオヤユヨツ")
"""Katakana that look alike."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """Maps altered forms to known words. `masked`: a phrase with one kanji replaced by "_" to the phrases and that kanji.
    `katakana`: a word without one letter to the words it may be. `alike`: a word with lookalike katakana unified to the
    word."""

    masked: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    katakana: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    alike: dict[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, lexicon: Lexicon) -> Spellings:
        """Builds the indexes from the facts in the lexicon, and adds their spellings in kana to the lexicon."""
        made = cls()
        for written in sorted(lexicon.written):
            in_kanji = _KANJI.fullmatch(written) is not None
            if not in_kanji and _KATAKANA.fullmatch(written) is None:
                continue
            entries = tuple(each for each in lexicon.japanese.get(fold_japanese(written), ()) if each.kind is Is.FACT)
            if not entries:
                continue
            if in_kanji:
                for i, kanji in enumerate(written):
                    made.masked[f"{written[:i]}_{written[i + 1 :]}"].append((written, kanji))
                for spelled in _in_kana(written):
                    _add(lexicon, spelled, entries)
            else:
                made.alike[written.translate(_ALIKE)] = written
                for left in left_out(written) if len(written) >= _LEAST_KATAKANA - 1 else ():
                    made.katakana[left].append(written)
        return made

    def find_homophone(self, run: str, least: int) -> str | None:
        """Returns a known phrase, longer than `least`, that equals the beginning of this run of kanji except for one kanji
        with the same sound; None if there is none, or if the dictionary has a beginning of the run at least as long."""
        known = Dictionary.load().lines
        for size in range(min(len(run), _LONGEST), max(1, least), -1):
            piece = run[:size]
            if piece in known:
                return None
            for i, kanji in enumerate(piece):
                for phrase, meant in self.masked.get(f"{piece[:i]}_{piece[i + 1 :]}", ()):
                    if not _sounds(kanji).isdisjoint(_sounds(meant)):
                        return phrase
        return None

    def find_katakana(self, run: str) -> str | None:
        """Returns the known word that looks like the katakana `run` or differs in one letter; None if there is none, or if
        the dictionary has the run."""
        if to_hiragana(run) in Dictionary.load().lines:
            return None
        if (same := self.alike.get(run.translate(_ALIKE))) is not None:
            return same
        if len(run) < _LEAST_KATAKANA:
            return None
        near = {each for left in left_out(run) for each in self.katakana.get(left, ())}
        close = [each for each in near if OSA.distance(run, each) == 1]
        return min(close, key=lambda each: (each[0] != run[0], each), default=None)


@lru_cache(maxsize=4_096)
def _sounds(kanji: str) -> frozenset[str]:
    return frozenset(kana for kana, _ in Dictionary.load().readings(kanji)[:_MOST_SOUNDS])


def _in_kana(written: str) -> Iterator[str]:
    known = [kana for kana, _ in Dictionary.load().readings(written)] or dict.fromkeys(read_kanji(written))
    for kana in list(known)[:_READINGS]:
        yield kana
        parts = next(_split(written, kana), ())
        for i in range(1, len(parts)):
            yield "".join(parts[:i]) + written[i:]
            yield written[:i] + "".join(parts[i:])


def _split(written: str, kana: str) -> Iterator[tuple[str, ...]]:
    if not written:
        if not kana:
            yield ()
        return
    for sound in _sounds(written[0]):
        if sound and kana.startswith(sound):
            yield from ((sound, *rest) for rest in _split(written[1:], kana[len(sound) :]))


def _add(lexicon: Lexicon, spelled: str, entries: Iterable[Entry]) -> None:
    key = fold_japanese(spelled)
    if key in lexicon.japanese or len(key) < (3 if has_kanji(key) else _LEAST_KANA):
        return
    for entry in entries:
        lexicon.hold(key, entry)
