"""Text that is stored of a person: a customer's words, the words of a search, an id."""

from __future__ import annotations


def check_stored_text(text: str, longest: int, noun: str) -> None:
    """Raises ValueError where it has not 1 to `longest` characters, or half of one, which no store can write."""
    if not 0 < len(text) <= longest:
        raise ValueError(f"a {noun} has 1 to {longest} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half a character in the {noun}") from None
