"""The searches by meaning: for nearest vectors, and for how near given titles are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.opensearch.index.definition import ID
from tools.store.backends.opensearch.queries.dsl import Json, nested, search

_MOST_SENSES = 10_000


def nearest(vector: NDArray[np.float32], filters: Sequence[Json], size: int) -> Json:
    """The `size` titles with the sense nearest to `vector`."""
    return search(_senses(vector, filters, size), [], size)


def sense_of(vector: NDArray[np.float32], title_ids: Sequence[str]) -> Json:
    """How near each of these titles is to `vector`: as many neighbours are asked for as they can have, which is exact."""
    filters = [{"terms": {ID: list(title_ids)}}]
    return search(_senses(vector, filters, min(_MOST_SENSES, 16 * len(title_ids))), [], len(title_ids))


def _senses(vector: NDArray[np.float32], filters: Sequence[Json], k: int) -> Json:
    asked: Mapping[str, Any] = {"vector": vector.astype(np.float64).round(6).tolist(), "k": k}
    among = {"filter": {"bool": {"filter": list(filters)}}} if filters else {}
    return nested("senses", {"knn": {"senses.vector": {**asked, **among}}})


def cosine_of(score: float) -> float:
    """The inner product behind a score of OpenSearch's `innerproduct` space: 1 + x for x ≥ 0, else 1 / (1 − x)."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / max(score, 1e-9)
