"""The catalogue inside this process: a file of records, searched by words, names and meaning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends.embedded.computed import ComputedStore
from tools.store.backends.embedded.engine import Hits
from tools.store.backends.embedded.loading import Loaded, load_catalog
from tools.store.backends.embedded.vectors import Preparing, Progress, VectorLeg, Vectors
from tools.store.failures import TimedOut
from tools.store.models import (
    Called,
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    Neighbour,
    Offer,
    ReaderQuery,
    Title,
)
from tools.store.ports import Embedder
from tools.store.search.text.characters import normalise
from tools.store.tags import Vocabulary

_THREADS = 2


class EmbeddedCatalog:
    """A `CatalogPort` over a file. Get one from `open`; its worker threads and its background task end with it."""

    def __init__(self, loaded: Loaded, vectors: VectorLeg | None, workers: ThreadPoolExecutor) -> None:
        self._columns, self._engine = loaded.columns, loaded.engine
        self._vectors, self._workers = vectors, workers
        self._preparing = Preparing(vectors)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        embedder: Embedder | None,
        *,
        cache_dir: Path | None = None,
        progress: Progress | None = None,
        head_start: float = 0.0,
        loaded: Loaded | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> AsyncIterator[EmbeddedCatalog]:
        """Ready when the lexical index is; vectors follow in the background, at once when they are kept in `cache_dir`.
        `progress` is told (done, total, what): steps of loading, on its thread, then texts of the vectors, on the loop.
        `loaded` is what was made of the file before; `vocabulary` has the shop's tags.

        Raises CatalogFileError when the file can't be used. Without an embedder the search is lexical and says nothing of
        it.
        """
        store = ComputedStore(cache_dir)
        workers = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="catalog")
        catalog: EmbeddedCatalog | None = None
        try:
            if loaded is None:
                loaded = await asyncio.get_running_loop().run_in_executor(
                    workers, load_catalog, path, store, progress, vocabulary
                )
            leg = None if embedder is None else VectorLeg(embedder, store, loaded.key)
            catalog = cls(loaded, leg, workers)
            await catalog._preparing.start(loaded.planned, workers, progress, head_start)
            yield catalog
        finally:
            if catalog is not None:
                await catalog._stop()
            workers.shutdown(wait=False, cancel_futures=True)

    async def _stop(self) -> None:
        await self._preparing.stop()

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def titles(self) -> Sequence[Title]:
        """All titles, in the file's order."""
        return self._columns.titles

    @property
    def offers(self) -> Mapping[str, tuple[Offer, ...]]:
        """What the file says each title is sold for, by title_id: a store without one of its own fills its shelves from
        it.
        """
        return {t.title_id: o for t, o in zip(self._columns.titles, self._columns.offers, strict=True)}

    @property
    def records(self) -> Sequence[tuple[Title, tuple[Offer, ...]]]:
        """The file's records, in its order."""
        return list(zip(self._columns.titles, self._columns.offers, strict=True))

    @property
    def vectors_ready(self) -> bool:
        """Whether searches use meaning: True as well when there is no embedder to wait for."""
        return self._vectors is None or self._vectors.ready

    async def wait_for_vectors(self) -> bool:
        """Waits until the background work on vectors is over; whether searches use meaning now."""
        await self._preparing.wait()
        return self.vectors_ready

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Raises TimedOut at the deadline."""
        if self._vectors is None:
            return self._page(await self._find(query, deadline, None, None), ())
        self._vectors.search_begins()
        try:
            vector = await self._vectors.query(normalise(query.text), deadline)
            found = await self._find(query, deadline, vector, self._vectors.vectors)
        finally:
            self._vectors.search_ends()
        return self._page(found, ("vector",) if vector is None and found.by_query else ())

    async def _find(
        self, query: CatalogQuery, deadline: Deadline, vector: NDArray[np.float32] | None, vectors: Vectors | None
    ) -> Hits:
        found: Hits = await self._run(deadline, self._engine.search, query, vector, vectors)
        return found

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        numbers = self._columns.numbers
        return {i: self._columns.titles[numbers[i]] for i in title_ids if i in numbers}

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Raises TimedOut at the deadline."""
        found: Hits = await self._run(deadline, self._engine.popular, conditions, limit)
        return self._named(found.numbers)

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Raises TimedOut at the deadline."""
        found: Hits = await self._run(deadline, self._engine.for_reader, query)
        return self._named(found.numbers)

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Raises TimedOut at the deadline."""
        if self._vectors is None:
            return ()
        self._vectors.search_begins()
        try:
            vector, vectors = await self._vectors.query(normalise(text), deadline), self._vectors.vectors
            if vector is None or vectors is None:
                return None
            found = await self._run(deadline, self._engine.nearest, vector, vectors, limit)
        finally:
            self._vectors.search_ends()
        return tuple(Neighbour(self._columns.titles[number], likeness) for number, likeness in found)

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return self._engine.terms

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]:
        """Raises TimedOut when the deadline is over. Takes some microseconds a name, less than a thread would."""
        if deadline.expired():
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog")
        return self._engine.called(names)

    async def health(self, deadline: Deadline) -> Health:
        state = "by words and meaning" if self._vectors is not None and self.vectors_ready else "by words"
        return Health(True, f"{len(self._columns)} titles, searched {state}")

    def _page(self, found: Hits, degraded: tuple[str, ...]) -> CatalogPage:
        return CatalogPage(self._named(found.numbers), found.total, degraded, found.guessed, self._named(found.near))

    def _named(self, numbers: Iterable[int]) -> tuple[Title, ...]:
        return tuple(self._columns.titles[int(n)] for n in numbers)

    async def _run(self, deadline: Deadline, work: Callable[..., Any], *arguments: Any) -> Any:
        """Work on a thread of the catalogue's own, waited for until the deadline."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await loop.run_in_executor(self._workers, work, *arguments)
        except TimeoutError as error:
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog") from error
