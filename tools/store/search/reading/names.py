"""Names that contain words which elsewhere state something: *No Longer Human*, *20th Century Boys*, 終わりのセラフ.

The catalogue is asked what goes by the whole text, by what is quoted in it, and by runs of its words around a claim. What it
knows by such a name protects the words:

- the whole text, with or without its filler, and what stands in quotes, always;
- a run of words that goes beyond the claim by more than filler, themes and tags, or is too long for an accident: "short
  program by adachi" names a title, "short romance" does not even where one is called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tools.store.models import Called, Conditions
from tools.store.search.query.parser import without_filler
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.subject import is_vague
from tools.store.search.text.characters import has_cjk
from tools.store.search.text.tokens import STOPWORDS, stem

MOST_NAMES = 64
"""Names that a catalogue looks for at once."""
_MOST_WORDS, _MOST_BESIDE, _MOST_BEYOND = 6, 8, 3
_NO_ACCIDENT = 4
"""Words of a name, or half its Japanese characters, that nobody puts together to say something else."""
_ASKS = re.compile(r"^(?:(?:is|are|was|has|does|did|will|do you have|manga) ){1,3}")
_PARTICLES = "のでにはがをな、, "
_WORD = re.compile(
    r"[a-z0-9'&.+-]+|[\u3400-\u9fff々〆]+|[\u30a0-\u30ff]+|[\u3041-\u309f]+?(?=[のなでがはをにと](?![\u3041-\u309f])"
    r"|(?![\u3041-\u309f]))"
)
_LATIN, _JA_FILLING = re.compile("[a-z0-9']+"), re.compile("[のなでがはをにと ]|もの|系")
_QUOTED = re.compile(r"「([^「」]{1,80})」|『([^『』]{1,80})』|\"([^\"]{1,80})\"")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of a text that may be a name: `text[start:end]`, asked for as `name`. `sure`: the whole text or quoted."""

    start: int
    end: int
    name: str
    sure: bool = False


def phrases_around(text: str, claims: Sequence[Claim]) -> tuple[Phrase, ...]:
    """What may be a name, the likeliest first: the whole, what is quoted, what stands beside a claim, then the runs of words
    around each, the longest first and those of all claims in turn. As many as a catalogue looks for."""
    runs = [sorted(_runs(text, claim), key=lambda phrase: phrase.start - phrase.end) for claim in claims]
    in_turn = (run[i] for i in range(max(map(len, runs), default=0)) for run in runs if i < len(run))
    sure = (*_whole(text), *_quoted(text), *_beyond(text, claims), *_beside(text, claims))
    phrases = {phrase.name: phrase for phrase in reversed((*sure, *in_turn))}
    return tuple(reversed(phrases.values()))[:MOST_NAMES]


def _whole(text: str) -> Iterator[Phrase]:
    yield Phrase(0, len(text), text, sure=True)
    core = without_filler(text)
    if core and core != text and (start := text.find(core)) >= 0:
        yield Phrase(start, start + len(core), core, sure=True)


def _quoted(text: str) -> Iterator[Phrase]:
    for match in _QUOTED.finditer(text):
        yield Phrase(*match.span(), next(filter(None, match.groups())), sure=True)


def _beyond(text: str, claims: Sequence[Claim]) -> Iterator[Phrase]:
    """What begins with the last word of an exclusion and goes on after it: "except death | note"."""
    for claim in claims[:_MOST_BESIDE]:
        if _excludes_themes(claim):
            start = max(claim.start, text.rfind(" ", claim.start, claim.end) + 1)
            ends = [match.end() for match in islice(_WORD.finditer(text, claim.end), _MOST_BEYOND)]
            yield from (Phrase(start, end, text[start:end]) for end in reversed(ends))


def _excludes_themes(claim: Claim) -> bool:
    """Of which the catalogue may have tags or none."""
    return bool(claim.conditions.without_tags) or (not claim.obeyed and claim.says.startswith("without"))


def excepted(claim: Claim, names: Iterable[Phrase], called: Mapping[str, Called]) -> Claim:
    """The claim, or where its last word begins a name that goes on after it, the same of that name."""
    if not _excludes_themes(claim):
        return claim
    for phrase in names:
        known = called.get(phrase.name, Called()).title_ids
        if known and claim.start < phrase.start < claim.end < phrase.end:
            excluded = Conditions(without_titles=known)
            return replace(claim, end=phrase.end, says=f"without {phrase.name}", conditions=excluded, obeyed=True)
    return claim


def _beside(text: str, claims: Sequence[Claim]) -> Iterator[Phrase]:
    """What is left before and after a claim, however long: "… finished"."""
    for claim in claims[:_MOST_BESIDE]:
        for start, end in ((0, claim.start), (claim.end, len(text))):
            words = _ASKS.sub("", without_filler(text[start:end]))
            if words and (at := text.find(words, start, end)) >= 0:
                yield Phrase(at, at + len(words), words)


def _runs(text: str, claim: Claim) -> Iterator[Phrase]:
    """Runs of whole words that hold the claim and a word more."""
    words = [match.span() for match in _WORD.finditer(text)]
    held = [i for i, (start, end) in enumerate(words) if start < claim.end and end > claim.start]
    if not held:
        return
    for first in range(max(0, held[-1] - _MOST_WORDS + 1), held[0] + 1):
        for last in range(held[-1], min(len(words), first + _MOST_WORDS)):
            start, end = words[first][0], words[last][1]
            if (start, end) != (claim.start, claim.end):
                yield Phrase(start, end, text[start:end])


def protected(text: str, claim: Claim, names: Iterable[Phrase], called: Mapping[str, Called]) -> bool:
    """Whether the words of the claim lie in a name that the catalogue knows."""
    return any(
        _covers(text, phrase, claim) and called.get(phrase.name, Called()).title_ids and _is_telling(text, phrase, claim)
        for phrase in names
    )


def _covers(text: str, phrase: Phrase, claim: Claim) -> bool:
    """Whether what the claim has beyond the phrase is filler at most: "boys manga" in "20th century boys manga"."""
    if phrase.start <= claim.start and claim.end <= phrase.end:
        return True
    if claim.end <= phrase.start or phrase.end <= claim.start:
        return False
    outside = f"{text[claim.start : phrase.start]} {text[phrase.end : claim.end]}"
    return not _ASKS.sub("", f"{without_filler(outside)} ").strip(_PARTICLES)


def _is_telling(text: str, phrase: Phrase, claim: Claim) -> bool:
    """Whether the phrase says more than the claim, filler and themes."""
    if phrase.sure:
        held = min(phrase.end, claim.end) - max(phrase.start, claim.start)
        return phrase.end - phrase.start > held or held == len(text)
    if len(phrase.name.split()) >= _NO_ACCIDENT or (has_cjk(phrase.name) and len(phrase.name) >= 2 * _NO_ACCIDENT):
        return True
    beyond = f"{text[phrase.start : claim.start]} {text[claim.end : phrase.end]}".strip()
    if is_vague(beyond) or len(beyond) < (2 if has_cjk(beyond) else 3):
        return False
    return _is_more_than_themes(beyond)


def _is_more_than_themes(words: str) -> bool:
    phrases = [theme.phrase for theme in ThemeTable.load().themes(words)]
    if has_cjk(words):
        return sum(map(len, phrases)) < len(_JA_FILLING.sub("", words))
    named = {word for phrase in phrases for word in phrase.split()}
    return any(stem(word) not in named for word in _LATIN.findall(words) if word not in STOPWORDS)
