"""Arguments as they are checked: bounded, and their text in one form wherever it stands."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from tools.schema.text import stream_safe, visible

MOST_VALUES = 512
"""Twice what all arguments of a tool hold together, a text counting one for each hundred characters. Cleaning and checking
take time for each, while every other caller waits."""
LONGEST_TEXT = 4000
"""Twice the longest text that a schema admits. Longer text is refused for its length, and not worth normalising."""
DEEPEST = 32
"""Nothing a tool takes is nested nearly so deep; what lies below is cut off, and refused for what holds it."""
LARGEST_BITS = 1023
"""A whole number beyond a double is infinite to most readers of JSON (RFC 8259, section 6), and so it is here."""


def holds_more_than(most: int, value: Any) -> bool:
    """Whether there is more in it than so many values, counted as far as `clean` looks, and no further than `most`."""
    level = [value]
    for _ in range(DEEPEST):
        deeper: list[Any] = []
        for each in level:
            if isinstance(each, str):
                most -= min(len(each), LONGEST_TEXT) // 100
            elif isinstance(each, list | dict):
                most -= len(each)
                deeper += each if isinstance(each, list) else [*each.keys(), *each.values()]
            if most < 0:
                return True
        level = deeper
    return False


def clean(value: Any, depth: int = 0) -> Any:
    """Text normalised wherever it stands: NFKC (Unicode Annex 15), without control, invisible and bidi characters.
    Numbers as JSON means them: 5.0 is 5."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int | float):
        return _clean_number(value)
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, list):
        return [clean(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {clean_text(key): clean(each, depth + 1) for key, each in value.items()}
    return value


def _clean_number(value: int | float) -> int | float:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if value.bit_length() > LARGEST_BITS:
        return math.inf if value > 0 else -math.inf
    return value


def clean_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    # Taken out first: what an invisible character kept apart is then composed.
    shown = visible(text)
    return unicodedata.normalize("NFKC", stream_safe(shown)) if len(shown) <= LONGEST_TEXT else shown
