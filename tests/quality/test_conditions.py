"""What shoppers say besides a name is obeyed, and names that hold such words stay names."""

from __future__ import annotations

from pathlib import Path

from tests.quality.conditions.asking import Place
from tests.quality.conditions.measure import measure
from tests.quality.conditions.report import mean
from tests.quality.conditions.wanted import NAMES, load_queries
from tests.quality.sets import demo_set

LEAST = 0.85
"""Of conditions satisfied@5 over the demo catalogue, open and locked."""
LEAST_OF_NAMES = 0.985


async def test_conditions_are_obeyed_and_names_found(vectors: Path) -> None:
    results = await measure(Place(demo_set().catalog, vectors), load_queries(), "search")
    assert not any(each.answer.degraded for each in results)
    assert (mean(each for each in results if each.query.conditional) or 0) >= LEAST
    assert (mean(each for each in results if each.query.kind == NAMES) or 0) >= LEAST_OF_NAMES
