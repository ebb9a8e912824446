"""Defines `ParsedQuery`, the wordings of readerships, and the table of moods."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

from tools.store.models import Ordering
from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.characters import normalise

GENRE_WORDINGS = {
    "shonen": re.compile(r"\bsh[oō]u?nen\b(?! ai)|少年(?:漫画|マンガ|誌|向け)"),
    "seinen": re.compile(r"\bseinen\b|青年(?:漫画|マンガ|誌|向け)"),
    "shojo": re.compile(r"\bsh[oō]u?jo\b(?! ai)|少女(?:漫画|マンガ|誌|向け)"),
    "josei": re.compile(r"\bjosei\b|女性(?:漫画|マンガ|誌|向け)"),
    "kodomo": re.compile(r"\bkodomo\b|\bfor kids\b|児童(?:漫画|マンガ|書)|(?:子供|子ども)向け"),
}


_DEGREE = r"\b(?:an? (?:bit|little|touch)(?: of(?: an?)?)?|kind of|kinda|sort of|slightly|somewhat) "
_DEGREE_JA = "(?:少し|ちょっと|やや|ほんのり)"
_DENIED = r"\b(?:but )?(?:not|nothing|isn't|never)(?: (?:too|so|very|that|overly|really|all that|being))? "
_DENIED_JA = "(?:じゃ|では|すぎ|過ぎ|くは|く)(?:な[いく]|ありません|ず)"
_ADJECTIVE = "い"


@dataclass(frozen=True, slots=True)
class Tone:
    """A mood in terms of tags. `wanted`: tags that express it. `unwanted`: tags that contradict it."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToneTable:
    """Moods by phrase. In linear time, the pattern `phrases` finds the longest phrase at each position, together with a
    negation beside the phrase ("not silly", 甘すぎない)."""

    phrases: re.Pattern[str]
    tones: Mapping[str, Tone]

    @classmethod
    @cache
    def load(cls) -> ToneTable:
        rows = json.loads(files("tools.store.search.query").joinpath("tones.json").read_text(encoding="utf-8"))
        tones = {
            normalise(said): Tone(tuple(row["wanted"]), tuple(row["unwanted"]))
            for row in rows
            for said in (*row["en"], *row["ja"])
        }
        english = _longest_first(chain.from_iterable(row["en"] for row in rows))
        japanese = _longest_first(chain.from_iterable(row["ja"] for row in rows))
        stems = _longest_first(
            each.removesuffix(_ADJECTIVE) for row in rows for each in row["ja"] if each.endswith(_ADJECTIVE)
        )
        said = rf"\b(?P<en>{english})\b|(?P<stem>{stems})(?={_DENIED_JA})|(?P<ja>{japanese})"
        return cls(re.compile(rf"(?:(?P<not>{_DENIED})|{_DEGREE}|{_DEGREE_JA})?(?:{said})(?P<denied>{_DENIED_JA})?"), tones)

    def read(self, text: str) -> tuple[tuple[Tone, ...], str]:
        """Returns the moods in a normalised text, and the text without the words for them. A negated mood becomes unwanted
        tags, except tags that the text asks for elsewhere: "funny but not silly" may be funny."""
        found = list(self.phrases.finditer(text))
        left = self.phrases.sub(" ", text)
        named = [self.tones[match["en"] or match["ja"] or match["stem"] + _ADJECTIVE] for match in found]
        tones = [(tone, bool(match["not"] or match["denied"])) for tone, match in zip(named, found, strict=True)]
        wanted = dict.fromkeys(tone for tone, denied in tones if not denied)
        denied = dict.fromkeys(tone for tone, denied in tones if denied and tone not in wanted)
        if not denied:
            return tuple(wanted), left
        asked = {tag for tone in wanted for tag in tone.wanted} | {
            tag for theme in ThemeTable.load().themes(left) for tag in theme.tags
        }
        wrong = (Tone((), tuple(tag for tag in tone.wanted if tag not in asked)) for tone in denied)
        return (*wanted, *wrong), left


def _longest_first(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(each) for each in sorted({normalise(p) for p in phrases}, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query; None or empty if it lacks them.

    Names are sound keys (text/romaji.py), words are index terms (text/tokens.py). `text`: the normalised query without words
    for an ordering or a mere reason. `subject`: the text without filler words, to match with titles. `names`: the query as a
    title's name, with and without filler words. `aliases`: names that the query is a nickname of. `author`: a name that the
    wording marks as an author's. `same_author_as`, `similar_to`: the name of a title that the query refers to. `themes`: for
    each theme named, the tags that satisfy it. `theme_share`: the share of themes and moods in the subject, 0 to 1. `genre`:
    the readership. `terms`: the words of the subject. `translated`: for each Japanese word of the subject, its English
    words. `readings`: likely readings of a subject in Japanese script. `moods`: the moods named, without words for them in
    `themes`. `ordering`: the ordering asked for."""

    text: str
    subject: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    author: str | None
    same_author_as: str | None
    similar_to: str | None
    themes: tuple[tuple[str, ...], ...]
    theme_share: float
    genre: str | None
    terms: tuple[str, ...]
    translated: tuple[tuple[str, ...], ...]
    readings: tuple[str, ...] = ()
    moods: tuple[Tone, ...] = ()
    ordering: Ordering | None = None

    @property
    def translations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for group in self.translated for term in group))

    @property
    def empty(self) -> bool:
        """True if the query leaves nothing to search for: filler alone, an ordering, or the author that the conditions
        require. Every title that meets the conditions then matches."""
        return not self.names

    @property
    def reference_title(self) -> str | None:
        return self.same_author_as or self.similar_to

    def titles_beside_authors(self) -> list[tuple[str, str]]:
        """Returns guesses at an author and a title named together, as in 'berserk miura': the first or the last word as the
        author, the rest as the title. Empty unless the subject has two to four words."""
        words = self.subject.split()
        if not 2 <= len(words) <= 4:
            return []
        return [(words[0], " ".join(words[1:])), (words[-1], " ".join(words[:-1]))]
