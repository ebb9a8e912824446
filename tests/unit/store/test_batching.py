"""Embedding a whole catalogue: batches, and retries for an embedder that throttles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends import embedding as batching
from tools.store.backends.embedding import batches, embed_with_retries
from tools.store.failures import DependencyFailure, InternalFailure, Throttled


@given(st.lists(st.text(max_size=12)), st.integers(1, 4), st.integers(1, 20))
def test_batches_hold_every_text_in_order_within_both_limits(texts: list[str], most: int, characters: int) -> None:
    """A text that is too long by itself is a batch of its own."""
    made = list(batches(texts, most, characters))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(map(len, batch)) <= characters


class Refusing:
    """Raises `failures`, one a call, and answers after that."""

    name, dimensions = "refusing", 2

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.asked = list(failures), 0

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return np.ones((len(texts), 2), np.float32)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(batching, "_LONGEST_PAUSE", 0.002)


async def test_throttled_batch_is_retried_until_it_is_answered() -> None:
    embedder = Refusing(*[Throttled("slower")] * 12)
    assert (await embed_with_retries(embedder, ["a", "b"])).shape == (2, 2)
    assert embedder.asked == 13


async def test_limited_retries_end_with_the_last_failure() -> None:
    embedder = Refusing(Throttled("slower"), Throttled("slower"), DependencyFailure("away"))
    with pytest.raises(DependencyFailure, match="away"):
        await embed_with_retries(embedder, ["a"], attempts=3)
    assert embedder.asked == 3


async def test_permanent_failure_is_raised_without_a_retry() -> None:
    embedder = Refusing(InternalFailure("not installed"))
    with pytest.raises(InternalFailure):
        await embed_with_retries(embedder, ["a"])
    assert embedder.asked == 1
