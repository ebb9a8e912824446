"""Judging the candidates: the evidence that the embedded catalogue computes for its whole shelf, for the titles that were
recalled. Blocking and pure; run off the event loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tools.backends.opensearch.documents import Card, card_from, direction_from
from tools.backends.opensearch.filters import Gate
from tools.backends.opensearch.kin import is_telling
from tools.backends.opensearch.queries import cosine_of, name_and_author
from tools.backends.opensearch.statistics import Statistics
from tools.search.candidates import evidence_for, spelled_in_katakana
from tools.search.evidence import Evidence, Floats
from tools.search.fusion import fuse, with_kin
from tools.search.names import ALIAS_FACTOR, MAIN_FACTOR, NameKeys, likeness, one_likeness
from tools.search.people import AskedName
from tools.search.query import Reading
from tools.search.romaji import sound_key

_ANCHOR, _FAME = 0.88, np.float32(0.05)
_KIN_FACTOR, _WITH_AUTHOR_FACTOR, _RELATED = 0.92, 0.97, 0.8
_TRANSLATED = np.float32(0.9)
Answer = Mapping[str, Any]


@dataclass(slots=True)
class Candidates:
    """Titles that were recalled and pass the filters: cards and records by id. `senses`: cosines by id, None without any."""

    gate: Gate
    cards: dict[str, Card] = field(default_factory=dict)
    records: dict[str, str] = field(default_factory=dict)
    senses: dict[str, float] | None = None

    def take(self, answer: Answer) -> None:
        """Raises LookupError, TypeError and ValueError for hits that are none of ours."""
        for hit in answer["hits"]["hits"]:
            source = hit["_source"]
            if source["title_id"] not in self.cards and self.gate.admits(card := card_from(source["card"])):
                self.cards[source["title_id"]] = card
                self.records[source["title_id"]] = source["record"]

    def take_senses(self, answer: Answer) -> None:
        """The scores of a search for vectors."""
        senses = self.senses if self.senses is not None else {}
        for hit in answer["hits"]["hits"]:
            senses[hit["_source"]["title_id"]] = cosine_of(float(hit["_score"]))
        self.senses = senses

    def ordered(self) -> list[str]:
        """Ids in the order of the catalogue file, which decides between equals."""
        return sorted(self.cards, key=lambda title_id: self.cards[title_id].place)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The title that a query points from ("like …", "by the author of …"). `direction`: where its vectors point."""

    title_id: str
    card: Card
    direction: Floats | None

    def spellings(self) -> set[str]:
        """Of its authors' names."""
        return {spelling for keys in self.card.known.authors for spelling in keys.spellings}


@dataclass(frozen=True, slots=True)
class Judged:
    """Scores of titles, in the order of `ids`; 0 is no answer. `tags`: the share of the themes that each has."""

    ids: list[str]
    scores: Floats
    tags: Floats | None = None

    def answers(self) -> int:
        return int(np.count_nonzero(self.scores))

    def themed(self) -> int:
        """How many of them have all themes of the query."""
        return 0 if self.tags is None else int(np.count_nonzero(self.tags == 1.0))

    def all_themed_answer(self) -> bool:
        """Whether having all themes is enough to be an answer, so that those not recalled are answers too."""
        return self.themed() > 0 and self.tags is not None and bool(np.all(self.scores[self.tags == 1.0] > 0))


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
        names = np.array([self._named(card) for card in cards], np.float32)
        best = best_called(names, np.array([card.known.prior for card in cards], np.float32))
        return None if best is None else ids[best]

    def _evidence(self, candidates: Candidates, ids: Sequence[str]) -> Evidence:
        """In the order of `ids`."""
        cards = [candidates.cards[i] for i in ids]
        sense = None
        if candidates.senses is not None:
            sense = np.array([candidates.senses.get(i, 0.0) for i in ids], np.float32)
        plain = evidence_for(self.reading, [card.known for card in cards], self._words(cards), sense, sense)
        names = np.maximum(plain.names, self._called_with_author(cards))
        best = best_called(names, plain.prior)
        if best is not None:
            names = np.maximum(names, kin_among(cards, ids, cards[best], np.float32(_KIN_FACTOR)))
        known = self.statistics.known(self.reading.terms)
        return replace(plain, names=names, people=np.maximum(plain.people, self._works(cards)), known=known)

    def _named(self, card: Card) -> float:
        names = card.known.names
        asked = [(key, 1.0) for key in self.reading.names] + [(key, ALIAS_FACTOR) for key in self.reading.aliases]
        return max((factor * likeness(key, names) for key, factor in asked), default=0.0)

    def _words(self, cards: Sequence[Card]) -> Floats:
        proses = [card.prose for card in cards]
        own = self.statistics.covered(self.reading.terms, proses)
        if not self.reading.translated:
            return own
        bridged: Floats = self.statistics.covered(self.reading.translated, proses)
        return np.maximum(own, _TRANSLATED * bridged).astype(np.float32)

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
        theirs = (any(not spelled.isdisjoint(keys.spellings) for keys in card.known.authors) for card in cards)
        return np.fromiter(theirs, np.float32, len(cards))


def all_keys(names: NameKeys) -> tuple[str, ...]:
    return (*names.whole, *names.main)


def best_called(names: Floats, prior: Floats) -> int | None:
    """The place of the best known of those that are surely called so."""
    if not len(names):
        return None
    best = int(np.argmax(names + _FAME * prior))
    return best if names[best] >= _ANCHOR else None


def anchor_among(name: str, aliases: Iterable[str], answer: Answer) -> Anchor | None:
    """The best known title that is called `name` or one of `aliases`, if one is."""
    hits = [(hit["_source"], card_from(hit["_source"]["card"])) for hit in answer["hits"]["hits"]]
    asked = [(sound_key(name), 1.0), *((key, ALIAS_FACTOR) for key in aliases)]
    names = np.array([_named(name, asked, card.known.names) for _, card in hits], np.float32)
    best = best_called(names, np.array([card.known.prior for _, card in hits], np.float32))
    if best is None:
        return None
    source, card = hits[best]
    return Anchor(str(source["title_id"]), card, direction_from(source.get("direction")))


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
