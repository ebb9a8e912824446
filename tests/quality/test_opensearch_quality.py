"""A real node finds what the embedded catalogue finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.measure import macro
from tests.quality.opensearch import run_on_opensearch
from tests.quality.run import run_set
from tests.quality.sets import demo_set
from tests.stack.fixtures import opensearch_url  # noqa: F401

CLOSE = 0.03
"""How far the mean nDCG@10 may be off."""


@pytest.mark.timeout(300)
async def test_the_demo_catalogue_is_searched_as_well_as_by_the_embedded_one(
    opensearch_url: str,  # noqa: F811
    vectors: Path,
) -> None:
    judged = demo_set()
    here = await run_set(judged, vectors, lexical=False)
    there = await run_on_opensearch(judged, opensearch_url)
    assert abs(macro(there) - macro(here)) <= CLOSE
    assert macro(there) >= judged.bar
    assert not any(result.degraded for result in there)
