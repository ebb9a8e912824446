"""The words that an expectation may use: what is not among them is a slip, and is named as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.conversations.shelf import Shelf, nearest
from tools.registry import TOOLS

NOUNS: Mapping[str, tuple[str, ...]] = {
    "result": ("results", "recommendations"),
    "item": ("items",),
    "rating": ("ratings",),
    "volume": ("volumes",),
    "order": ("orders",),
    "parcel": ("shipments",),
    "line": ("lines",),
    "offer": ("offers",),
    "suggestion": ("nearly",),
    "event": ("events",),
    "call": ("calls",),
    "preference": ("preferences",),
}
"""What a row is called, and the lists of an answer that hold such rows."""
OF_TITLES = ("results", "recommendations", "items", "ratings", "volumes")
"""Lists whose rows are titles on offer, which a shopper then calls the first and the second."""
ALSO = frozenset({"text", "messages", "description", "name", "code", "message", "data"})
"""What prompts, resources and failures have."""


class Slip(ValueError):
    """Something in a conversation's file that cannot be meant. The message says what, and how to mend it."""


@dataclass(frozen=True)
class Vocabulary:
    """`currency`: that of the shop, in which the names of its amounts end."""

    shelf: Shelf
    currency: str = "jpy"

    @cached_property
    def fields(self) -> frozenset[str]:
        """Those that any tool's result may have, by its schema."""
        named = frozenset(name for tool in TOOLS for name in _names(tool.output_schema))
        return frozenset(name.replace("_jpy", f"_{self.currency}") for name in named) | ALSO

    def noun(self, word: str) -> tuple[str, ...]:
        """The lists that hold such rows, whether the word stands for one or for many."""
        single = word.removesuffix("s")
        if single not in NOUNS:
            raise Slip(f"nothing in an answer is called {word!r}{nearest(single, NOUNS)} (there are {', '.join(NOUNS)})")
        return NOUNS[single]

    def field(self, path: str) -> tuple[str, ...]:
        """The steps of a path. What stands inside objects that no schema describes is not checked."""
        steps = tuple(path.split("."))
        if steps[0] not in self.fields:
            raise Slip(f"no answer has a field {steps[0]!r}{nearest(steps[0], self.fields)}")
        return steps

    def tags(self, words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if word not in self.shelf.tags:
                raise Slip(f"no title is tagged {word!r}{nearest(word, self.shelf.tags)}")
        return words

    def title(self, name: str) -> str:
        """Its id."""
        try:
            return self.shelf.named(name).title_id
        except LookupError as unknown:
            raise Slip(str(unknown)) from None


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, rule in schema.get("properties", {}).items():
        yield name
        yield from _names(rule)
    if "items" in schema:
        yield from _names(schema["items"])
