"""The embedded catalogue: a file of title records, searched by words, names and meaning. Vectors are loaded from disk or
computed in the background."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from session.resilience.tasks import end_task, start_task
from tools.store.backends.embedded.columns import TitleColumns, build_columns, count_titles
from tools.store.backends.embedded.computed import FORMAT, ComputedStore, index_arrays, index_from
from tools.store.backends.embedded.index import AuthorSearch, ExactNames, IndexedNames, LexicalIndex, build_index
from tools.store.backends.embedding import QueryVectors, batches, embed_with_retries, single_threaded_blas
from tools.store.currency import YEN, Currency
from tools.store.failures import Failure, TimedOut
from tools.store.identifiers import CHILDREN
from tools.store.models import (
    CatalogPage,
    CatalogQuery,
    CatalogTerms,
    Conditions,
    Health,
    NameMatches,
    Neighbour,
    Offer,
    Ordering,
    ReaderQuery,
    Title,
)
from tools.store.ports import Embedder
from tools.store.records.catalog_file import parse, read_bytes
from tools.store.search.columns import Floats, Mask
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import reference_row
from tools.store.search.ranking.ranked import Ranked, order, rank, score_meaning
from tools.store.search.taste import Rarity, Taste, like_title, profile_of, tag_shares
from tools.store.search.text.characters import normalise
from tools.store.search.titles.document import headline, passages
from tools.store.tags import Vocabulary, shipped


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """The texts to embed for a catalogue. `texts[:titles]` are the titles' headlines in order; `texts[titles + i]` is a
    passage of title number `owners[i]`."""

    texts: Sequence[str]
    owners: NDArray[np.int32]
    titles: int


def plan_vectors(titles: Sequence[Title]) -> VectorPlan:
    texts = [headline(t) for t in titles]
    pieces = [(number, piece) for number, title in enumerate(titles) for piece in passages(title)]
    return VectorPlan([*texts, *(p for _, p in pieces)], np.array([n for n, _ in pieces], np.int32), len(titles))


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a catalogue. `matrix` has shape (texts, dimensions) with rows of unit length, in the order of
    `VectorPlan.texts`; `owners` and `titles` are those of the plan."""

    matrix: Floats
    owners: NDArray[np.int32]
    titles: int

    def cosines(self, query: Floats) -> tuple[Floats, Floats]:
        """Returns two arrays of shape (titles,): the query's cosine with the best passage of each title, or 0 if that is
        negative or there is no passage, and the query's cosine with the title's headline."""
        rows = self.matrix @ query
        meaning = np.zeros(self.titles, np.float32)
        np.maximum.at(meaning, self.owners, rows[self.titles :])
        return meaning, rows[: self.titles]

    def sum_vectors(self, number: int) -> Floats:
        """Returns the sum of a title's vectors, scaled to length 1."""
        total = self.matrix[number] + self.matrix[self.titles :][self.owners == number].sum(axis=0)
        return np.asarray(total / max(1e-6, float(np.linalg.norm(total))), np.float32)


Progress = Callable[[int, int, str], None]
NO_FOLDER = Path(os.devnull)
"""A folder in which nothing can be stored."""
# Small batches: 1,600 characters take about 25 ms, which is the longest that a query waits for a batch.
_BATCH_CHARACTERS, _BATCH_TEXTS = 1_600, 16
_KIND = "vectors"


class VectorSearch:
    """Computes the vectors of a catalogue and of queries. `vectors` is None until the matrix is loaded or computed; `ready`
    also requires that the query encoder is loaded."""

    def __init__(self, embedder: Embedder, store: ComputedStore, key: str) -> None:
        self._embedder, self._store = embedder, store
        self._key = f"{key}/{embedder.name}/{embedder.dimensions}"
        self._queries = QueryVectors(embedder)
        self._warm = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._searches = 0
        self._task: asyncio.Task[None] | None = None
        self.vectors: Vectors | None = None

    @property
    def ready(self) -> bool:
        return self._warm and self.vectors is not None

    async def start(self, plan: VectorPlan, workers: Executor, progress: Progress | None, head_start: float = 0.0) -> None:
        """Loads cached vectors, then starts a background task that loads the encoder and, if none were cached, computes the
        vectors. The task first waits `head_start` seconds, since loading the encoder holds the GIL for about a second. If
        the task fails, `ready` stays False."""
        self.vectors = await asyncio.get_running_loop().run_in_executor(workers, self.load_kept, plan)
        self._task = start_task(self._prepare(plan, progress, head_start), "catalog vectors")

    async def _prepare(self, plan: VectorPlan, progress: Progress | None, head_start: float) -> None:
        with suppress(Failure):
            await asyncio.sleep(head_start)
            await embed_with_retries(self._embedder, ["warm up"])
            self._warm = True
            while self.vectors is None:
                self.vectors = await self._compute_vectors(plan, progress)

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        await end_task(self._task)
        await self._queries.aclose()

    def load_kept(self, plan: VectorPlan) -> Vectors | None:
        """Returns the cached vectors of this catalogue and embedder; None if there is no complete file. Blocks."""
        matrix = self._store.map(_KIND, self._key)
        if matrix is None or matrix.shape != (len(plan.texts), self._embedder.dimensions):
            return None
        # Checked in pieces: a whole mask, 11 MB for a large catalogue, would stay allocated to the process.
        if not all(np.isfinite(matrix[first : first + 512]).all() for first in range(0, len(matrix), 512)):
            return None
        return Vectors(matrix, plan.owners, plan.titles)

    async def _compute_vectors(self, plan: VectorPlan, progress: Progress | None) -> Vectors | None:
        """Computes and caches the vectors. If another process is computing them, waits half a second and returns the cached
        vectors, or None if there are none yet."""
        claim = await asyncio.to_thread(self._store.claim, _KIND)
        if claim is None:
            await asyncio.sleep(0.5)
            return await asyncio.to_thread(self.load_kept, plan)
        with claim:
            if (kept := await asyncio.to_thread(self.load_kept, plan)) is not None:
                return kept
            matrix = await self._build(plan, progress)
            await asyncio.to_thread(self._store.save_matrix, _KIND, self._key, matrix)
            return await asyncio.to_thread(self.load_kept, plan) or Vectors(matrix, plan.owners, plan.titles)

    async def embed_query(self, text: str, deadline: Deadline) -> Floats | None:
        """Returns the query's vector; None if search by meaning is not ready, or if embedding fails or is late."""
        return await self._queries.embed_text(text, deadline) if self.ready else None

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Pauses the computation of the matrix for the block, to give searches priority."""
        self._searches += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._idle.set()

    async def _build(self, plan: VectorPlan, progress: Progress | None) -> Floats:
        # One allocation, which is returned to the system as a whole; thousands of small ones would stay with the process.
        matrix = np.empty((len(plan.texts), self._embedder.dimensions), np.float32)
        done = 0
        for batch in batches(plan.texts, _BATCH_TEXTS, _BATCH_CHARACTERS):
            await self._idle.wait()
            matrix[done : done + len(batch)] = await embed_with_retries(self._embedder, batch)
            done += len(batch)
            if progress is not None:
                progress(done, len(plan.texts), "vectors")
        return matrix


class Engine:
    """Searches and recommends titles of a catalogue. Immutable after construction, so threads may share it."""

    def __init__(self, columns: TitleColumns, index: LexicalIndex, parser: QueryParser) -> None:
        self._columns, self._parser = columns, parser
        self._people = AuthorSearch(index.people, columns)
        self._candidates = Candidates(columns, IndexedNames(index.names, len(columns)), self._people, index.prose)
        self.names = ExactNames(index.names, self._people, columns)
        tags, magazines, readerships = (count_titles(columns.having[field]) for field in ("tags", "magazine", "genre"))
        self.terms = CatalogTerms(tags, magazines, readerships, titles=len(columns))
        self._rarity = Rarity(tags, len(columns))
        self._taste = Taste(columns, self._rarity)

    def search(
        self,
        asked: CatalogQuery,
        vector: Floats | None = None,
        vectors: Vectors | None = None,
        *,
        wants_meaning: bool = False,
    ) -> CatalogPage:
        """Returns the page of titles that match the query's text and satisfy its conditions. A text that has only filler
        words matches every title. `vector` is the text's embedding; without `vector` or `vectors`, only words are searched.
        With `wants_meaning`, a page without `vector` is marked degraded, unless the text has only filler words."""
        query = self._parser.parse(asked.text, asked.conditions.author, asked.conditions.tags)
        allowed = self._mask_allowed(asked.conditions)
        query = replace(query, ordering=asked.ordering or query.ordering)
        if query.empty:
            numbers = self._in_order(allowed, query.ordering or Ordering.POPULARITY, asked)
            if asked.conditions.for_children and query.ordering is None:
                numbers = sorted(numbers, key=lambda number: self._columns.titles[number].genre != CHILDREN)
            return CatalogPage(self._take_titles(asked.page_of(numbers)), len(numbers))
        degraded = ("vector",) if wants_meaning and vector is None else ()
        pointed = None
        if (name := query.reference_title) is not None:
            pointed = reference_row(name, self._parser.parse(name).aliases, self._candidates)
        if pointed is not None and query.similar_to:
            return self._page(
                Ranked(self._measure_likeness(pointed, allowed, vectors), ordering=query.ordering), asked, degraded
            )
        senses = None if vector is None or vectors is None else vectors.cosines(vector)
        theirs = None if pointed is None else self._columns.written_by_authors_of(pointed)
        candidates = replace(self._candidates, senses=senses, by_same_author=theirs)
        ranked = rank(query, candidates, allowed, for_children=asked.conditions.for_children)
        return self._page(ranked, asked, degraded)

    def for_reader(self, query: ReaderQuery) -> tuple[Title, ...]:
        found = self._taste.worth(query, profile_of(query, self._rarity))
        fit = np.where(self._mask_allowed(query.conditions), found, np.float32(0.0))
        return self._take_titles(order(fit, query.limit).tolist())

    def nearest(self, vector: Floats, vectors: Vectors, limit: int) -> tuple[Neighbour, ...]:
        near = score_meaning(*vectors.cosines(vector))
        rows = order(near, limit).tolist()
        return tuple(Neighbour(title, float(near[row])) for row, title in zip(rows, self._take_titles(rows), strict=True))

    def _page(self, ranked: Ranked, asked: CatalogQuery, degraded: tuple[str, ...]) -> CatalogPage:
        if ranked.ordering is None:
            numbers = ranked.best(asked.offset + asked.limit)
        else:
            numbers = self._in_order(ranked.scores > 0, ranked.ordering, asked)
        best = self._take_titles(asked.page_of(numbers))
        return CatalogPage(best, ranked.answers, degraded, ranked.guessed, self._take_titles(ranked.near))

    def _take_titles(self, numbers: Iterable[int]) -> tuple[Title, ...]:
        return tuple(self._columns.titles[number] for number in numbers)

    def _in_order(self, wanted: Mask, ordering: Ordering, asked: CatalogQuery) -> Sequence[int]:
        every = self._columns.in_order(ordering, asked.conditions.format, asked.conditions.day)
        numbers: list[int] = every[wanted[every]].tolist()
        return numbers

    def _mask_allowed(self, conditions: Conditions) -> Mask:
        allowed = self._columns.meeting(conditions)
        if conditions.author is not None:
            allowed &= self._people.written_by(conditions.author)
        if conditions.without_authors:
            allowed &= self._columns.known["authors"]
        for name in conditions.without_authors:
            allowed &= ~self._people.written_by(name)
        return allowed

    def _measure_likeness(self, number: int, allowed: Mask, vectors: Vectors | None) -> Floats:
        title = self._columns.titles[number]
        shares = tag_shares(title.tags, self.terms.tags, len(self._columns))
        meaning = None if vectors is None else np.maximum(*vectors.cosines(vectors.sum_vectors(number)))
        return like_title(self._columns, shares, title.genre, title.title_id, meaning, allowed)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded catalogue. `key` identifies its content and the format of the data derived from it. `plan` is None if the
    texts to embed are not planned yet."""

    columns: TitleColumns
    engine: Engine
    key: str
    plan: VectorPlan | None = None


def load_catalog(
    path: Path,
    store: ComputedStore,
    progress: Progress | None = None,
    vocabulary: Vocabulary | None = None,
    currency: Currency = YEN,
) -> Loaded:
    """Parses a catalogue file, and loads its search index from `store` or builds and stores it. `vocabulary` defaults to the
    shipped one. Raises CatalogFileError. Blocking: takes seconds for tens of thousands of titles."""
    single_threaded_blas()
    content = read_bytes(path)
    vocabulary = vocabulary or shipped()
    key = f"{FORMAT}/{sha256(content + vocabulary.digest.encode()).hexdigest()}"
    tell: Progress = progress or (lambda done, total, what: None)
    tell(0, 3, "read")
    records = parse(content, vocabulary, currency=currency)
    columns = build_columns([title for title, _ in records], [offers for _, offers in records])
    tell(1, 3, "parsed")
    index = _index(columns, store, key)
    tell(2, 3, "indexed")
    engine = Engine(columns, index, QueryParser(vocabulary))
    tell(3, 3, "ready")
    return Loaded(columns, engine, key)


def _index(columns: TitleColumns, store: ComputedStore, key: str) -> LexicalIndex:
    arrays = store.load("index", key)
    if arrays is not None:
        with suppress(KeyError, ValueError, TypeError):  # of another catalogue, or damaged
            return index_from(arrays, len(columns), len(columns.authors))
    index = build_index(columns.titles)
    store.save("index", key, index_arrays(index))
    return index


class EmbeddedCatalog:
    """A `CatalogPort` over a file. Create it with the context manager `open`, whose exit ends its worker threads and its
    background task."""

    def __init__(self, loaded: Loaded, vectors: VectorSearch | None, workers: ThreadPoolExecutor) -> None:
        self._columns, self._engine = loaded.columns, loaded.engine
        self._vectors, self._workers = vectors, workers

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path,
        embedder: Embedder | None,
        *,
        cache_dir: Path = NO_FOLDER,
        progress: Progress | None = None,
        head_start: float = 0.0,
        loaded: Loaded | None = None,
        vocabulary: Vocabulary | None = None,
        currency: Currency = YEN,
    ) -> AsyncIterator[EmbeddedCatalog]:
        """Opens the catalogue, ready once its lexical index is built; vectors follow in the background, unless `cache_dir`
        has them. Without an embedder, search is lexical and not marked degraded. Raises CatalogFileError. `progress` is
        called with (done, total, what): on a worker thread for the steps of loading, then on the event loop for vectors.
        `loaded` replaces reading `path`. `head_start` delays the background work, in seconds."""
        loop, store = asyncio.get_running_loop(), ComputedStore(cache_dir)
        workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="catalog")
        async with AsyncExitStack() as opened:
            opened.callback(workers.shutdown, wait=False, cancel_futures=True)
            if loaded is None:
                loaded = await loop.run_in_executor(workers, load_catalog, path, store, progress, vocabulary, currency)
            leg = None if embedder is None else VectorSearch(embedder, store, loaded.key)
            if leg is not None:
                opened.push_async_callback(leg.aclose)
                plan = loaded.plan
                if plan is None:
                    plan = await loop.run_in_executor(workers, plan_vectors, loaded.columns.titles)
                await leg.start(plan, workers, progress, head_start)
            yield cls(loaded, leg, workers)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def titles(self) -> Sequence[Title]:
        return self._columns.titles

    @property
    def records(self) -> Sequence[tuple[Title, tuple[Offer, ...]]]:
        return list(zip(self._columns.titles, self._columns.offers, strict=True))

    @property
    def vectors_ready(self) -> bool:
        """True if searches use meaning, or if there is no embedder."""
        return self._vectors is None or self._vectors.ready

    async def wait_for_vectors(self) -> bool:
        if self._vectors is not None:
            await self._vectors.wait()
        return self.vectors_ready

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage:
        if self._vectors is None:
            return await self._run(deadline, partial(self._engine.search, query))
        with self._vectors.searching():
            vector = await self._vectors.embed_query(normalise(query.text), deadline)
            work = partial(self._engine.search, query, vector, self._vectors.vectors, wants_meaning=True)
            return await self._run(deadline, work)

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]:
        numbers = self._columns.numbers
        return {i: self._columns.titles[numbers[i]] for i in title_ids if i in numbers}

    async def popular(self, conditions: Conditions, limit: int, deadline: Deadline) -> tuple[Title, ...]:
        return (await self._run(deadline, partial(self._engine.search, CatalogQuery("", conditions, limit)))).titles

    async def for_reader(self, query: ReaderQuery, deadline: Deadline) -> tuple[Title, ...]:
        return await self._run(deadline, partial(self._engine.for_reader, query))

    async def nearest(self, text: str, limit: int, deadline: Deadline) -> tuple[Neighbour, ...] | None:
        if self._vectors is None:
            return ()
        with self._vectors.searching():
            vector, vectors = await self._vectors.embed_query(normalise(text), deadline), self._vectors.vectors
            if vector is None or vectors is None:
                return None
            return await self._run(deadline, partial(self._engine.nearest, vector, vectors, limit))

    async def terms(self, deadline: Deadline) -> CatalogTerms:
        return self._engine.terms

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]:
        """Matches names on the event loop, since a name takes only microseconds. Raises TimedOut if the deadline has
        passed."""
        if deadline.expired():
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog")
        return self._engine.names.find(names)

    async def health(self, deadline: Deadline) -> Health:
        state = "by words and meaning" if self._vectors is not None and self.vectors_ready else "by words"
        return Health(True, f"{len(self._columns)} titles, searched {state}")

    async def _run(self, deadline: Deadline, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await loop.run_in_executor(self._workers, work)
        except TimeoutError as error:
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog") from error
