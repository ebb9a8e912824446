"""Recognises names of magazines and publishers in any spelling: "Shounen Jump (Weekly)", "Weekly Shonen Jump" and
週刊少年ジャンプ are the same magazine."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf

from rapidfuzz.distance import OSA

from tools.store.search.text.characters import normalise
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.romaji import consonants, is_loanword, sound_key
from tools.store.search.text.tokens import stem

_PERIODS = dict.fromkeys(("weekly", "shukan", "週刊"), "weekly")
_PERIODS |= dict.fromkeys(("monthly", "gekkan", "月刊"), "monthly")
_PERIOD = re.compile(rf"\(?\b(?:{'|'.join(_PERIODS)})\b\)?|週刊|月刊")
_KANJI = {
    "少年": "shonen ",
    "少女": "shojo ",
    "別冊": "bessatsu ",
    "増刊": " zoukan",
    "花とゆめ": "hana to yume",
    "プラス": " plus",
}
_TAKEN_FOR_GRANTED = ("shonen",)
"""First words that readers leave out of a magazine's name: Jump is Shonen Jump."""
_OF_HOUSES = tuple(
    map(sound_key, ("media", "comics", "entertainment", "press", "publishing", "books", "manga", "publisher", "usa"))
)
"""Sound keys of last words that people omit from a publisher's name: VIZ stands for VIZ Media."""
_FEWEST_CONSONANTS, _LONG_NAME, _DEAR = 3, 7, 20
"""Fewest consonants of a name to find it by them, and to find it if one differs; look-ups charged for comparing all
names."""
_NOT_KATAKANA = re.compile("[\u3400-\u9fff+]")
_LEAST_OF_A_NAME = 4
_LENGTHENED = "ー"
"""The sign of a long vowel, which sound keys lack. A name with it is not the magazine of that key: リボーン is not Ribon."""
_WELL_KNOWN = 1_000
"""A magazine that has at least one in so many of the titles is found by the consonants of any of its names. Other magazines
are found only by those of names with three or more words."""
_LEAST_ALIKE = 0.45
"""Least similarity, 0 to 1, of the sound keys of a katakana name and a Latin one whose consonants agree."""
_MOST_ASKED, _ASKED_A_LETTER = 40, 0.1
"""Most look-ups of one text, and further ones for each of its characters: twice what real texts need. Each takes 10 µs."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A name in comparable form: sound keys of its words, and its period ("weekly" or "monthly"), if any."""

    words: tuple[str, ...]
    period: str | None

    @classmethod
    def of(cls, name: str) -> Spelled:
        folded = normalise(name).replace("+", " plus").replace(" and ", " ")
        period = next((_PERIODS[match[0].strip("()")] for match in _PERIOD.finditer(folded)), None)
        plain = _PERIOD.sub(" ", folded)
        for kanji, latin in _KANJI.items():
            plain = plain.replace(kanji, latin)
        plain = plain.replace("コミック", " comic ") if plain != "コミック" else plain
        words = tuple(filter(None, map(sound_key, re.split(r"[\s.!:'&-]+", plain))))
        return cls(words, period)


@dataclass(frozen=True, slots=True)
class _Magazine:
    name: str
    spelled: Spelled


def _skeleton(words: Iterable[str]) -> str:
    return "".join(map(consonants, words))


class MagazineNames:
    """Finds the magazines of a catalogue by their names, and by the shorter forms that people use."""

    def __init__(self, magazines: Mapping[str, int]) -> None:
        total = sum(magazines.values())
        self._by_words: dict[tuple[str, ...], list[_Magazine]] = defaultdict(list)
        self._by_consonants: dict[str, list[_Magazine]] = defaultdict(list)
        for name in sorted(magazines, key=lambda name: -magazines[name]):
            magazine = _Magazine(name, Spelled.of(name))
            for words in _in_talk(magazine.spelled.words):
                self._by_words[words].append(magazine)
                if magazines[name] * _WELL_KNOWN >= total or len(words) > 2:
                    self._by_consonants[_skeleton(words)].append(magazine)
        self._begin = frozenset(words[0] for words in self._by_words if words) | _PERIODS.keys()
        self._left: float = inf
        self._within = frozenset(word for words in self._by_words for word in words) | _PERIODS.keys()

    def begin_with(self, word: str) -> bool:
        return word in self._begin or sound_key(word.replace("+", " plus").split(" ")[0]) in self._begin

    def may_hold(self, word: str) -> bool:
        """Returns True if a magazine's name may contain the word; always True for signs and "and"."""
        return not word.isalnum() or word == "and" or word in self._within or sound_key(word) in self._within

    def of_text(self, letters: int) -> MagazineNames:
        """Returns a copy for one text of `letters` characters, which finds nothing after a limited number of look-ups.
        Without a limit, a text made of beginnings of names would take 50 ms."""
        own = copy(self)
        own._left = _MOST_ASKED + _ASKED_A_LETTER * letters
        return own

    def named(self, name: str) -> tuple[str, ...]:
        """Returns all spellings in the catalogue of the magazine with this name; () if there is none, or if the text has
        used up its look-ups. Of several magazines, takes the one with the most titles. A name with "weekly" or "monthly"
        finds magazines of that period or, if there are none, without a period."""
        self._left -= 1
        if self._left < 0:
            return ()
        spelled = Spelled.of(name)
        exact = [] if _LENGTHENED in name else self._by_words.get(spelled.words)
        found = exact or self._sounding(name, spelled)
        if spelled.period:
            periods = [each.spelled.period for each in found]
            asked = spelled.period if spelled.period in periods else None
            found = [each for each in found if each.spelled.period == asked]
        return tuple(each.name for each in found if each.spelled == found[0].spelled)

    def sharing(self, name: str, found: Sequence[str]) -> tuple[str, ...]:
        """Returns the magazines whose names have the last word of `found[0]`, if `name` is that word ("jump"); else none."""
        spelled = Spelled.of(name)
        last = Spelled.of(found[0]).words[-1:] if found else ()
        if spelled.period or not last or len(spelled.words) != 1 or _skeleton(spelled.words) != _skeleton(last):
            return ()
        sharing = (each for words, named in self._by_words.items() if set(last) & set(words) for each in named)
        return tuple(dict.fromkeys(each.name for each in sharing))

    def _sounding(self, name: str, spelled: Spelled) -> list[_Magazine]:
        if not is_loanword(_NOT_KATAKANA.sub("", name)) or len(_skeleton(spelled.words)) < _FEWEST_CONSONANTS:
            return []
        said, bare = "".join(spelled.words), _skeleton(spelled.words)
        alike = self._by_consonants.get(bare, [])
        if not alike and len(bare) >= _LONG_NAME and self._left > _DEAR:  # "original" and オリジナル differ in one consonant
            self._left -= _DEAR
            near_by = (each for key, each in self._by_consonants.items() if OSA.distance(bare, key, score_cutoff=1) <= 1)
            alike = next(near_by, [])
        near = [each for each in alike if _alike(said, each.spelled)]
        talked_of = {"".join(words) for each in near for words in _in_talk(each.spelled.words)}
        return [] if _LENGTHENED in name and said in talked_of else near


def _in_talk(words: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    yield words
    if len(words) > 1 and words[-1] in _OF_HOUSES:
        yield words[:-1]
    if len(words) > 1 and words[0] in _TAKEN_FOR_GRANTED and words[1:] != (sound_key("magazine"),):
        yield words[1:]
    if len(words) == 2 and words[-1] == sound_key("comic") and len(words[0]) > _LEAST_OF_A_NAME:
        yield words[:1]
    if len(words) > 1 and words[-1] == sound_key("magazine") and words[-2] not in (*_TAKEN_FOR_GRANTED, sound_key("young")):
        yield words[:-1]


def _alike(said: str, spelled: Spelled) -> bool:
    talked_of = map("".join, _in_talk(spelled.words))
    return any(OSA.normalized_similarity(said, each) >= _LEAST_ALIKE for each in talked_of)


@dataclass(frozen=True, slots=True)
class Publisher:
    name: str
    spelled: tuple[str, ...]
    magazines: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.spelled, *self.magazines)


@cache
def publishers() -> tuple[Publisher, ...]:
    table = json.loads(files("tools.store.search.reading").joinpath("publishers.json").read_text(encoding="utf-8"))
    return tuple(Publisher(name, tuple(row["spelled"]), tuple(row["magazines"])) for name, row in table.items())


def is_ordinary(name: str) -> bool:
    """Returns True if a name has an ordinary English word, so that it counts only beside a word such as "from"."""
    return any(stem(word) in Dictionary.english_words() for word in name.split())
