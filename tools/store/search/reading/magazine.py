"""Where a series appeared: "from Shonen Jump", 少年ジャンプ連載, "published in Afternoon", 講談社の."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from tools.store.models import CatalogTerms, Conditions
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.magazine_names import MagazineNames
from tools.store.search.reading.publishers import publishers
from tools.store.search.reading.wordings import WORK

_REACH, _MOST_CUES = 60, 8
"""Characters before a name that say what it is, and places of each kind at which one is looked for."""
_PUBLISHED = (
    r"(?:(?:that |which )?(?:was |were |is |are )?(?:first )?(?:published|serialized|serialised|ran|running|runs"
    r"|appeared|printed|released|launched) )"
)
_CUE = re.compile(rf"\b(?:{_PUBLISHED}?(?:in|by) |from )(?:the )?(?:magazine |pages of )?|\bmagazine:? ")
_SURE_CUE = re.compile(
    rf"(?:{_PUBLISHED}(?:in|by)|^from|{WORK} from|magazine:?|something from|anything from) (?:the )?(?:magazine )?$"
)
_ALONE = re.compile(r"(?: manga| magazine)?(?: ?[,.?!;:]|$)")
_NAME = re.compile(r"[a-z0-9.+!'&-]{1,24}(?: [a-z0-9.+!'&-]{1,24}){0,4}")
_START = re.compile(
    r"\b(?:weekly |monthly |bessatsu )?(?:sh[ou]+nen|shoujo|shojo|young|big comic|weekly|monthly|jump|ultra jump"
    r"|hana to) [a-z+]"
)
_TAIL = re.compile(r"(?:'s)?(?: magazine)?(?= |$|[,.?!])")
_MAGAZINE = re.compile(r"(?:[a-z0-9.+!'&-]{1,24} ){1,4}magazine\b")
_JA_WORK = "(?:漫画|マンガ|まんが|作品|コミック)"
_JA_CUE = (
    rf"(?:(?:本誌)?(?:で|に|の)?(?:載って(?:い)?(?:た|る)|連載|掲載)(?:中|している|されている|された|の|していた)?"
    rf"|(?:系|発)?の?(?={_JA_WORK})|の(?=[^\s]{{0,12}}{_JA_WORK}))"
)
_JA = re.compile(
    rf"(?<![^\s、。のでにはがもとや(「『])(?P<name>(?:週刊|月刊|別冊|増刊|少年"
    rf"|少女){{0,3}}[ァ-ヶ][ァ-ヶー・]{{1,15}}(?:\+|プラス)?|花とゆめ)(?P<cue>{_JA_CUE})?"
    rf"|(?<![ぁ-ん])(?P<kana>[ぁ-ん]{{2,3}}[ぁ-ねは-ん]){_JA_CUE}"
)
_JA_SURE = re.compile(r"週刊|月刊|別冊|少年|少女|花とゆめ")


def magazines_from(terms: CatalogTerms) -> Find:
    """A finder of the magazines that the catalogue knows, and of publishers by theirs."""
    names = MagazineNames(terms.magazines)
    publisher = _publisher_pattern()

    def find(text: str) -> Iterator[Claim]:
        if not terms.magazines:
            return
        for cue in islice(_CUE.finditer(text), _MOST_CUES):
            sure = _SURE_CUE.search(text, max(0, cue.end() - _REACH), cue.end()) is not None
            yield from _named(text, cue.start(), cue.end(), names, alone=sure)
        for start in islice(_START.finditer(text), _MOST_CUES):
            yield from _named(text, start.start(), start.start(), names)
        for title in islice(_MAGAZINE.finditer(text), _MOST_CUES):
            yield from _before_magazine(title, names)
        yield from _in_japanese(text, names)
        yield from _publishers(publisher.finditer(text), names)

    return find


def _named(text: str, start: int, at: int, names: MagazineNames, *, alone: bool = False) -> Iterator[Claim]:
    """The longest name that stands at a place. One of a single word is a word of a story ("in opera") unless it ends the
    sentence or stands `alone` for a magazine."""
    run = _NAME.match(text, at)
    words = run[0].split(" ") if run else []
    if not words or not names.begin_with(words[0]):
        return
    for size in range(len(words), 0, -1):
        end = at + len(" ".join(words[:size]))
        tail = _TAIL.match(text, end)
        telling = size > 1 or alone or (text.startswith("from ", start) and _ALONE.match(text, end) is not None)
        if tail and telling and (found := names.named(text[at:end].rstrip(".'"))):
            yield _claim(start, tail.end(), found)
            return


def _before_magazine(match: re.Match[str], names: MagazineNames) -> Iterator[Claim]:
    """ "Morning magazine": the longest name that ends there."""
    words = match[0].split(" ")[:-1]
    for size in range(len(words), 0, -1):
        name = " ".join(words[-size:])
        if found := names.named(name):
            yield _claim(match.end() - len(f"{name} magazine"), match.end(), found)
            return


def _in_japanese(text: str, names: MagazineNames) -> Iterator[Claim]:
    for match in islice(_JA.finditer(text), _MOST_CUES):
        name = match["name"] or match["kana"]
        if match["name"] and match["cue"] is None and not _JA_SURE.match(name):
            continue
        if not ThemeTable.load().themes(name) and (found := names.named(name)):
            yield _claim(match.start(), match.end(), found)


def _publisher_pattern() -> re.Pattern[str]:
    latin = "|".join(filter(str.isascii, publishers()))
    other = "|".join(name for name in publishers() if not name.isascii())
    return re.compile(
        rf"(?:\b{_PUBLISHED}?(?:in|by|from) )?(?:\b(?P<en>{latin})\b(?:'s)?"
        rf"|(?P<ja>{other})(?!漫画賞|まんが賞|賞|書店)(?:から出ている|の|発行の|刊行の)?)"
    )


def _publishers(matches: Iterator[re.Match[str]], names: MagazineNames) -> Iterator[Claim]:
    for match in matches:
        publisher = publishers()[match["en"] or match["ja"]]
        magazines = tuple(dict.fromkeys(name for each in publisher.magazines for name in names.named(each)))
        conditions = Conditions(magazines=magazines)
        yield Claim(match.start(), match.end(), f"published by {publisher.name}", conditions, obeyed=bool(magazines))


def _claim(start: int, end: int, magazines: tuple[str, ...]) -> Claim:
    return Claim(start, end, f"from {magazines[0]}", Conditions(magazines=magazines))
