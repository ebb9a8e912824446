"""Titles to a reader's taste: recalled in the cluster, put in order here by the rule that the embedded catalogue goes by."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

import numpy as np

from session.resilience.deadline import Deadline
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.cards import Card
from tools.store.backends.opensearch.index.statistics import Statistics
from tools.store.backends.opensearch.queries.taste import to_taste
from tools.store.backends.opensearch.searching.title_cache import Entry, TitleCache, hit_keys
from tools.store.models import Author, ReaderQuery, Title
from tools.store.search.arrays import Floats, Mask
from tools.store.search.ranking.fusion import order
from tools.store.search.taste.profile import Rarity, profile_of
from tools.store.search.taste.rule import worth
from tools.store.search.taste.weights import TasteWeights
from tools.store.search.titles.people import AuthorKeys


class Tasting:
    """Every method raises BackendFailure, and LookupError, TypeError and ValueError for answers that are none."""

    def __init__(self, client: Client, cache: TitleCache) -> None:
        self._client, self._cache, self._weights = client, cache, TasteWeights()

    async def for_reader(self, query: ReaderQuery, statistics: Statistics, deadline: Deadline) -> tuple[Title, ...]:
        """At most `query.limit` of those that were recalled."""
        if query.limit < 1 or query.fits == {}:
            return ()
        rarity = Rarity(statistics.terms.tags, statistics.titles, self._weights)
        profile = profile_of(query, rarity)
        answer = (await self._client.searches([to_taste(query, profile, self._weights)], deadline))[0]
        found = await self._cache.of(hit_keys([answer]), deadline)
        entries = sorted(found.items(), key=lambda each: each[1].card.place)
        await asyncio.sleep(0)  # others are served between two pieces of work, each by how many titles were recalled
        candidates = CardTaste(entries, rarity)
        await asyncio.sleep(0)
        scores = worth(query, profile, candidates, rarity, self._weights)
        await asyncio.sleep(0)
        best = [entries[row][1] for row in order(scores, query.limit).tolist()]
        return await self._cache.titles(best)


class CardTaste:
    """`tools.store.search.taste.candidates.TasteCandidates` for titles that were recalled."""

    def __init__(self, entries: Sequence[tuple[str, Entry]], rarity: Rarity) -> None:
        self._ids: list[str] = [title_id for title_id, _ in entries]
        self._cards: list[Card] = [entry.card for _, entry in entries]
        self._units = [rarity.unit(card.keys.tags) for card in self._cards]
        self.prior = np.array([card.keys.prior for card in self._cards], np.float32)

    def sharing(self, tags: Mapping[str, float]) -> Floats:
        shared = [sum(weight * tags.get(tag, 0.0) for tag, weight in unit.items()) for unit in self._units]
        return np.array(shared, np.float32)

    def tagged(self, tags: Sequence[str]) -> Mask:
        return np.array([not card.keys.tags.isdisjoint(tags) for card in self._cards], np.bool_)

    def of_readerships(self, shares: Mapping[str, float]) -> Floats:
        return np.array([shares.get(card.facts.genre or "", 0.0) for card in self._cards], np.float32)

    def of_magazines(self, shares: Mapping[str, float]) -> Floats:
        return np.array([shares.get(card.facts.magazine or "", 0.0) for card in self._cards], np.float32)

    def of_authors(self, shares: Mapping[str, float]) -> Floats:
        spelled = {AuthorKeys.of(Author(name)).spellings[0]: share for name, share in shares.items()}
        return np.array([max((_share(a, spelled) for a in c.keys.authors), default=0.0) for c in self._cards], np.float32)

    def near_years(self, years: Mapping[int, float], span: float) -> Floats:
        return np.array([_near(card.facts.year, years, span) for card in self._cards], np.float32)

    def worth(self, fits: Mapping[str, float]) -> Floats:
        return np.array([fits.get(title_id, 0.0) for title_id in self._ids], np.float32)


def _share(author: AuthorKeys, spelled: Mapping[str, float]) -> float:
    return max((spelled.get(spelling, 0.0) for spelling in author.spellings), default=0.0)


def _near(year: int | None, years: Mapping[int, float], span: float) -> float:
    return 0.0 if year is None else sum(share * math.exp(-abs(year - each) / span) for each, share in years.items())
