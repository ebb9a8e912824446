"""Reproducible random draws: hashes of a key, the same on every machine and at every run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def share(*key: object) -> float:
    """Returns a number in [0, 1) that depends only on `key`."""
    text = "\x1f".join(str(part) for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def whole(low: int, high: int, *key: object) -> int:
    """Returns a whole number from `low` to `high`, both included."""
    return low + int(share(*key) * (high - low + 1))


def pick(choices: Sequence[T], *key: object) -> T:
    """Returns one of `choices`, each with the same probability."""
    return choices[whole(0, len(choices) - 1, *key)]
