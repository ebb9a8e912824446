"""What every embedder does, in each implementation."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from session.resilience.deadline import Deadline
from tests.support.bedrock import bedrock, bedrock_embedder
from tests.support.cases import cases
from tools.store.backends.embedding import QueryVectors
from tools.store.failures import TimedOut
from tools.store.ports import Embedder

__all__ = ["bedrock", "bedrock_embedder"]

ROUNDING = 2e-4
"""What numbers of a vector may differ by: one text alone goes another way than a batch, and keeps tokens in half precision."""
ODD = ["?", "海賊王におれはなる", "🐟" * 50, "a\x00b", '"}{\\', "e\u0301", "x" * 20_000, "進撃\r\nの巨人"]


@pytest.fixture(params=["local", "bedrock"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return request.getfixturevalue(f"{request.param}_embedder")  # type: ignore[no-any-return]


def later() -> Deadline:
    return Deadline.after(60)


async def test_each_text_gets_a_unit_vector(embedder: Embedder) -> None:
    """It has single precision and the embedder's number of dimensions."""
    vectors = await embedder.embed(["pirates", "忍者", "school romance"], later())
    assert (vectors.shape, vectors.dtype) == ((3, embedder.dimensions), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0] * 3, abs=1e-5)


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed([], later())).shape == (0, embedder.dimensions)


async def test_vector_depends_on_its_text_alone(embedder: Embedder) -> None:
    """Its position, the other texts of the request and the time do not matter."""
    together = await embedder.embed(["pirates", "忍者", "pirates"], later())
    alone = await embedder.embed(["忍者"], later())
    assert np.allclose(together[0], together[2], atol=1e-5)
    assert np.allclose(together[1], alone[0], atol=ROUNDING)
    assert np.array_equal(alone, await embedder.embed(["忍者"], later()))
    assert not np.allclose(together[0], together[1], atol=1e-2)


@cases("text", ODD, ids=ascii)
async def test_any_text_has_a_finite_vector(embedder: Embedder, text: str) -> None:
    (vector,) = await embedder.embed([text], later())
    assert np.isfinite(vector).all()


async def test_texts_of_similar_meaning_are_nearer(embedder: Embedder) -> None:
    near, text, far = await embedder.embed(
        ["a boy becomes a ninja", "a boy becomes a great ninja", "cooking sushi for the emperor"], later()
    )
    assert text @ near > text @ far


async def test_expired_deadline_raises_timed_out(embedder: Embedder) -> None:
    with pytest.raises(TimedOut) as caught:
        await embedder.embed(["a text that nobody asked for before"], Deadline.after(-1))
    assert caught.value.dependency == "embedder"


async def test_concurrent_callers_each_get_their_own_vectors(embedder: Embedder) -> None:
    """Some callers are cancelled meanwhile."""
    texts = [f"volume {n} of the story" for n in range(20)]
    gone = [asyncio.ensure_future(embedder.embed([text], later())) for text in texts]
    waiting = [asyncio.ensure_future(embedder.embed([text], later())) for text in texts]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    found = np.concatenate(await asyncio.gather(*waiting))
    await asyncio.gather(*gone, return_exceptions=True)
    assert np.allclose(found, await embedder.embed(texts, later()), atol=ROUNDING)


async def test_query_vector_equals_its_text_vector_and_closing_leaves_no_task(embedder: Embedder) -> None:
    """A first query vector may take longer than a search waits."""
    row = (await embedder.embed(["pirates"], later()))[0]
    vectors, before = QueryVectors(embedder), asyncio.all_tasks()
    async with asyncio.timeout(30):
        while (found := await vectors.embed_text("pirates", later())) is None:
            await asyncio.sleep(0.01)
    assert np.allclose(found, row, atol=ROUNDING)
    waiting = [asyncio.ensure_future(vectors.embed_text(f"volume {n}", later())) for n in range(20)]
    await asyncio.sleep(0)
    await vectors.aclose()
    await asyncio.gather(*waiting)
    assert asyncio.all_tasks() == before


def test_embedder_has_a_stable_name(embedder: Embedder) -> None:
    assert embedder.name == embedder.name != ""
