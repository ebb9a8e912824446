"""Embedding many texts: in batches, patiently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from session.deadline import Deadline
from tools.backends.batching import batches
from tools.backends.opensearch.vectors import Floats
from tools.failures import BackendFailure
from tools.ports import Embedder

_BATCH_CHARACTERS, _BATCH_TEXTS = 3_200, 32
_BATCH_SECONDS, _LONGEST_PAUSE, _ATTEMPTS = 60.0, 60.0, 10


class Batches:
    """An embedder for a whole catalogue."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), dimensions). Raises BackendFailure after ten attempts at one batch, about five minutes."""
        parts = [await self._patiently(batch) for batch in batches(texts, _BATCH_TEXTS, _BATCH_CHARACTERS)]
        return np.concatenate(parts) if parts else np.zeros((0, self._embedder.dimensions), np.float32)

    async def _patiently(self, texts: Sequence[str]) -> Floats:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return await self._embedder.embed(texts, Deadline.after(_BATCH_SECONDS))
            except BackendFailure:
                await asyncio.sleep(min(_LONGEST_PAUSE, 2.0**attempt))
        return await self._embedder.embed(texts, Deadline.after(_BATCH_SECONDS))
