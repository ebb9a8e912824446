"""Removes invisible characters from text, and limits JSON values.

Invisible characters can carry instructions to a language model, or change the text that a person sees. Examples are
controls, bidi marks and overrides (Boucher and Anderson, "Trojan Source", 2021), zero-width and blank characters, tags, and
variation selectors, each of which can hide a byte. All code points that Unicode calls default ignorable are removed.

The remaining text means the same to a shopper, a search and a model: an ideograph without its variation selector is the same
name in another glyph, and an emoji without selector or joiner is the same picture in another style."""

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

# Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties), in the last plane including unassigned code points.
_DEFAULT_IGNORABLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# C0 and C1 controls except tab and newlines, the line separators of Unicode, interlinear annotations, the object
# replacement character, hieroglyph format controls, lone surrogates, and noncharacters.
_OTHERS_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffc\U00013430-\U0001345f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
)
_HIDDEN = re.compile(f"[{_DEFAULT_IGNORABLE}{_OTHERS_UNSEEN}]")


def remove_hidden(text: str) -> str:
    """Removes invisible characters; keeps tabs and newlines."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub("", text)


MOST_MARKS = 30
_VOICE_MARKS = "\uff9e\uff9f"
"""Halfwidth letters that normalisation turns into combining marks."""
_TOO_MANY = re.compile(rf"\*{{{MOST_MARKS + 1},}}")


def limit_marks(text: str) -> str:
    """Limits runs of combining marks to 30, more than any language needs (Unicode Annex 15, section 13). Normalising a run
    takes quadratic time: a few hundred thousand marks would take minutes."""
    # A run that is too long has a mark at one of every 31 places, so most texts need no full scan.
    if not any(category(each)[0] == "M" or each in _VOICE_MARKS for each in text[MOST_MARKS :: MOST_MARKS + 1]):
        return text
    marks = "".join(["*" if category(each)[0] == "M" or each in _VOICE_MARKS else " " for each in text])
    kept, end = [], 0
    for run in _TOO_MANY.finditer(marks):
        kept.append(text[end : run.start() + MOST_MARKS])
        end = run.end()
    return "".join((*kept, text[end:]))


def limit_json(value: Any, depth: int = 0) -> Any:
    """Limits a backend's JSON value for a model: texts to 4,000 visible characters, lists to 500 items, and nesting to 16
    levels. Lists and objects nested more deeply become None."""
    if isinstance(value, str):
        shown = value if value.isascii() and value.isprintable() else remove_hidden(value)
        return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "…"
    if not isinstance(value, dict | list):
        return value
    if depth >= DEEPEST:
        return None
    # Fast path: most of a result are numbers and field names, which need no further call.
    below = depth + 1
    if isinstance(value, list):
        return [each if isinstance(each, PLAIN) else limit_json(each, below) for each in value[:MOST_ITEMS]]
    return {_name(key): each if isinstance(each, PLAIN) else limit_json(each, below) for key, each in value.items()}


@lru_cache(maxsize=1024)
def _name(key: str) -> str:
    """Returns a field's name without invisible characters. Cached, since the same few dozen names recur."""
    return key if key.isascii() and key.isidentifier() else remove_hidden(key)


MOST_VALUES = 512
"""Most values in a call's arguments, twice the most that a tool takes; 100 characters of text count as one. Cleaning and
checking them blocks the event loop."""
DEEPEST_CLEANED = 32
"""Deepest level that is cleaned. Deeper values are cut off and then refused; no tool takes any."""
LARGEST_BITS = 1023
"""Most bits of an integer; larger ones become infinite, as for most JSON readers (RFC 8259, section 6)."""


def holds_more_than(most: int, value: Any) -> bool:
    """True if the value contains more than `most` values, within the depth that `clean` reads. Every 100 characters of text
    count as one value."""
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


def clean(value: Any, depth: int = 0, most: int = LONGEST_TEXT) -> Any:
    """Cleans all text in a value by `clean_text`. Integral floats become integers (5.0 becomes 5), integers over 1,023 bits
    become infinite, and lists and objects nested over 32 levels become "…"."""
    if isinstance(value, str):
        return clean_text(value, most)
    if isinstance(value, int | float):
        return _clean_number(value)
    if depth >= DEEPEST_CLEANED:
        return "…"
    if isinstance(value, list):
        return [clean(each, depth + 1, most) for each in value]
    if isinstance(value, dict):
        return {clean_text(key): clean(each, depth + 1) for key, each in value.items()}
    return value


def _clean_number(value: int | float) -> int | float:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if value.bit_length() > LARGEST_BITS:
        return math.inf if value > 0 else -math.inf
    return value


PIECE, JOINED = 32, 4
"""Characters that are normalised at a time to learn how long a text becomes, and most that a joint of two pieces saves."""


def clean_text(text: str, most: int = LONGEST_TEXT) -> str:
    """Removes invisible characters, and normalises a text of up to 4,000 characters to NFKC (Unicode Annex 15). A text that
    becomes longer than `most`, its limit, is cut soon after: one character may become eighteen."""
    if text.isascii() and text.isprintable():
        return text
    # Removed first, so that characters kept apart by an invisible one are composed.
    shown = remove_hidden(text)
    if len(shown) > LONGEST_TEXT or unicodedata.is_normalized("NFKC", shown := limit_marks(shown)):
        return shown
    pieces, grown = list[str](), 0
    for at in range(0, len(shown), PIECE):
        pieces.append(unicodedata.normalize("NFKC", shown[at : at + PIECE]))
        grown += len(pieces[-1])
        if grown > most + JOINED * len(pieces):
            return "".join(pieces)
    return pieces[0] if len(pieces) == 1 else unicodedata.normalize("NFKC", shown)
