"""Moods and situations as tags: what suits who feels like that, and what is the wrong tone.

The table (tones.json) is this project's own. It knows no title: only what readers say of themselves and what a bookseller
would make of it, in the themes of any manga catalogue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.characters import normalise

_DEGREE = r"\b(?:an? (?:bit|little|touch)(?: of(?: an?)?)?|kind of|kinda|sort of|slightly|somewhat) "
_DEGREE_JA = "(?:少し|ちょっと|やや|ほんのり)"
_DENIED = r"\b(?:but )?(?:not|nothing|isn't|never)(?: (?:too|so|very|that|overly|really|all that|being))? "
_DENIED_JA = "(?:じゃ|では|すぎ|過ぎ|くは|く)(?:な[いく]|ありません|ず)"
_ADJECTIVE = "い"


@dataclass(frozen=True, slots=True)
class Tone:
    """`wanted`: tags of which a title has to carry one, where there are any. `unwanted`: those of the wrong tone."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToneTable:
    """`phrases` finds what is said of a mood, the longest at each place, and whether it is `denied` ("not silly",
    甘すぎない); in time linear in the text."""

    phrases: re.Pattern[str]
    tones: Mapping[str, Tone]

    @classmethod
    @cache
    def load(cls) -> ToneTable:
        """The table that is shipped. The first time it reads a file."""
        rows = json.loads(files("tools.store.search.query").joinpath("tones.json").read_text(encoding="utf-8"))
        tones = {normalise(said): _tone(row) for row in rows for said in (*row["en"], *row["ja"])}
        english = _longest_first(chain.from_iterable(row["en"] for row in rows))
        japanese = _longest_first(chain.from_iterable(row["ja"] for row in rows))
        stems = _longest_first(
            each.removesuffix(_ADJECTIVE) for row in rows for each in row["ja"] if each.endswith(_ADJECTIVE)
        )
        said = rf"\b(?P<en>{english})\b|(?P<stem>{stems})(?={_DENIED_JA})|(?P<ja>{japanese})"
        return cls(re.compile(rf"(?:(?P<not>{_DENIED})|{_DEGREE}|{_DEGREE_JA})?(?:{said})(?P<denied>{_DENIED_JA})?"), tones)

    def read(self, text: str) -> tuple[tuple[Tone, ...], str]:
        """The moods that a normalised text names, and what is left of it without their words. Of one that is denied the tone
        is wrong, but for what is asked for besides: "funny but not silly" may be funny."""
        found = list(self.phrases.finditer(text))
        left = self.phrases.sub(" ", text)
        tones = [(self._meant(match), bool(match["not"] or match["denied"])) for match in found]
        wanted = dict.fromkeys(tone for tone, denied in tones if not denied)
        denied = dict.fromkeys(tone for tone, denied in tones if denied and tone not in wanted)
        if not denied:
            return tuple(wanted), left
        asked = {tag for tone in wanted for tag in tone.wanted} | {
            tag for theme in ThemeTable.load().themes(left) for tag in theme.tags
        }
        wrong = (Tone((), tuple(tag for tag in tone.wanted if tag not in asked)) for tone in denied)
        return (*wanted, *wrong), left

    def _meant(self, match: re.Match[str]) -> Tone:
        return self.tones[match["en"] or match["ja"] or match["stem"] + _ADJECTIVE]


def _tone(row: Mapping[str, list[str]]) -> Tone:
    return Tone(tuple(row["wanted"]), tuple(row["unwanted"]))


def _longest_first(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(each) for each in sorted({normalise(p) for p in phrases}, key=len, reverse=True))
