"""A whole catalogue's texts for an embedder: in batches, patiently."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure
from tools.store.ports import Embedder

_SECONDS, _FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 1.0, 60.0


def batches(texts: Iterable[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """In order, each within both limits, so that whoever waits behind one does not wait long.

    A text that is longer than the second limit is a batch of its own.
    """
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > most_characters or len(batch) == most_texts):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


async def embed_patiently(embedder: Embedder, texts: Sequence[str], attempts: float = math.inf) -> NDArray[np.float32]:
    """Tries again after 1, 2, 4 … 60 seconds: a remote embedder throttles whoever asks for a whole catalogue, and one that
    is away comes back. Raises the BackendFailure of the last attempt.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await embedder.embed(texts, Deadline.after(_SECONDS))
        except BackendFailure:
            attempts -= 1
            if attempts < 1:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
