"""Query vectors over real HTTP from a server in Bedrock's place that is late, refuses or hangs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tests.support.bedrock import Answer, Bedrock, after, bedrock, bedrock_embedder, hangs_up, says, vector_of
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.valkey import eventually
from tools.store.backends import embedding as module
from tools.store.backends.bedrock import BedrockEmbedder
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedding import CALL_SECONDS, NOT_AGAIN_SECONDS, QueryVectors
from tools.store.failures import DependencyFailure, InternalFailure
from tools.store.models import CatalogQuery, Conditions
from tools.store.ports import Embedder

__all__ = ["bedrock", "bedrock_embedder"]

TASKS = ("vector of a query", "bedrock embed")
Floats = NDArray[np.float32]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def vectors(bedrock: Bedrock, bedrock_embedder: BedrockEmbedder, clock: HandClock) -> AsyncIterator[QueryVectors]:
    """With the connection made, and what it took forgotten."""
    await bedrock_embedder.embed(["the first question takes longer"], soon())
    bedrock.asked.clear()
    opened = QueryVectors(bedrock_embedder, clock)
    yield opened
    await opened.aclose()
    assert under_way() == 0


def soon() -> Deadline:
    return Deadline.after(10)


def under_way() -> int:
    """Tasks of `QueryVectors` and of the embedder below it."""
    return sum(task.get_name() in TASKS for task in asyncio.all_tasks())


def begun(vectors: QueryVectors, *texts: str) -> list[asyncio.Task[Floats | None]]:
    return [asyncio.create_task(vectors.embed_text(text, soon())) for text in texts]


async def left(*waiting: asyncio.Task[Floats | None]) -> None:
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def at_last(vectors: QueryVectors, text: str) -> Floats:
    """The vector, however long a busy machine takes over it."""
    found = await vectors.embed_text(text, soon())
    await eventually(lambda: not under_way())
    found = found if found is not None else await vectors.embed_text(text, soon())
    assert found is not None
    return found


def is_that_of(found: Floats | None, text: str) -> bool:
    expected = np.asarray(vector_of(text))
    return found is not None and np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


async def test_query_is_embedded_once_and_its_vector_cached(bedrock: Bedrock, vectors: QueryVectors) -> None:
    """The cached vector is used while the model is away, and without any time left."""
    first = await at_last(vectors, "pirates")
    bedrock.answer = hangs_up
    assert is_that_of(first, "pirates")
    assert await vectors.embed_text("pirates", Deadline.after(0)) is first
    assert bedrock.texts == ["pirates"]


async def test_cached_vector_is_read_only(vectors: QueryVectors) -> None:
    with pytest.raises(ValueError, match="read-only"):
        (await at_last(vectors, "pirates"))[:] = 0


async def test_late_vector_is_cached_for_the_same_query(bedrock: Bedrock, vectors: QueryVectors) -> None:
    """The model takes 400 ms where a search waits 300 ms."""
    bedrock.answer = after(0.4)
    assert await vectors.embed_text("pirates", soon()) is None
    await eventually(lambda: not under_way())
    bedrock.answer = hangs_up
    assert is_that_of(await vectors.embed_text("pirates", soon()), "pirates")
    assert bedrock.texts == ["pirates"]


async def test_search_waits_at_most_half_of_its_remaining_time_for_a_vector(
    bedrock: Bedrock, vectors: QueryVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    monkeypatch.setattr(module, "CALL_SECONDS", 60.0)
    with bedrock.holding():
        deadline = Deadline.after(1)
        async with asyncio.timeout(30):
            assert await vectors.embed_text("pirates", deadline) is None
        assert bedrock.under_way


async def test_equal_concurrent_queries_share_one_request(bedrock: Bedrock, vectors: QueryVectors) -> None:
    with bedrock.holding():
        waiting = begun(vectors, *["pirates"] * 20, "ninja")
        await eventually(lambda: bedrock.under_way == 2)
    *equal, other = await asyncio.gather(*waiting)
    assert sorted(bedrock.texts) == ["ninja", "pirates"]
    assert all(is_that_of(each, "pirates") for each in equal)
    assert is_that_of(other, "ninja")


async def test_cancelled_caller_leaves_the_shared_request_running(bedrock: Bedrock, vectors: QueryVectors) -> None:
    """This holds for the caller that started it too."""
    with bedrock.holding():
        first, second = begun(vectors, "pirates", "pirates")
        await eventually(lambda: bedrock.under_way)
        await left(first)
    assert is_that_of(await second, "pirates")
    assert (bedrock.texts, bedrock.hung_up) == (["pirates"], 0)


async def test_new_caller_joins_the_request_that_the_last_caller_left(bedrock: Bedrock, vectors: QueryVectors) -> None:
    with bedrock.holding():
        await left(*begun(vectors, "pirates"))  # has not even been begun
        leaving = begun(vectors, "pirates")
        await eventually(lambda: bedrock.under_way)
        await left(*leaving)
        (coming,) = begun(vectors, "pirates")
        await asyncio.sleep(0)
    assert is_that_of(await coming, "pirates")
    assert bedrock.texts == ["pirates"]


async def test_requests_without_a_waiting_caller_are_bounded_in_number(
    bedrock: Bedrock, vectors: QueryVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests beyond the bound end with their last caller; awaited requests do not count."""
    monkeypatch.setattr(module, "MOST_ALONE", 2)
    monkeypatch.setattr(module, "PATIENCE", 30.0)  # nobody leaves before they are told to, however busy the machine is
    monkeypatch.setattr(module, "CALL_SECONDS", 30.0)
    with bedrock.holding():
        (staying,) = begun(vectors, "stays")
        leaving = begun(vectors, "a", "b", "c", "d", "e")
        await eventually(lambda: bedrock.under_way == 6)
        await left(*leaving)
        await eventually(lambda: bedrock.hung_up == 3)
        await eventually(lambda: bedrock.under_way == 3)
    await staying
    await eventually(lambda: not under_way())
    bedrock.answer = hangs_up
    found = [await vectors.embed_text(text, soon()) for text in ("stays", "a", "b", "c", "d", "e")]
    assert [vector is not None for vector in found] == [True] * 3 + [False] * 3


async def test_hanging_model_is_given_up_and_not_asked_again_at_once(
    bedrock: Bedrock, vectors: QueryVectors, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is closed, and no task is left."""
    monkeypatch.setattr(module, "CALL_SECONDS", 0.5)
    with bedrock.holding():
        assert await vectors.embed_text("pirates", soon()) is None
        await eventually(lambda: bedrock.hung_up and not under_way())
        assert await vectors.embed_text("pirates", soon()) is None
    assert bedrock.texts == ["pirates"]
    monkeypatch.undo()
    clock.advance(NOT_AGAIN_SECONDS)
    assert is_that_of(await at_last(vectors, "pirates"), "pirates")


REFUSALS = {
    "throttled": says({"message": "Too many requests"}, 429, "ThrottlingException"),
    "no such model": says({"message": "no"}, 400, "ValidationException"),
    "not allowed": says({"message": "no"}, 403, "AccessDeniedException"),
    "broken": says({}, 500),
    "another model's": says({"embedding": vector_of("pirates", 256)}),
    "gone": hangs_up,
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
async def test_refused_query_is_not_asked_for_again_within_a_second(
    answer: Answer, bedrock: Bedrock, vectors: QueryVectors, clock: HandClock
) -> None:
    """This holds for any number of callers; another query is asked for."""
    bedrock.answer = answer
    assert await asyncio.gather(*begun(vectors, *["pirates"] * 5)) == [None] * 5
    await eventually(lambda: not under_way())
    assert bedrock.texts == ["pirates"]
    bedrock.answer = None
    clock.advance(NOT_AGAIN_SECONDS - 0.01)
    assert await vectors.embed_text("pirates", soon()) is None
    assert is_that_of(await at_last(vectors, "ninja"), "ninja")
    clock.advance(0.02)
    assert is_that_of(await at_last(vectors, "pirates"), "pirates")
    assert bedrock.texts == ["pirates", "ninja", "pirates"]


async def test_closing_cancels_requests_and_sends_no_more(
    bedrock: Bedrock, vectors: QueryVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Awaited requests are cancelled too, and their callers get no vector."""
    monkeypatch.setattr(module, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    with bedrock.holding():
        leaving, waiting = begun(vectors, "alone", "waited for")
        await eventually(lambda: bedrock.under_way == 2)
        await left(leaving)
        async with asyncio.timeout(3):  # the embedder itself gives up after five
            await vectors.aclose()
            assert under_way() == 0
            assert await waiting is None
        await eventually(lambda: bedrock.hung_up == 2)
    assert await vectors.embed_text("late", soon()) is None
    assert sorted(bedrock.texts) == ["alone", "waited for"]


class Answering:
    """An embedder that answers, or raises, what it is given."""

    name, dimensions = "answering", 2

    def __init__(self, answer: Floats | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.deadlines: list[Deadline] = []

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> Floats:
        self.asked.extend(texts)
        self.deadlines.append(deadline)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


USELESS = {
    "two rows": np.ones((2, 2)),
    "no row": np.ones((0, 2)),
    "flat": np.ones(2),
    "other dimensions": np.ones((1, 3)),
    "not a number": np.array([[1.0, np.nan]]),
    "infinite": np.array([[np.inf, 0.0]]),
    "away": DependencyFailure("away"),
    "not installed": InternalFailure("The embedder is not installed."),
}


@cases("answer", USELESS.values(), ids=USELESS)
async def test_malformed_vector_is_none_and_not_cached(answer: Floats | Exception, clock: HandClock) -> None:
    """The next call asks again."""
    embedder = Answering(answer)
    vectors = QueryVectors(embedder, clock)
    assert await vectors.embed_text("pirates", soon()) is None
    embedder.answer = np.array([[0.6, 0.8]], np.float32)
    clock.advance(NOT_AGAIN_SECONDS)
    found = await vectors.embed_text("pirates", soon())
    assert found is not None
    assert np.array_equal(found, embedder.answer[0])


async def test_cached_vectors_and_failures_are_bounded(monkeypatch: pytest.MonkeyPatch, clock: HandClock) -> None:
    """The most recently used vectors are kept, and the most recent failures."""
    monkeypatch.setattr(module, "KEPT", 2)
    monkeypatch.setattr(module, "MOST_FAILED", 2)
    embedder = Answering(np.array([[0.6, 0.8]], np.float32))
    vectors = QueryVectors(embedder, clock)
    for text in ("a", "b", "a", "c", "a", "b"):
        assert await vectors.embed_text(text, soon()) is not None
    assert embedder.asked == ["a", "b", "c", "b"]
    embedder.answer, embedder.asked = DependencyFailure("away"), []
    for text in ("b", "x", "y", "y", "x", "z", "y", "x"):
        await vectors.embed_text(text, soon())
    assert embedder.asked == ["x", "y", "z", "x"]
    clock.advance(NOT_AGAIN_SECONDS)
    for text in ("z", "v", "z", "w", "v"):
        await vectors.embed_text(text, soon())
    assert embedder.asked[4:] == ["z", "v", "w"]


async def test_request_for_a_vector_has_a_timeout_independent_of_the_search() -> None:
    embedder = Answering(np.array([[0.6, 0.8]], np.float32))
    vectors, before = QueryVectors(embedder), Deadline.after(CALL_SECONDS)
    for text, deadline in (("pirates", Deadline.after(0.01)), ("ninja", Deadline.after(3_600))):
        await vectors.embed_text(text, deadline)
    await eventually(lambda: len(embedder.deadlines) == 2)
    after_that = Deadline.after(CALL_SECONDS)
    assert all(before.at <= given.at <= after_that.at for given in embedder.deadlines)


async def test_unexpected_error_of_the_embedder_is_raised() -> None:
    vectors = QueryVectors(Answering(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        await vectors.embed_text("pirates", soon())


@asynccontextmanager
async def small_catalog(folder: Path, embedder: Embedder) -> AsyncIterator[EmbeddedCatalog]:
    path = folder / "catalog.jsonl"
    path.write_text(json.dumps({"title_id": "manga-000001", "title": {"en": "Paper Lighthouse"}}) + "\n", "utf-8")
    async with EmbeddedCatalog.open(path, embedder) as catalog:
        assert await catalog.wait_for_vectors()
        yield catalog


QUERY = CatalogQuery("lighthouse", Conditions(), 5)


async def test_second_search_uses_the_vector_that_was_late_for_the_first(
    bedrock: Bedrock, bedrock_embedder: BedrockEmbedder, tmp_path: Path
) -> None:
    async with small_catalog(tmp_path, bedrock_embedder) as catalog:
        bedrock.answer = after(0.4)
        first = await catalog.search(QUERY, soon())
        await eventually(lambda: not under_way())
        second = await catalog.search(QUERY, soon())
    assert (first.degraded, second.degraded) == (("vector",), ())
    assert bedrock.texts.count("lighthouse") == 1


async def test_closing_the_catalogue_cancels_vector_requests_of_its_searches(
    bedrock: Bedrock, bedrock_embedder: BedrockEmbedder, tmp_path: Path
) -> None:
    async with small_catalog(tmp_path, bedrock_embedder) as catalog:
        with bedrock.holding():
            assert (await catalog.search(QUERY, soon())).degraded == ("vector",)
            assert under_way() > 0
            await catalog._vectors.aclose()
            assert under_way() == 0
            await eventually(lambda: bedrock.hung_up == 1)
