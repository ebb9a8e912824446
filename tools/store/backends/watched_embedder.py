"""An embedder whose outages show: searches go by words alone without it, and nobody would know."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from session.resilience.deadline import Deadline
from session.resilience.outage import Outage
from tools.store.failures import Failure, InternalFailure
from tools.store.models import Health
from tools.store.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

IN_A_ROW = 3
"""Failures that are an outage: one model that is asked for too much at once, or one slow answer, is none."""


class WatchedEmbedder:
    """Another `Embedder`, which does the work. The log says once that it is lost, and once that it is back."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._outage = Outage(logger, "the embedder", after=IN_A_ROW)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Raises what the embedder raises."""
        try:
            vectors = await self._embedder.embed(texts, deadline)
        except Failure as failure:
            why = f"{failure.message} Searches go by words alone."
            self._outage.failed(why, for_good=isinstance(failure, InternalFailure))
            raise
        self._outage.over()
        return vectors

    async def health(self, deadline: Deadline) -> Health:
        """By the last texts that it was asked for: a probe that embeds costs money."""
        return Health(self._outage.why is None, self._outage.why or "")
