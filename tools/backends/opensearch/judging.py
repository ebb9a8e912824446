"""Judging the candidates: the evidence that the embedded catalogue computes for its whole shelf, for the titles that were
recalled. Blocking and pure; run off the event loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tools.backends.opensearch.documents import Card, card_from, direction_from
from tools.backends.opensearch.kin import is_telling
from tools.backends.opensearch.queries import name_and_author
from tools.backends.opensearch.recalled import Anchor, Answer, Candidates, Judged, column
from tools.backends.opensearch.statistics import Statistics
from tools.search.candidates import all_keys, evidence_for, nearest_name, spelled_in_katakana
from tools.search.evidence import Evidence, Floats
from tools.search.fusion import fuse, with_kin
from tools.search.names import ALIAS_FACTOR, MAIN_FACTOR, NameKeys, likeness, one_likeness
from tools.search.people import AskedName
from tools.search.query import Reading
from tools.search.romaji import sound_key

_ANCHOR, _FAME = 0.88, np.float32(0.05)
_KIN_FACTOR, _WITH_AUTHOR_FACTOR, _RELATED = 0.92, 0.97, 0.8
_TRANSLATED = np.float32(0.9)


@dataclass(frozen=True, slots=True)
class Judge:
    """What a query asks for and the numbers to weigh it by. `anchor`: the title whose author is asked for."""

    reading: Reading
    statistics: Statistics
    anchor: Anchor | None = None

    def judged(self, candidates: Candidates) -> tuple[Judged, list[str]]:
        """All candidates, and ids of the best one's series that would follow it and are not among them."""
        ids = candidates.ordered()
        evidence = self._evidence(candidates, ids)
        scores = fuse(self.reading, evidence)
        missing: list[str] = []

        def kin_of_best() -> Floats:
            best = candidates.cards[ids[int(np.argmax(scores))]]
            missing.extend(i for i in best.kin if i not in candidates.cards)
            return kin_among([candidates.cards[i] for i in ids], ids, best, np.float32(1.0))

        if scores.max(initial=0.0) > 0:
            scores = with_kin(scores, evidence, kin_of_best)
        return Judged(ids, scores, evidence.tags), missing

    def called(self, candidates: Candidates) -> str | None:
        """The id of the title that the query is surely the name of."""
        ids = candidates.ordered()
        cards = [candidates.cards[i] for i in ids]
        names = np.array(self._named(candidates, ids), np.float32)
        best = best_called(names, np.array([card.known.prior for card in cards], np.float32))
        return None if best is None else ids[best]

    def _evidence(self, candidates: Candidates, ids: Sequence[str]) -> Evidence:
        """In the order of `ids`."""
        cards = [candidates.cards[i] for i in ids]
        sense = None
        if candidates.senses is not None:
            sense = np.array([candidates.senses.get(i, 0.0) for i in ids], np.float32)
        named = self._named(candidates, ids)
        plain = evidence_for(self.reading, [card.known for card in cards], self._words(cards), sense, sense, named)
        names = np.maximum(plain.names, self._called_with_author(cards))
        best = best_called(names, plain.prior)
        if best is not None:
            names = np.maximum(names, kin_among(cards, ids, cards[best], np.float32(_KIN_FACTOR)))
        known = self.statistics.known(self.reading.terms)
        return replace(plain, names=names, people=np.maximum(plain.people, self._works(cards)), known=known)

    def _named(self, candidates: Candidates, ids: Sequence[str]) -> list[float]:
        """Each candidate is judged two or three times in a search, and its names are compared once."""
        named = candidates.named
        for title_id in ids:
            if title_id not in named:
                named[title_id] = nearest_name(self.reading, candidates.cards[title_id].known.names)
        return [named[title_id] for title_id in ids]

    def _words(self, cards: Sequence[Card]) -> Floats:
        proses = [card.prose for card in cards]
        own = self.statistics.covered(self.reading.terms, proses)
        bridged = self.statistics.covered(self.reading.translated, proses)
        return np.asarray(np.maximum(own, _TRANSLATED * bridged), np.float32)

    def _called_with_author(self, cards: Sequence[Card]) -> Floats:
        found = np.zeros(len(cards), np.float32)
        for author, rest in name_and_author(self.reading.core):
            asked, key = AskedName(author), sound_key(rest)
            for i, card in enumerate(cards):
                if any(asked.fits(keys) for keys in card.known.authors):
                    names = card.known.names
                    near = max(_WITH_AUTHOR_FACTOR * likeness(key, names), spelled_in_katakana(rest, all_keys(names)))
                    found[i] = max(found[i], near)
        return found

    def _works(self, cards: Sequence[Card]) -> Floats:
        """1 for the works of the anchor's authors."""
        spelled = self.anchor.spellings() if self.anchor else set()
        theirs = [any(not spelled.isdisjoint(keys.spellings) for keys in card.known.authors) for card in cards]
        return np.array(theirs, np.float32)


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
    names = np.array([_named(name, asked, card.known.names) for _, card in hits], np.float32)
    best = best_called(names, np.array([card.known.prior for _, card in hits], np.float32))
    if best is None:
        return None
    hit, card = hits[best]
    return Anchor(column(hit, "title_id"), card, direction_from(hit["_source"].get("direction")))


def _named(name: str, asked: Sequence[tuple[str, float]], names: NameKeys) -> float:
    near = max(factor * likeness(key, names) for key, factor in asked)
    return max(near, spelled_in_katakana(name, all_keys(names)))


def kin_among(cards: Sequence[Card], ids: Sequence[str], of: Card, factor: np.float32) -> Floats:
    """Above 0 where a name begins with a name of `of`, or the catalogue says they are related."""
    keys = tuple(filter(is_telling, all_keys(of.known.names)))
    found = np.zeros(len(cards), np.float32)
    for i, card in enumerate(cards):
        near = max(_begins(keys, card.known.names), _RELATED if ids[i] in of.related else 0.0)
        found[i] = factor * np.float32(near)
    return found


def _begins(keys: tuple[str, ...], names: NameKeys) -> float:
    best = 0.0
    for name, weight in (*((n, 1.0) for n in names.whole), *((n, MAIN_FACTOR) for n in names.main)):
        if name.startswith(keys):
            near = (one_likeness(key, name) for key in keys if name.startswith(key))
            best = max(best, weight * max(near))
    return best
