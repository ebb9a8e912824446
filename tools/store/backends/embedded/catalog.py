"""The catalogue inside this process: a file of records, searched by words, names and meaning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from session.resilience.deadline import Deadline
from tools.store.backends.embedded.columns import TitleColumns, build_columns
from tools.store.backends.embedded.computed import FORMAT, ComputedStore, StaleArraysError, index_arrays, index_from
from tools.store.backends.embedded.engine import Engine
from tools.store.backends.embedded.index import LexicalIndex, build_index
from tools.store.backends.embedded.vectors import Progress, VectorLeg, VectorPlan, plan_vectors
from tools.store.backends.embedding import single_threaded_blas
from tools.store.currency import YEN, Currency
from tools.store.failures import TimedOut
from tools.store.models import (
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    NameMatches,
    Neighbour,
    Offer,
    ReaderQuery,
    Title,
)
from tools.store.ports import Embedder
from tools.store.records.catalog_file import parse, read_bytes
from tools.store.search.query.parser import QueryParser
from tools.store.search.text.characters import normalise
from tools.store.tags import Vocabulary, shipped

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """`key` identifies the content and the format of everything computed from it. `plan` is what to embed, where it was made
    together with the rest."""

    columns: TitleColumns
    engine: Engine
    key: str
    plan: VectorPlan | None = None

    def planned(self) -> VectorPlan:
        """Blocking, where it was not made."""
        return self.plan or plan_vectors(self.columns.titles)


def load_catalog(
    path: Path,
    store: ComputedStore,
    progress: Progress | None = None,
    vocabulary: Vocabulary | None = None,
    currency: Currency = YEN,
) -> Loaded:
    """Parses the whole file before anything else. Raises CatalogFileError. Blocking: seconds for tens of thousands of
    titles.
    """
    single_threaded_blas()
    content = read_bytes(path)
    vocabulary = vocabulary or shipped()
    key = f"{FORMAT}/{sha256(content + vocabulary.digest.encode()).hexdigest()}"
    _tell(progress, 0, "read")
    records = parse(content, vocabulary, currency=currency)
    columns = build_columns([title for title, _ in records], [offers for _, offers in records])
    _tell(progress, 1, "parsed")
    index = _index(columns, store, key)
    _tell(progress, 2, "indexed")
    engine = Engine(columns, index, QueryParser.load(vocabulary))
    _tell(progress, 3, "ready")
    return Loaded(columns, engine, key)


def _index(columns: TitleColumns, store: ComputedStore, key: str) -> LexicalIndex:
    arrays = store.load("index", key)
    if arrays is not None:
        try:
            return index_from(arrays, len(columns), len(columns.authors))
        except StaleArraysError:
            pass
    index = build_index(columns.titles)
    store.save("index", key, index_arrays(index))
    return index


def _tell(progress: Progress | None, done: int, what: str) -> None:
    if progress is not None:
        progress(done, 3, what)


class EmbeddedCatalog:
    """A `CatalogPort` over a file. Get one from `open`; its worker threads and its background task end with it."""

    def __init__(self, loaded: Loaded, vectors: VectorLeg | None, workers: ThreadPoolExecutor) -> None:
        self._columns, self._engine = loaded.columns, loaded.engine
        self._vectors, self._workers = vectors, workers

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
        currency: Currency = YEN,
    ) -> AsyncIterator[EmbeddedCatalog]:
        """Ready when the lexical index is; vectors follow in the background, at once when they are kept in `cache_dir`.
        `progress` gets (done, total, what): steps of loading, on its thread, then texts of the vectors, on the loop.
        `loaded` is the file, loaded before; `vocabulary` has the shop's tags, `currency` is its own.

        Raises CatalogFileError when the file can't be used. Without an embedder the search is lexical, and not called
        degraded."""
        store = ComputedStore(cache_dir)
        workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="catalog")
        catalog: EmbeddedCatalog | None = None
        try:
            if loaded is None:
                loaded = await asyncio.get_running_loop().run_in_executor(
                    workers, load_catalog, path, store, progress, vocabulary, currency
                )
            leg = None if embedder is None else VectorLeg(embedder, store, loaded.key)
            catalog = cls(loaded, leg, workers)
            if leg is not None:
                plan = await asyncio.get_running_loop().run_in_executor(workers, loaded.planned)
                await leg.start(plan, workers, progress, head_start)
            yield catalog
        finally:
            if catalog is not None and catalog._vectors is not None:
                await catalog._vectors.aclose()
            workers.shutdown(wait=False, cancel_futures=True)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def titles(self) -> Sequence[Title]:
        """All titles, in the file's order."""
        return self._columns.titles

    @property
    def offers(self) -> Mapping[str, tuple[Offer, ...]]:
        """The file's offers by title_id, for a store without stock of its own."""
        return {title.title_id: offers for title, offers in self.records}

    @property
    def records(self) -> Sequence[tuple[Title, tuple[Offer, ...]]]:
        """The file's records, in its order."""
        return list(zip(self._columns.titles, self._columns.offers, strict=True))

    @property
    def vectors_ready(self) -> bool:
        """True if searches use meaning, or if there is no embedder to wait for."""
        return self._vectors is None or self._vectors.ready

    async def wait_for_vectors(self) -> bool:
        """Waits until the background work on vectors is over. Returns `vectors_ready`."""
        if self._vectors is not None:
            await self._vectors.wait()
        return self.vectors_ready

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        """Raises TimedOut at the deadline."""
        if self._vectors is None:
            return await self._run(deadline, partial(self._engine.search, query))
        with self._vectors.searching():
            vector = await self._vectors.query(normalise(query.text), deadline)
            work = partial(self._engine.search, query, vector, self._vectors.vectors, wants_meaning=True)
            return await self._run(deadline, work)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        numbers = self._columns.numbers
        return {i: self._columns.titles[numbers[i]] for i in title_ids if i in numbers}

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        """Raises TimedOut at the deadline."""
        return await self._run(deadline, partial(self._engine.popular, conditions, limit))

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        """Raises TimedOut at the deadline."""
        return await self._run(deadline, partial(self._engine.for_reader, query))

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        """Raises TimedOut at the deadline."""
        if self._vectors is None:
            return ()
        with self._vectors.searching():
            vector, vectors = await self._vectors.query(normalise(text), deadline), self._vectors.vectors
            if vector is None or vectors is None:
                return None
            return await self._run(deadline, partial(self._engine.nearest, vector, vectors, limit))

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return self._engine.terms

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Raises TimedOut at the deadline. Runs on the event loop: microseconds a name, less than a thread takes."""
        if deadline.expired():
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog")
        return self._engine.match_names(names)

    async def health(self, deadline: Deadline) -> Health:
        state = "by words and meaning" if self._vectors is not None and self.vectors_ready else "by words"
        return Health(True, f"{len(self._columns)} titles, searched {state}")

    async def _run(self, deadline: Deadline, work: Callable[[], T]) -> T:
        """Runs the work on a thread of the catalogue's own, and waits for it until the deadline."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await loop.run_in_executor(self._workers, work)
        except TimeoutError as error:
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog") from error
