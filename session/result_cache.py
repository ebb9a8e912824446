"""Results that outlive a call: how they are named and how they are stored."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

LARGEST_BYTES = 256 * 1024
"""A result larger than this is not kept: one odd answer must not fill the cache."""


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A result and when it was made (seconds since the epoch)."""

    value: dict[str, Any]
    made_at: float

    def age_seconds(self, now: float) -> float:
        return max(0.0, now - self.made_at)


def digest(*parts: object) -> str:
    """26 base32 characters (130 bits) for anything JSON can say; equal values give equal digests."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return _base32(text, 26)


def encode(value: Mapping[str, Any], now: float) -> bytes | None:
    """The stored form: "MILLISECONDS JSON". None when it is too large to keep. Half a character is kept as a question mark:
    a result must not be lost to what nobody can write."""
    stored = f"{round(now * 1000)} {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}".encode("utf-8", "replace")
    return stored if len(stored) <= LARGEST_BYTES else None


def decode(stored: bytes | None) -> CachedResult | None:
    """None for nothing and for anything that is not of this form: a cache that lies is a cache miss."""
    if not stored:
        return None
    made_at, _, text = stored.partition(b" ")
    try:
        value = from_json(text)
        made = int(made_at) / 1000
    except (ValueError, RecursionError):
        return None
    return CachedResult(value, made) if isinstance(value, dict) else None


def result_set_name(title_ids: Sequence[str]) -> str:
    """`rs_` and 80 bits of the ids' hash: the same hits have the same name, and no user is in it."""
    return f"rs_{_base32(' '.join(title_ids), 16)}"


def _base32(text: str, length: int) -> str:
    hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    # 20 bytes are 32 characters, as many as anybody asks for, and encoding them is most of the work.
    return base64.b32encode(hashed[:20]).decode()[:length].lower()
