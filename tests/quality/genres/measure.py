"""What the local classifier says of every synopsis, without the title that it is of."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from session.resilience.deadline import Deadline
from tests.quality.genres.held_out import Groups, WithoutGroup, grouped
from tools.classify_genre import LEAST_CONFIDENCE, MOST_TAGS
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import LocalEmbedder
from tools.store.classification import TextClassifier, select_offered
from tools.store.models import CatalogTerms, Classification, Title

PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Judged:
    """One synopsis. `tags` are those that the tool would show, `right` those of the title that can be given."""

    title: Title
    language: str
    locked: bool
    found: Classification
    right: frozenset[str]
    milliseconds: float

    @property
    def readership(self) -> str:
        return next(iter(self.found.readerships), "")

    @property
    def tags(self) -> dict[str, float]:
        shown = [(tag, confidence) for tag, confidence in self.found.tags.items() if confidence >= LEAST_CONFIDENCE]
        return dict(shown[:MOST_TAGS])


@dataclass(frozen=True, slots=True)
class Baseline:
    """What somebody says who has read no text: the most frequent readership, and as many tags as a title has."""

    readership: str
    tags: frozenset[str]


async def measured(file: Path, cache_dir: Path | None) -> tuple[list[Judged], Baseline]:
    async with LocalEmbedder() as embedder, EmbeddedCatalog.open(file, embedder, cache_dir=cache_dir) as catalog:
        await catalog.wait_for_vectors()
        terms = select_offered(await catalog.terms(Deadline.after(PATIENCE_S)))
        judged = [each async for each in _judged(catalog, grouped(catalog.titles), terms)]
        return judged, _baseline(catalog.titles, terms)


async def _judged(catalog: EmbeddedCatalog, groups: Groups, terms: CatalogTerms) -> AsyncIterator[Judged]:
    others = WithoutGroup(catalog, groups)
    classifying = TextClassifier(cast(Any, others))
    for title in catalog.titles:
        others.without = groups.of[title.title_id]
        right = frozenset(title.tags) & terms.tags.keys()
        for language, text in (("English", title.synopsis_en), ("Japanese", title.synopsis_ja)):
            if text:
                found, milliseconds = await _asked(classifying, text[:2000])
                yield Judged(title, language, groups.is_locked(title), found, right, milliseconds)


async def _asked(classifying: TextClassifier, text: str) -> tuple[Classification, float]:
    """What is said once the text has a vector, which on a busy machine may take longer than a call waits; and how many
    milliseconds the first call took."""
    started = time.perf_counter()
    found = await classifying.classify(text, Deadline.after(PATIENCE_S))
    milliseconds = 1000 * (time.perf_counter() - started)
    async with asyncio.timeout(PATIENCE_S):
        while found.degraded:
            await asyncio.sleep(0.01)
            found = await classifying.classify(text, Deadline.after(PATIENCE_S))
    return found, milliseconds


def _baseline(titles: Sequence[Title], terms: CatalogTerms) -> Baseline:
    many = round(sum(len(title.tags) for title in titles) / max(1, len(titles)))
    most = max(terms.readerships, key=lambda each: terms.readerships[each])
    return Baseline(most, frozenset(tag for tag, _ in Counter(terms.tags).most_common(many)))
