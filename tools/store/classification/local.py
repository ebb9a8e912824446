"""The classifier of this process: a vote of the titles that come nearest to a text, and what it says in so many words.

It learns nothing beforehand, so that it is right for whatever catalogue is there, in this process or in a cluster, from the
moment that it has vectors. Linear models over the same vectors were no better by more than the noise of the measurement
(infra/docs/genres.md).
"""

from __future__ import annotations

import asyncio

from session.resilience.deadline import Deadline
from tools.store.classification.judgement import readerships, tags
from tools.store.classification.said import said_in
from tools.store.failures import TimedOut
from tools.store.identifiers import GENRES
from tools.store.models import CatalogTerms, Classification, Health
from tools.store.ports import CatalogPort
from tools.store.search.ranking.weights import Weights

NEIGHBOURS = 40
LONGEST_CHARACTERS = 500
"""What is embedded of a text: longer ones blur, and others wait for the encoder meanwhile."""
LOCAL = "local"
UNKNOWN_TITLES = 10
"""Of which a tag is taken to be one's, where nobody knows."""


class LocalClassifier:
    """A `Classifier` over a catalogue."""

    def __init__(self, catalog: CatalogPort) -> None:
        self._catalog = catalog
        self._meant_at_all = Weights().meant_at_all

    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        """Goes by words alone where the text has no vector in time, and says so. Raises BackendFailure."""
        near = await self._catalog.nearest(text[:LONGEST_CHARACTERS], NEIGHBOURS, deadline)
        if near is None and deadline.expired():
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog")
        said = await asyncio.to_thread(said_in, text)
        # Something is nearest to any text, however little of it is about manga.
        voters = near if near and near[0].likeness >= self._meant_at_all else ()
        late = ("vector",) if near is None else ()
        labels = readerships(voters, said, terms), tags(voters, said, terms)
        return Classification(*labels, LOCAL, late, words_alone=not near)

    async def by_words(self, text: str, terms: CatalogTerms | None) -> Classification:
        """Without asking anybody. Without the catalogue's own words every theme that the text names is one."""
        said = await asyncio.to_thread(said_in, text)
        terms = terms or CatalogTerms(dict.fromkeys(said.tags, 1), {}, dict.fromkeys(GENRES, 1), UNKNOWN_TITLES)
        labels = readerships((), said, terms), tags((), said, terms)
        return Classification(*labels, LOCAL, ("catalog",), words_alone=True)

    async def health(self, deadline: Deadline) -> Health:
        return await self._catalog.health(deadline)
