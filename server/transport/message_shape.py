"""How much one message may hold, told from its bytes before anything reads them as JSON.

What is built of a body costs far more than its bytes: two of them, `[]`, are a list to the parser and a model to the SDK
(3 µs), so that a megabyte of empty lists stops every caller for seconds (CWE-400, CWE-770).
"""

from __future__ import annotations

MOST_VALUES = 1024
"""Twice what a tool's arguments may hold (`tools.schema.validation`), the other half for `_meta`. They cost the SDK 3 ms."""
DEEPEST = 40
"""Arguments may be 32 deep, and lie three deep in the message."""
TOO_MANY = f"A message holds at most {MOST_VALUES} values."
TOO_DEEP = f"A message is nested at most {DEEPEST} deep."
NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")


def excess(data: bytes | bytearray) -> str | None:
    """Says in a sentence what there is too much of; None for a message that may be read. Linear, in the order of a copy of
    it.

    Never fewer values or levels than a parser meets before it gives up: damaged JSON is judged as far as it can be read."""
    if b"\0" in data:
        return "A message is JSON in UTF-8."  # no JSON has such a byte; in UTF-16 nothing below would count right
    openings = data.count(b"[") + data.count(b"{")
    if openings <= DEEPEST and openings + data.count(b",") < MOST_VALUES:
        return None  # even if all of them stand outside of texts
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * MOST_VALUES:  # a name and a text for each value, two quotes each
        return TOO_MANY
    # Texts are every second piece; a digit in their place keeps what holds one from looking empty.
    bare = b"0".join(unescaped.split(b'"')[::2]).translate(None, b" \t\r\n")
    brackets = bare.translate(None, NO_BRACKETS)
    if len(brackets) > 2 * MOST_VALUES:
        return TOO_MANY
    empty = bare.count(b"[]") + bare.count(b"{}")
    # Each comma begins a value, so does each bracket that something follows, and the message is one itself.
    if bare.count(b",") + brackets.count(b"[") + brackets.count(b"{") - empty >= MOST_VALUES:
        return TOO_MANY
    return TOO_DEEP if _deepest(brackets) > DEEPEST else None


def _deepest(brackets: bytes) -> int:
    level = deepest = 0
    for each in brackets:
        level += 1 if each in b"[{" else -1
        deepest = max(deepest, level)
    return deepest
