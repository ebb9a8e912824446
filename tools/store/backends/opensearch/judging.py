"""Judging the candidates: the evidence that the embedded catalogue computes for its whole shelf, for the titles that were
recalled. Pure, and quick: a millisecond for a hundred of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tools.store.backends.opensearch.documents import Card, card_from, direction_from
from tools.store.backends.opensearch.index import ID
from tools.store.backends.opensearch.kin import is_telling
from tools.store.backends.opensearch.queries import column, name_and_author
from tools.store.backends.opensearch.recalled import Anchor, Candidates, Judged
from tools.store.backends.opensearch.statistics import Statistics
from tools.store.backends.opensearch.title_cache import Answer
from tools.store.search.candidates import asked_names, evidence_for
from tools.store.search.evidence import Evidence, Floats
from tools.store.search.fusion import fuse, with_kin
from tools.store.search.name_table import NameTable
from tools.store.search.names import ALIAS_FACTOR
from tools.store.search.people import AskedName
from tools.store.search.query import ParsedQuery
from tools.store.search.romaji import sound_key

_ANCHOR, _FAME = 0.88, np.float32(0.05)
_KIN_FACTOR, _WITH_AUTHOR_FACTOR, _RELATED = 0.92, 0.97, np.float32(0.8)
_TRANSLATED = np.float32(0.9)


@dataclass(frozen=True, slots=True)
class Judge:
    """What a query asks for and the numbers to weigh it by. `anchor`: the title whose author is asked for."""

    reading: ParsedQuery
    statistics: Statistics
    anchor: Anchor | None = None

    def judged(self, candidates: Candidates) -> tuple[Judged, list[str]]:
        """All candidates, and ids of the best one's series that would follow it and are not among them."""
        columns = _Columns(candidates)
        evidence = self._evidence(columns)
        scores = fuse(self.reading, evidence)
        missing: list[str] = []

        def kin_of_best() -> Floats:
            best = columns.cards[int(np.argmax(scores))]
            missing.extend(i for i in best.kin if i not in candidates.entries)
            return columns.kin(best, np.float32(1.0))

        if scores.max(initial=0.0) > 0:
            scores = with_kin(scores, evidence, kin_of_best)
        return Judged(columns.ids, scores, evidence), missing

    def called(self, candidates: Candidates) -> str | None:
        """The id of the title that the query is surely the name of."""
        columns = _Columns(candidates)
        best = best_called(columns.names.likeness(asked_names(self.reading)), columns.prior)
        return None if best is None else columns.ids[best]

    def _evidence(self, columns: _Columns) -> Evidence:
        cards = columns.cards
        known = [card.known for card in cards]
        plain = evidence_for(self.reading, known, self._words(cards), columns.senses, columns.senses, columns.names)
        names = np.maximum(plain.names, self._called_with_author(columns))
        best = best_called(names, plain.prior)
        if best is not None:
            names = np.maximum(names, columns.kin(cards[best], np.float32(_KIN_FACTOR)))
        share = self.statistics.known(self.reading.terms)
        return replace(plain, names=names, people=np.maximum(plain.people, self._works(cards)), known=share)

    def _words(self, cards: Sequence[Card]) -> Floats:
        proses = [card.prose for card in cards]
        own = self.statistics.covered(self.reading.terms, proses)
        bridged = self.statistics.covered(self.reading.translated, proses)
        return np.asarray(np.maximum(own, _TRANSLATED * bridged), np.float32)

    def _called_with_author(self, columns: _Columns) -> Floats:
        found = np.zeros(len(columns.cards), np.float32)
        for author, rest in name_and_author(self.reading.core):
            asked = AskedName(author)
            theirs = np.array([any(asked.fits(keys) for keys in card.known.authors) for card in columns.cards], np.bool_)
            if theirs.any():
                near = columns.names.likeness([(sound_key(rest), _WITH_AUTHOR_FACTOR)])
                found[theirs] = np.maximum.reduce((found, near, columns.names.spelled_in_katakana(rest)))[theirs]
        return found

    def _works(self, cards: Sequence[Card]) -> Floats:
        """1 for the works of the anchor's authors."""
        spelled = self.anchor.spellings() if self.anchor else set()
        theirs = [any(not spelled.isdisjoint(keys.spellings) for keys in card.known.authors) for card in cards]
        return np.array(theirs, np.float32)


class _Columns:
    """The candidates in the order of the catalogue file, with columns of what is asked of each."""

    def __init__(self, candidates: Candidates) -> None:
        self.ids = candidates.ordered()
        self.cards = [candidates.entries[i].card for i in self.ids]
        self.names = NameTable(card.known.names for card in self.cards)
        self.prior = np.array([card.known.prior for card in self.cards], np.float32)
        senses = candidates.senses
        self.senses = None if senses is None else np.array([senses.get(i, 0.0) for i in self.ids], np.float32)

    def kin(self, of: Card, factor: np.float32) -> Floats:
        """Above 0 where a name begins with a name of `of`, or the catalogue says they are related."""
        keys = (*of.known.names.whole, *of.known.names.main)
        related = np.array([title_id in of.related for title_id in self.ids], np.float32)
        begun = self.names.beginning_with(tuple(filter(is_telling, keys)))
        return np.asarray(factor * np.maximum(begun, _RELATED * related), np.float32)


def best_called(names: Floats, prior: Floats) -> int | None:
    """The place of the best known of those that are surely called so."""
    if not len(names):
        return None
    best = int(np.argmax(names + _FAME * prior))
    return best if names[best] >= _ANCHOR else None


def anchor_among(name: str, aliases: Iterable[str], answer: Answer) -> Anchor | None:
    """The best known title that is called `name` or one of `aliases`, if one is."""
    hits = [(hit, card_from(column(hit, "card"))) for hit in answer["hits"]["hits"]]
    asked = [(sound_key(name), 1.0), *((key, ALIAS_FACTOR) for key in aliases)]
    names = NameTable(card.known.names for _, card in hits)
    near = np.maximum(names.likeness(asked), names.spelled_in_katakana(name))
    best = best_called(near, np.array([card.known.prior for _, card in hits], np.float32))
    if best is None:
        return None
    hit, card = hits[best]
    return Anchor(column(hit, ID), card, direction_from(hit["_source"].get("direction")))
