"""The vector leg of a catalogue: its matrix, built in the background, and vectors of queries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends.batching import batches, embed_patiently
from tools.store.backends.embedded.computed import ComputedStore
from tools.store.backends.embedded.meaning.vectors import VectorPlan, Vectors
from tools.store.backends.embedded.stored_index import fits
from tools.store.backends.query_vectors import QueryVectors
from tools.store.ports import Embedder

Floats = NDArray[np.float32]
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
        self.vectors: Vectors | None = None

    @property
    def ready(self) -> bool:
        return self._warm and self.vectors is not None

    async def prepare(
        self, plan: VectorPlan, kept: Vectors | None, progress: Progress | None, head_start: float = 0.0
    ) -> None:
        """Warms the query encoder and gets the matrix. Runs as a background task; failures leave the leg not ready.

        Begins after `head_start` seconds: loading the encoder holds the interpreter for about one, in which whoever has
        just opened the catalogue may want to greet a client.
        """
        self.vectors = kept
        await asyncio.sleep(head_start)
        await embed_patiently(self._embedder, ["warm up"])
        self._warm = True
        while self.vectors is None:
            self.vectors = await self._made(plan, progress)

    def kept(self, plan: VectorPlan) -> Vectors | None:
        """The vectors that are on disk for this catalogue and embedder. Blocking."""
        matrix = self._store.map(_KIND, self._key)
        if matrix is None or not fits(matrix, len(plan.texts), self._embedder.dimensions):
            return None
        return Vectors(matrix, plan.owners, plan.titles)

    async def _made(self, plan: VectorPlan, progress: Progress | None) -> Vectors | None:
        """Computes them, or waits for a moment where another process does: then they are on disk."""
        claim = await asyncio.to_thread(self._store.claim, _KIND)
        if claim is None:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            return await asyncio.to_thread(self.kept, plan)
        try:
            if (kept := await asyncio.to_thread(self.kept, plan)) is not None:
                return kept
            matrix = await self._build(plan, progress)
            await asyncio.to_thread(self._store.save_matrix, _KIND, self._key, matrix)
            return await asyncio.to_thread(self.kept, plan) or Vectors(matrix, plan.owners, plan.titles)
        finally:
            claim.release()

    async def query(self, text: str, deadline: Deadline) -> Floats | None:
        """The query's vector, or None when it is not there in time."""
        return await self._queries.of(text, deadline) if self.ready else None

    async def aclose(self) -> None:
        await self._queries.aclose()

    def search_begins(self) -> None:
        """The build of the matrix pauses while a search is under way: live calls go first."""
        self._searches += 1
        self._idle.clear()

    def search_ends(self) -> None:
        self._searches -= 1
        if not self._searches:
            self._idle.set()

    async def _build(self, plan: VectorPlan, progress: Progress | None) -> Floats:
        # One piece, which the system gets back whole: of thousands of small ones the process would keep all the room.
        matrix = np.empty((len(plan.texts), self._embedder.dimensions), np.float32)
        done = 0
        for batch in batches(plan.texts, _BATCH_TEXTS, _BATCH_CHARACTERS):
            await self._idle.wait()
            matrix[done : done + len(batch)] = await embed_patiently(self._embedder, batch)
            done += len(batch)
            if progress is not None:
                progress(done, len(plan.texts), "vectors")
        return matrix
