"""Text without what no reader sees.

Characters that are not shown can carry instructions to a language model, or turn what a person sees around: controls, bidi
marks and overrides (Boucher and Anderson, "Trojan Source", 2021), zero-width and blank ones, tags, variation selectors, each
of which can hide a byte. All that Unicode calls default ignorable go, wherever they stand and whatever they are for: an
ideograph without its variant is the same name in another glyph, an emoji without its selector or joiner the same picture in
another style, and what is left says the same to a shopper, a search and a model.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from typing import Any
from unicodedata import category

LONGEST_TEXT = 4_000
MOST_ITEMS = 500
DEEPEST = 16
PLAIN = (int, float, type(None))

# Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties), those of the last plane whether or not they are assigned.
_DEFAULT_IGNORABLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# C0 and C1 controls but tab and newlines, the line separators of Unicode, interlinear annotations and the place of an
# object, controls of hieroglyphs, lone surrogates, and the code points that are no characters.
_OTHERS_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffc\U00013430-\U0001345f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
)
_HIDDEN = re.compile(f"[{_DEFAULT_IGNORABLE}{_OTHERS_UNSEEN}]")


def remove_hidden(text: str) -> str:
    """The text without characters that are not shown. Tabs and newlines stay."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub("", text)


MOST_MARKS = 30
_VOICE_MARKS = "\uff9e\uff9f"
"""Halfwidth letters that become marks when they are normalised."""
_TOO_MANY = re.compile(rf"\*{{{MOST_MARKS + 1},}}")


def limit_marks(text: str) -> str:
    """The text with at most 30 combining marks in a row, as no language needs more (Unicode Annex 15, section 13).
    Normalising sorts them, which takes the square of their number: a few hundred thousand would take minutes."""
    # A run that is too long has a mark at one of every 31 places: most texts are looked at no closer.
    if not any(category(each)[0] == "M" or each in _VOICE_MARKS for each in text[MOST_MARKS :: MOST_MARKS + 1]):
        return text
    marks = "".join(["*" if category(each)[0] == "M" or each in _VOICE_MARKS else " " for each in text])
    kept, end = [], 0
    for run in _TOO_MANY.finditer(marks):
        kept.append(text[end : run.start() + MOST_MARKS])
        end = run.end()
    return "".join((*kept, text[end:]))


def limit_json(value: Any, depth: int = 0) -> Any:
    """A JSON value that came from a backend, as it may be handed to a model: text visible and of at most 4,000 characters,
    lists of at most 500 items, 16 levels."""
    if isinstance(value, str):
        shown = value if value.isascii() and value.isprintable() else remove_hidden(value)
        return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "…"
    if not isinstance(value, dict | list):
        return value
    if depth >= DEEPEST:
        return None
    # Every result passes here, and most of what it holds are numbers and names of fields: these are not looked into.
    below = depth + 1
    if isinstance(value, list):
        return [each if isinstance(each, PLAIN) else limit_json(each, below) for each in value[:MOST_ITEMS]]
    return {_name(key): each if isinstance(each, PLAIN) else limit_json(each, below) for key, each in value.items()}


@lru_cache(maxsize=1024)
def _name(key: str) -> str:
    """The name of a field, cached: there are a few dozen."""
    return key if key.isascii() and key.isidentifier() else remove_hidden(key)


MOST_VALUES = 512
"""Twice what all arguments of a tool hold together, a text counting one for each hundred characters. Cleaning and checking
take time for each, while every other caller waits."""
DEEPEST_CLEANED = 32
"""Deepest level that is cleaned. Deeper values are cut off and refused; no tool takes any."""
LARGEST_BITS = 1023
"""A whole number beyond a double is infinite to most readers of JSON (RFC 8259, section 6), and here too."""


def holds_more_than(most: int, value: Any) -> bool:
    """True if there are more than `most` values, as deep as `clean` goes; 100 characters of text count as one."""
    level = [value]
    for _ in range(DEEPEST_CLEANED):
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
    if depth >= DEEPEST_CLEANED:
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
    shown = remove_hidden(text)
    return unicodedata.normalize("NFKC", limit_marks(shown)) if len(shown) <= LONGEST_TEXT else shown
