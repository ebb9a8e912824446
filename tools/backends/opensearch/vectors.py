"""Vectors of queries, kept, and never waited for at length."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from session.deadline import Deadline
from tools.backends.opensearch.index import Identity
from tools.failures import BackendFailure
from tools.ports import Embedder

Floats = NDArray[np.float32]
_PATIENCE = 0.3
_KEPT_QUERIES = 2_048
_WARM_SECONDS = 60.0


class QueryVectors:
    """An embedder for queries that remembers the latest 2,048."""

    def __init__(self, embedder: Embedder, patience: float = _PATIENCE) -> None:
        self._embedder, self._patience = embedder, patience
        self._kept: OrderedDict[str, Floats] = OrderedDict()

    async def warm(self) -> None:
        """The first text takes a local encoder a second or two, which is longer than a search would wait."""
        with suppress(BackendFailure):
            await self._embedder.embed(["warm up"], Deadline.after(_WARM_SECONDS))

    def disagreement(self, identity: Identity) -> str | None:
        """Why vectors of this embedder can't be compared with those of the index; None when they can."""
        if identity.embedder is None:
            return "the index has no vectors: load the catalogue again with an embedder"
        mine = (self._embedder.name, self._embedder.dimensions)
        if (identity.embedder, identity.dimensions) == mine:
            return None
        return (
            f"the index was made with {identity.embedder} ({identity.dimensions} dimensions), "
            f"this server embeds with {mine[0]} ({mine[1]}): set MANGA_EMBEDDER as it was, or load the catalogue again"
        )

    async def of(self, text: str, deadline: Deadline) -> Floats | None:
        """The vector, or None when it is not there in time: at most 0.3 s and half of what is left."""
        if (kept := self._kept.get(text)) is not None:
            self._kept.move_to_end(text)
            return kept
        try:
            found = await self._embedder.embed([text], deadline.within(min(self._patience, deadline.remaining() / 2)))
        except BackendFailure:
            return None
        vector = np.asarray(found[0], np.float32)
        if vector.shape != (self._embedder.dimensions,) or not np.isfinite(vector).all():
            return None
        self._kept[text] = vector
        if len(self._kept) > _KEPT_QUERIES:
            self._kept.popitem(last=False)
        return vector
