"""Loading a catalogue: a new index is built beside the one that serves, checked, and takes over in one step.

The index is named by what it is built from, so that a load of the same catalogue with the same embedder has nothing to do,
and one that was killed goes on where it stopped. What served before stays, for requests under way and for a way back, until
the next load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np

from tools.store.backends.batching import batches, embed_patiently
from tools.store.backends.opensearch.client import Client
from tools.store.backends.opensearch.index.definition import Flavour, definition, flavour_of
from tools.store.backends.opensearch.index.documents import document
from tools.store.backends.opensearch.index.identity import FORMAT, Identity, index_name
from tools.store.backends.opensearch.loading.bulk import Bulk
from tools.store.backends.opensearch.loading.indices import Indices
from tools.store.backends.opensearch.loading.plan import Plan
from tools.store.failures import BackendFailure
from tools.store.models import Offer, Title
from tools.store.ports import Embedder
from tools.store.records.title import record_of
from tools.store.search.arrays import Floats
from tools.store.search.ranking.series import SeriesIndex
from tools.store.search.titles.document import headline, passages

Record = tuple[Title, tuple[Offer, ...]]
Progress = Callable[[int, int, str], None]
"""(done, total, what), called on the event loop."""
_CHUNK = 32
_BATCH_TEXTS, _BATCH_CHARACTERS = 32, 3_200
_ATTEMPTS = 10
"""At one batch, in about five minutes."""


async def load(
    client: Client,
    records: Sequence[Record],
    embedder: Embedder | None,
    *,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Plan:
    """Brings `records` into service and says what it did; with `dry_run`, what it would do, and changes nothing.

    Raises BackendFailure when the cluster or the embedder stays away, and ValueError when the alias is no alias.
    """
    loading = Loading(client, records, embedder, progress or (lambda done, total, what: None))
    plan = await loading.plan()
    if not dry_run and not plan.nothing_to_do:
        await loading.run(plan)
    return plan


class Loading:
    """One load."""

    def __init__(self, client: Client, records: Sequence[Record], embedder: Embedder | None, progress: Progress) -> None:
        flavour = flavour_of(client.address)
        self._identity = identity_of(records, embedder, flavour)
        self._records, self._progress = records, progress
        self._name = index_name(client.address.alias, self._identity)
        self._indices = Indices(client, flavour)
        self._bulk = Bulk(client, flavour, self._name)
        self._embedder = embedder

    async def plan(self) -> Plan:
        serving = await self._indices.serving()
        there = await self._indices.places(self._name) if await self._indices.exists(self._name) else set()
        replaces = tuple(name for name in serving if name != self._name)
        return Plan(self._name, len(self._records), len(there), self._name in serving, replaces)

    async def run(self, plan: Plan) -> None:
        """Raises BackendFailure, and ValueError when another load has taken over in the meantime."""
        try:
            await self._run(plan)
        except BackendFailure:
            if plan.serving or not await self._overtaken():
                raise

    async def _overtaken(self) -> bool:
        """Whether another load has done the same. Raises ValueError when it has done something else."""
        if not await self._indices.exists(self._name):
            raise ValueError(
                f"another load took over and removed {self._name}, which this one was filling: nothing of this one is left; "
                "when the other has ended, run it again if this is the catalogue that should serve"
            )
        return self._name in await self._indices.serving()

    async def _run(self, plan: Plan) -> None:
        await self._indices.open(self._name, self._identity)
        missing = sorted(set(range(len(self._records))) - await self._indices.places(self._name))
        series = SeriesIndex([title for title, _ in self._records])
        done = len(self._records) - len(missing)
        self._progress(done, len(self._records), "titles")
        for chunk in _chunks(missing):
            await self._bulk.add(await self._documents(chunk, series))
            done += len(chunk)
            self._progress(done, len(self._records), "titles")
        await self._indices.finish(self._name, len(self._records))
        replaced = await self._indices.put_into_service(self._name)
        await self._indices.remove_all_but({self._name, *plan.replaces, *replaced})
        self._progress(done, len(self._records), "in service")

    async def _documents(self, places: Sequence[int], series: SeriesIndex) -> list[dict[str, Any]]:
        titles = [self._records[place][0] for place in places]
        vectors = await self._vectors(titles)
        rows = zip(places, titles, vectors, strict=True)
        return [document(title, self._records[place][1], place, series.of(place), vector) for place, title, vector in rows]

    async def _vectors(self, titles: Sequence[Title]) -> Sequence[Floats | None]:
        if self._embedder is None:
            return [None] * len(titles)
        texts = [[headline(title), *passages(title)] for title in titles]
        parts = [
            await embed_patiently(self._embedder, batch, _ATTEMPTS)
            for batch in batches(chain.from_iterable(texts), _BATCH_TEXTS, _BATCH_CHARACTERS)
        ]
        return np.split(np.concatenate(parts), np.cumsum([len(group) for group in texts])[:-1])


def identity_of(records: Sequence[Record], embedder: Embedder | None, flavour: Flavour) -> Identity:
    """By the records as they will be stored: order counts, spelling of the file does not."""
    digest = sha256()
    for title, offers in records:
        digest.update(json.dumps(record_of(title, offers), sort_keys=True).encode() + b"\n")
    name, dimensions = (None, 0) if embedder is None else (embedder.name, embedder.dimensions)
    return Identity(FORMAT, definition(dimensions, flavour), name, dimensions, len(records), digest.hexdigest()[:32])


def _chunks(places: Sequence[int]) -> Iterator[Sequence[int]]:
    return (places[start : start + _CHUNK] for start in range(0, len(places), _CHUNK))
