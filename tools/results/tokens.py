"""How many tokens of a model a text comes to: an estimate, upper-leaning, for JSON of English and Japanese text.

Tokens are bytes that were merged by how often they come together in some corpus (Sennrich, Haddow and Birch, "Neural Machine
Translation of Rare Words with Subword Units", 2016), so that what counts is of which script a character is: a fourth of a
token for a letter of English, a whole one for a digit or a kana, four for an emoji. In UTF-8 the first byte of a character
tells its script: each byte has a weight, and the estimate of a text is their sum. The weights are about the cheapest that
stay above what real tokenizers count on this server's own results (a linear programme, which is quantile regression at its
upper end: Koenker and Bassett, 1978). `python -m tests.quality.tokens` tells how far above. Makers who do not publish their
tokenizer are estimated by those who do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic_core import to_json

A_TOKEN = 32
"""What the weights are parts of."""
_CLASSES: tuple[tuple[bytes, int], ...] = (
    (bytes(range(0x80)), 38),  # of ASCII, what none of the following has: hyphens, slashes, quotes within a text
    (b"abcdefghijklmnopqrstuvwxyz", 8),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 18),
    (b"0123456789", 33),  # many tokenizers take each by itself, and few merge more than three
    (b" ", 5),
    (b'",:{}[]', 15),  # JSON's own, which come together
    (bytes(range(0xC2, 0xC7)), 52),  # letters with accents
    (bytes(range(0xC7, 0xE0)), 54),  # Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xE3)), 80),  # the scripts of India and South-East Asia, symbols
    (b"\xe3", 31),  # kana and the punctuation of Japanese
    (bytes(range(0xE4, 0xEA)), 42),  # ideographs
    (bytes(range(0xEA, 0xEE)), 86),  # Hangul
    (bytes(range(0xEE, 0xF0)), 64),  # fullwidth and halfwidth forms
    (bytes(range(0xF0, 0xF5)), 128),  # emoji, ideographs of names
)
"""Later ones count. The bytes of a character after its first weigh nothing."""


def _table() -> bytes:
    weights = bytearray(256)
    for members, weight in _CLASSES:
        for byte in members:
            weights[byte] = weight
    return bytes(weights)


_WEIGHTS = _table()


def estimate(text: str) -> int:
    """Tokens, rounded up. In time linear in the text, some 10 microseconds for 6 KB."""
    return -(-weight(text) // A_TOKEN)


def weight(text: str) -> int:
    """The same in parts of a token: that of a text is exactly the sum of those of its parts."""
    return _sum(text.encode("utf-8", "replace"))


def weight_as_json(value: Any) -> int:
    """Of a value in compact JSON, as results are written."""
    return _sum(to_json(value))


def _sum(text: bytes) -> int:
    return int(np.add.reduce(np.frombuffer(text.translate(_WEIGHTS), np.uint8), dtype=np.int64))
