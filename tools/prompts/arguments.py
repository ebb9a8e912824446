"""Arguments as people write them into the form of a prompt. What cannot be read is told as arguments of a tool are."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tools.store.failures import InvalidArguments, Violation

NUMBER = re.compile(r"(?:¥|vol\.?|第)? ?([0-9][0-9,]{0,11}) ?(?:円|yen|jpy|歳|才|years?(?: old)?|巻)?", re.IGNORECASE)
"""With what may stand before or behind one."""


def some_text(given: Mapping[str, str], name: str) -> str:
    """Raises `InvalidArguments` where nothing is to be read in it."""
    if given[name].strip():
        return given[name]
    raise InvalidArguments([Violation(f"$.{name}", "minLength", f"{name} is empty", "give some text")])


def whole_number(given: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    """The number under that name, None where nothing stands. Raises `InvalidArguments` for what is no such number."""
    text = given.get(name, "").strip()
    if not text:
        return None
    found = NUMBER.fullmatch(text)
    number = int(found[1].replace(",", "")) if found else None
    if number is not None and least <= number <= most:
        return number
    fix = f"give a whole number from {least} to {most}, or leave it out"
    raise InvalidArguments([Violation(f"$.{name}", "range", f"{name} is no number in range", fix)])
