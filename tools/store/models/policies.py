"""What the shop itself says of how it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TOPICS = ("shipping", "returns", "payment", "languages")
LANGUAGES = ("en", "ja")


@dataclass(frozen=True, slots=True)
class Policies:
    """`texts` are Markdown, by topic and language; `shop` is its name."""

    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    shop: str = "MangaAssist"

    def text(self, topic: str, language: str) -> str:
        """What the shop says of one of the `TOPICS` in one of the `LANGUAGES`; "" for any other."""
        return self.texts.get((topic, language), "")
