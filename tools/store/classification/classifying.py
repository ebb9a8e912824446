"""The classifiers in their order: the one that is configured, and the local one beneath it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import sha256

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.classification.local import LocalClassifier
from tools.store.failures import BackendFailure
from tools.store.models import CatalogTerms, Classification
from tools.store.ports import CatalogPort, Classifier

KEPT = 256
LEAST_TITLES = 5
"""Of a tag that fewer titles carry nothing can be learned."""
MERITS = frozenset({"Award Winning"})
"""Tags of what became of a title, which no story tells."""


class Classifying:
    """`remote` is the configured one; None where that is the local one. What the local one said of the latest texts is at
    hand for when there is no time to ask it again."""

    def __init__(self, catalog: CatalogPort, remote: Classifier | None = None) -> None:
        self._catalog, self.remote = catalog, remote
        self._local = LocalClassifier(catalog)
        self._terms: CatalogTerms | None = None
        self._at_hand: Lru[bytes, Classification] = Lru(KEPT)

    async def classify(self, text: str, deadline: Deadline) -> Classification:
        """By the configured classifier. Raises BackendFailure."""
        terms = await self._known_terms(deadline)
        if self.remote is None:
            return await self._locally(text, terms, deadline)
        # Whoever falls back has no time to embed: the local answer is made beside the other.
        own, theirs = await asyncio.gather(
            self._locally(text, terms, deadline), self.remote.classify(text, terms, deadline), return_exceptions=True
        )
        if isinstance(own, BaseException) and not isinstance(own, BackendFailure):
            raise own
        if isinstance(theirs, BaseException):
            raise theirs
        return theirs

    async def fall_back(self, text: str) -> Classification:
        """The local answer as far as it is at hand, else by words alone. Asks nobody, and raises nothing."""
        return self._at_hand.use(_key(text)) or await self._local.by_words(text, self._terms)

    async def _locally(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        found = await self._local.classify(text, terms, deadline)
        if not found.degraded:
            self._at_hand.put(_key(text), found)
        return found

    async def _known_terms(self, deadline: Deadline) -> CatalogTerms:
        """The latest that the catalogue said."""
        try:
            self._terms = offered(await self._catalog.terms(deadline))
        except BackendFailure:
            if self._terms is None:
                raise
        return self._terms


def offered(terms: CatalogTerms) -> CatalogTerms:
    """The words that a text can be labelled with."""
    tags = {tag: titles for tag, titles in terms.tags.items() if titles >= LEAST_TITLES and tag not in MERITS}
    return replace(terms, tags=tags)


def _key(text: str) -> bytes:
    """What somebody typed is not kept."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
