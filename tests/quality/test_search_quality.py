"""The judged sets must stay above their bars."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.measure import Measured, by_type, macro, measure, ndcg
from tests.quality.sets import JudgedSet, demo_set, evaluation_set, missing_message
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import LocalEmbedder


async def results_of(judged: JudgedSet, folder: Path) -> list[Measured]:
    async with (
        LocalEmbedder() as embedder,
        EmbeddedCatalog.open(judged.catalog, embedder, cache_dir=folder) as catalog,
    ):
        await catalog.wait_for_vectors()
        return await measure(catalog, judged.queries())


async def test_the_demo_catalogue_is_searched_well(vectors: Path) -> None:
    judged = demo_set()
    results = await results_of(judged, vectors)
    assert macro(results) >= judged.bar
    assert not any(r.degraded for r in results)
    assert by_type(results)["absent"].count(1.0) >= 2


@pytest.mark.timeout(300)
async def test_the_evaluation_set_is_searched_well(vectors: Path) -> None:
    judged = evaluation_set()
    if judged is None:
        pytest.skip(missing_message())
    results = await results_of(judged, vectors)
    assert macro(results) >= 0.60


def test_the_best_order_scores_one_and_a_worse_one_less() -> None:
    grades = {"a": 3, "b": 1}
    assert ndcg(["a", "b"], grades) == pytest.approx(1.0)
    assert 0 < ndcg(["b", "x", "a"], grades) < 1
    assert ndcg(["x"], grades) == 0


def test_nothing_found_is_right_when_nothing_fits() -> None:
    assert ndcg([], {}) == 1.0
    assert ndcg(["a"], {}) == 0.0
