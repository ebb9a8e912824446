"""Which probes are locked: by what they ask for, so that two wordings of one wish are never on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from tests.quality.measure import Judged

_FOLDS = 3


def number(subject: str) -> int:
    """A number for a text that stays the same everywhere."""
    return int.from_bytes(sha256(subject.encode()).digest()[:6], "big")


def is_locked(subject: str) -> bool:
    return number(subject) % _FOLDS == 0


def sample(subjects: Iterable[str], most: int) -> list[str]:
    """`most` of them, the same ones each time."""
    return sorted(subjects, key=number)[:most]


def probe(kind: str, subject: str, query: str, japanese: bool, relevant: dict[str, int]) -> Judged:
    """One query. Its id begins with the fold it is in."""
    fold = "locked" if is_locked(subject) else "open"
    return Judged(f"{fold}-{kind}-{number(query)}", query, "ja" if japanese else "en", kind, {}, relevant)
