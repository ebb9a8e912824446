"""The finder of what is not wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from tools.store.search.query.aversions import Kind
from tools.store.search.query.themes import ThemeTable
from tools.store.search.query.tones import ToneTable
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.permission import PERMITTED
from tools.store.search.reading.unwanted.english import english_exclusions
from tools.store.search.reading.unwanted.exclusion import Exclusion
from tools.store.search.reading.unwanted.japanese import japanese_exclusions
from tools.store.search.reading.vocabulary import Named, Vocabulary
from tools.store.search.text.characters import has_cjk


class Unwanted:
    """Finds exclusions by the vocabulary of a catalogue; a pure function of the text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> Iterator[Claim]:
        """Claims that do not overlap, of a normalised text."""
        found = tuple(_apart(_exclusions(text, self._vocabulary.named(text))))
        asked = _asked(text, found) if found else frozenset()
        for each in found:
            yield each.beside(asked).claim(text)


def _apart(exclusions: Iterable[Exclusion]) -> Iterator[Exclusion]:
    end = 0
    for found in sorted(exclusions, key=lambda each: (each.start, -each.end)):
        if found.start >= end:
            yield found
            end = found.end


def _asked(text: str, exclusions: Iterable[Exclusion]) -> frozenset[str]:
    """The tags of what the rest of the text asks for: themes and moods. Nobody asks for what they say is fine."""
    left = text
    for each in exclusions:
        left = f"{left[: each.start]}{'.' * (each.end - each.start)}{left[each.end :]}"
    tones, beside = ToneTable.load().read(PERMITTED.sub(".", left))
    themes = ThemeTable.load().themes(beside)
    return frozenset(chain.from_iterable((*(tone.wanted for tone in tones), *(theme.tags for theme in themes))))


def _exclusions(text: str, named: tuple[Named, ...]) -> Iterator[Exclusion]:
    alone = [each for each in named if each.aversion.kind is Kind.ALONE]
    others = tuple(each for each in named if each.aversion.kind is not Kind.ALONE)
    yield from (Exclusion(each.start, each.end, (each,)) for each in alone)
    yield from english_exclusions(text, others)
    if has_cjk(text):
        yield from japanese_exclusions(text, others)
