"""The Bedrock embedder over the real AWS client, against a local server that is slow, throttles or breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import NoRegionError

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tests.support.bedrock import (
    DIMENSIONS,
    MODEL,
    REGION,
    SECRET,
    Answer,
    Bedrock,
    bedrock,
    bedrock_embedder,
    breaks_off,
    hangs_up,
    says,
    vector_of,
)
from tests.support.valkey import eventually
from tools.store.backends import bedrock as module
from tools.store.backends.bedrock import AT_ONCE, BedrockEmbedder
from tools.store.backends.opensearch.definition import Identity
from tools.store.failures import BackendFailure, DependencyFailure, Throttled, TimedOut

__all__ = ["bedrock", "bedrock_embedder"]


@pytest.fixture
def own(bedrock_embedder: BedrockEmbedder) -> BedrockEmbedder:
    return bedrock_embedder


def soon() -> Deadline:
    return Deadline.after(10)


def begun(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


async def left(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_embedding_is_a_unit_vector_in_the_direction_of_the_model(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """It is the model's vector, normalised, in single precision."""
    (vector,) = await own.embed(["海賊王"], soon())
    expected = np.asarray(vector_of("海賊王"))
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    assert vector @ expected / np.linalg.norm(expected) == pytest.approx(1.0, abs=1e-6)


async def test_request_has_the_titan_format_and_is_signed_for_the_region(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    await own.embed(["One Piece"], soon())
    assert bedrock.asked == [{"model": MODEL, "inputText": "One Piece", "dimensions": DIMENSIONS, "normalize": True}]
    assert f"/{REGION}/bedrock/aws4_request" in bedrock.signed[0]
    assert SECRET not in bedrock.signed[0]


async def test_region_is_read_from_aws_region_too(bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    """ECS sets AWS_REGION, which botocore ignores; without any region the start reports that."""
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(NoRegionError):
        async with BedrockEmbedder.open(MODEL):
            raise AssertionError
    monkeypatch.setenv("AWS_REGION", "ap-northeast-1")
    async with BedrockEmbedder.open(MODEL) as own:
        await own.embed(["x"], soon())
    assert "/ap-northeast-1/bedrock/" in bedrock.signed[0]


async def test_each_text_is_embedded_once_and_cached(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """The cache answers while Bedrock is away; a text twice in one call is embedded once."""
    first = await own.embed(["a", "b", "a"], soon())
    bedrock.answer = says({}, 500)
    assert np.array_equal(await own.embed(["b", "a", "b"], soon()), first[[1, 0, 1]])
    assert sorted(bedrock.texts) == ["a", "b"]


async def test_retry_after_throttling_asks_only_for_the_missing_texts(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """Requests per minute are few, so an answered text is not asked for again."""
    throttled, answered = THROTTLING[0], asyncio.Event()

    async def answer(request: Any, body: dict[str, Any]) -> Any:
        if body["inputText"] == "one too many":
            await answered.wait()
            return await throttled(request, body)
        return await says({"embedding": vector_of(body["inputText"])})(request, body)

    bedrock.answer = answer
    texts = ["a", "b", "one too many"]
    batch = begun(own.embed(texts, soon()))
    await eventually(lambda: len(own._kept) == 2)
    answered.set()
    with pytest.raises(Throttled):
        await batch
    bedrock.answer = None
    assert (await own.embed(texts, soon())).shape == (3, DIMENSIONS)
    assert sorted(bedrock.texts) == ["a", "b", "one too many", "one too many"]


async def test_embedding_cache_is_bounded(bedrock: Bedrock, own: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_kept", Lru(2))
    for text in ("a", "b", "c", "b", "a"):
        await own.embed([text], soon())
    assert bedrock.texts == ["a", "b", "c", "a"]


async def test_changing_a_returned_vector_does_not_change_the_cached_one(own: BedrockEmbedder) -> None:
    first = await own.embed(["a"], soon())
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(await own.embed(["a"], soon()), kept)


async def test_cancelled_caller_ends_only_its_own_requests(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """Bedrock sees their connections close, and no task is left."""
    before = asyncio.all_tasks()
    with bedrock.holding():
        staying = begun(own.embed(["same"], soon()))
        leaving = begun(own.embed(["same", "other"], soon()))
        await eventually(lambda: bedrock.under_way == 3)
        await left(leaving)
        await eventually(lambda: bedrock.hung_up == 2)
        named = [task for task in asyncio.all_tasks() - before if task.get_name() == "bedrock embed"]
        assert len(named) == 1
    assert (await staying).shape == (1, DIMENSIONS)


async def test_deadline_of_one_caller_does_not_end_the_wait_of_another(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    with bedrock.holding():
        patient = begun(own.embed(["same"], soon()))
        await eventually(lambda: bedrock.under_way)
        with pytest.raises(TimedOut) as caught:
            await own.embed(["same"], Deadline.after(0.02))
        assert caught.value.dependency == "embedder"
        assert not patient.done()
    assert (await patient).shape == (1, DIMENSIONS)


async def test_silent_server_is_given_up_after_the_call_timeout(
    bedrock: Bedrock, own: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own.embed(["the first question takes longer"], soon())
    monkeypatch.setattr(module, "CALL_SECONDS", 0.5)
    with bedrock.holding():
        with pytest.raises(TimedOut):
            await own.embed(["a"], Deadline.after(60))
        await eventually(lambda: bedrock.hung_up)


async def test_failed_text_cancels_the_other_requests_of_its_call(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """The call has failed, and nobody awaits them."""
    failing, held = says({}, 500), asyncio.Event()

    async def answer(request: Any, body: dict[str, Any]) -> Any:
        if body["inputText"] == "bad":
            return await failing(request, body)
        await held.wait()
        raise AssertionError

    bedrock.answer = answer
    with pytest.raises(DependencyFailure):
        await own.embed(["good", "bad"], soon())
    await eventually(lambda: bedrock.hung_up == 1)


async def test_at_most_sixteen_requests_run_at_once(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    with bedrock.holding():
        waiting = begun(own.embed([str(n) for n in range(3 * AT_ONCE)], soon()))
        await eventually(lambda: bedrock.under_way == AT_ONCE)
    assert (await waiting).shape == (3 * AT_ONCE, DIMENSIONS)
    assert (AT_ONCE, bedrock.most_at_once, len(bedrock.asked)) == (16, 16, 48)


async def test_cancelled_call_waiting_for_a_slot_sends_no_request(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    with bedrock.holding():
        first = begun(own.embed([str(n) for n in range(AT_ONCE)], soon()))
        await eventually(lambda: bedrock.under_way == AT_ONCE)
        queued = begun(own.embed(["late"], soon()))
        await asyncio.sleep(0)
        await left(queued)
    await first
    assert "late" not in bedrock.texts


THROTTLING = [
    says({"message": "Too many requests"}, 429, "ThrottlingException"),
    says({"message": "quota"}, 400, "ServiceQuotaExceededException"),
    says({"message": "wait"}, 429, "ModelNotReadyException"),
    says("<html>slow down</html>", 429),
]


@pytest.mark.parametrize("answer", THROTTLING, ids=["throttling", "quota", "not ready", "bare 429"])
async def test_throttling_is_reported_with_retry_after_and_not_retried(
    bedrock: Bedrock, own: BedrockEmbedder, answer: Answer
) -> None:
    """The driver does not retry, because only the caller knows how much time is left."""
    bedrock.answer = answer
    with pytest.raises(Throttled) as caught:
        await own.embed(["a"], soon())
    assert caught.value.retry_after_ms == 1000
    assert len(bedrock.asked) == 1


def embedding(values: Any) -> Answer:
    return says({"embedding": values, "inputTextTokenCount": 1})


UNUSABLE = {
    "too short": embedding(vector_of("a", 256)),
    "too long": embedding(vector_of("a", 1024)),
    "zeros": embedding([0.0] * DIMENSIONS),
    "words": embedding(["a"] * DIMENSIONS),
    "nulls": embedding([None] * DIMENSIONS),
    "ragged": embedding([[0.1], 0.2] * (DIMENSIONS // 2)),
    "nested": embedding([vector_of("a")]),
    "nothing": embedding(None),
    "a number": embedding(1.0),
    "an object": embedding({"0": 1}),
    "infinite": says('{"embedding": [' + ",".join(["Infinity"] * DIMENSIONS) + "]}"),
    "not a number": says('{"embedding": [' + ",".join(["NaN"] * DIMENSIONS) + "]}"),
    "overflowing": says('{"embedding": [' + ",".join(["1e308"] * DIMENSIONS) + "]}"),
    "a huge integer": says('{"embedding": [' + ",".join(["9" * 400] * DIMENSIONS) + "]}"),
    "another key": says({"vector": vector_of("a")}),
    "a list": says([1, 2]),
    "empty": says(b""),
    "no JSON": says(b"\xff\xfe<html>"),
    "deep": says("[" * 100_000),
    "half a body": breaks_off,
    "no answer": hangs_up,
    "an error": says({"message": "internal 10.0.0.7"}, 500, "InternalServerException"),
    "away": says({"message": "later"}, 503, "ServiceUnavailableException"),
    "no such model": says({"message": f"arn:aws:bedrock:{REGION}:123456789012"}, 400, "ValidationException"),
    "not allowed": says({"message": f"arn:aws:bedrock:{REGION}:123456789012"}, 403, "AccessDeniedException"),
    "an error of no JSON": says("<html>proxy 10.0.0.7</html>", 502),
    "an error that is a list": says([1], 500),
    "an error that is a number": says("7", 400, "ValidationException"),
}


async def test_unusable_answer_is_a_dependency_failure_and_not_cached(bedrock: Bedrock, own: BedrockEmbedder) -> None:
    """The next answer is used."""
    for what, bedrock.answer in UNUSABLE.items():
        with pytest.raises(BackendFailure) as caught:
            pytest.fail(f"{what} gave {await own.embed(['a'], soon())}")
        failure = caught.value
        assert type(failure) is DependencyFailure, what
        assert failure.dependency == "embedder", what
        said = ("The embedder cannot be used.", "The embedder answered with something that is no vector.")
        assert failure.message in said, what
        assert failure.__context__ is None or failure.__suppress_context__, what
    bedrock.answer = None
    assert (await own.embed(["a"], soon())).shape == (1, DIMENSIONS)


async def test_refused_connection_is_a_dependency_failure(bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9")
    async with BedrockEmbedder.open(MODEL) as own:
        with pytest.raises(DependencyFailure, match="cannot be used"):
            await own.embed(["a"], soon())


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9/role"])
async def test_embedder_without_credentials_opens_fails_and_works_once_they_exist(
    bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    """The endpoint for a task's credentials may be late at a start, or there is none."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    if endpoint:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint)
    monkeypatch.setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")
    async with BedrockEmbedder.open(MODEL) as own:
        with pytest.raises(DependencyFailure):
            await own.embed(["a"], soon())
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        assert (await own.embed(["a"], soon())).shape == (1, DIMENSIONS)


async def test_closing_cancels_requests_under_way(bedrock: Bedrock) -> None:
    before = asyncio.all_tasks()
    with bedrock.holding():
        async with BedrockEmbedder.open(MODEL) as own:
            waiting = begun(own.embed(["a"], soon()))
            await eventually(lambda: bedrock.under_way)
        await asyncio.gather(waiting, return_exceptions=True)
        await eventually(lambda: bedrock.hung_up)
        assert not [task for task in asyncio.all_tasks() - before if "bedrock" in task.get_name()]


async def test_embedder_that_does_not_fit_the_index_is_reported_with_both_sides(own: BedrockEmbedder) -> None:
    """The index has 1,024 dimensions, or as many of another model."""
    assert Identity("1", "d", own.name, DIMENSIONS, 9, "x").disagreement(own) is None
    for name, dimensions in ((f"{MODEL}/1024", 1024), ("use-multilingual-v3", DIMENSIONS)):
        told = Identity("1", "d", name, dimensions, 9, "x").disagreement(own) or ""
        for part in (name, str(dimensions), own.name, str(DIMENSIONS), "MANGA_EMBEDDER", "load the catalogue again"):
            assert part in told
