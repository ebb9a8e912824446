"""The vectors of a catalogue, from disk or computed in the background, and those of its queries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task
from tools.store.backends.embedded.computed import ComputedStore
from tools.store.backends.embedding import QueryVectors, batches, embed_with_retries
from tools.store.failures import Failure
from tools.store.models import Title
from tools.store.ports import Embedder
from tools.store.search.titles.document import headline, passages

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """Texts to embed: `texts[:titles]` are the headlines in order; text titles + i is a passage of title `owners[i]`."""

    texts: Sequence[str]
    owners: NDArray[np.int32]
    titles: int


def plan_vectors(titles: Sequence[Title]) -> VectorPlan:
    texts = [headline(t) for t in titles]
    pieces = [(number, piece) for number, title in enumerate(titles) for piece in passages(title)]
    return VectorPlan([*texts, *(p for _, p in pieces)], np.array([n for n, _ in pieces], np.int32), len(titles))


@dataclass(frozen=True, slots=True)
class Vectors:
    """`matrix` has shape (texts, dimensions), rows of unit length, in the order of the plan."""

    matrix: Floats
    owners: NDArray[np.int32]
    titles: int

    def cosines(self, query: Floats) -> tuple[Floats, Floats]:
        """(best passage, headline) of each title, shape (titles,). A title without passages has 0 for them."""
        rows = self.matrix @ query
        meaning = np.zeros(self.titles, np.float32)
        np.maximum.at(meaning, self.owners, rows[self.titles :])
        return meaning, rows[: self.titles]

    def sum_vectors(self, number: int) -> Floats:
        """One direction for a title: the sum of its vectors, of unit length."""
        total = self.matrix[number] + self.matrix[self.titles :][self.owners == number].sum(axis=0)
        return np.asarray(total / max(1e-6, float(np.linalg.norm(total))), np.float32)


Progress = Callable[[int, int, str], None]
# Small ones: 1,600 characters take about 25 ms, which is the longest a query waits behind a batch.
_BATCH_CHARACTERS, _BATCH_TEXTS = 1_600, 16
_KIND = "vectors"
_LOOK_AGAIN_SECONDS = 0.5


class VectorLeg:
    """`vectors` is None until the matrix is there, from disk or computed; `ready` is when queries can be embedded too."""

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
        """Takes the vectors that are on disk, and leaves the rest to a background task, which begins after `head_start`
        seconds: loading the encoder holds the interpreter for about one, in which a client may want an answer. If the task
        fails, the leg does not get ready."""
        self.vectors = await asyncio.get_running_loop().run_in_executor(workers, self.load_kept, plan)
        self._task = start_task(self._prepare(plan, progress, head_start), "catalog vectors")

    async def _prepare(self, plan: VectorPlan, progress: Progress | None, head_start: float) -> None:
        """Warms the query encoder and gets the matrix."""
        with suppress(Failure):
            await asyncio.sleep(head_start)
            await embed_with_retries(self._embedder, ["warm up"])
            self._warm = True
            while self.vectors is None:
                self.vectors = await self._compute_vectors(plan, progress)

    async def wait(self) -> None:
        """Waits for the background task."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await self.wait()
        await self._queries.aclose()

    def load_kept(self, plan: VectorPlan) -> Vectors | None:
        """Returns the whole vectors on disk of this catalogue and embedder; None without any. Blocking."""
        matrix = self._store.map(_KIND, self._key)
        if matrix is None or matrix.shape != (len(plan.texts), self._embedder.dimensions):
            return None
        # Looked at in pieces: a thread's process keeps the memory, and a byte for each number is 11 MB of a large catalogue.
        if not all(np.isfinite(matrix[first : first + 512]).all() for first in range(0, len(matrix), 512)):
            return None
        return Vectors(matrix, plan.owners, plan.titles)

    async def _compute_vectors(self, plan: VectorPlan, progress: Progress | None) -> Vectors | None:
        """Computes them, or waits for a moment where another process does: then they are on disk."""
        claim = await asyncio.to_thread(self._store.claim, _KIND)
        if claim is None:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            return await asyncio.to_thread(self.load_kept, plan)
        try:
            if (kept := await asyncio.to_thread(self.load_kept, plan)) is not None:
                return kept
            matrix = await self._build(plan, progress)
            await asyncio.to_thread(self._store.save_matrix, _KIND, self._key, matrix)
            return await asyncio.to_thread(self.load_kept, plan) or Vectors(matrix, plan.owners, plan.titles)
        finally:
            claim.release()

    async def query(self, text: str, deadline: Deadline) -> Floats | None:
        """The query's vector, or None when it is not there in time."""
        return await self._queries.embed_text(text, deadline) if self.ready else None

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Pauses the build of the matrix during a search, since live calls go first."""
        self._searches += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._idle.set()

    async def _build(self, plan: VectorPlan, progress: Progress | None) -> Floats:
        # One piece, which the system gets back whole: of thousands of small ones the process would keep all the room.
        matrix = np.empty((len(plan.texts), self._embedder.dimensions), np.float32)
        done = 0
        for batch in batches(plan.texts, _BATCH_TEXTS, _BATCH_CHARACTERS):
            await self._idle.wait()
            matrix[done : done + len(batch)] = await embed_with_retries(self._embedder, batch)
            done += len(batch)
            if progress is not None:
                progress(done, len(plan.texts), "vectors")
        return matrix
