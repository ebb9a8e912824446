"""What the shop itself says of how it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TOPICS = ("shipping", "returns", "payment", "languages")
"""Those that every shop is asked about; it may have others, and lack some."""
LANGUAGES = ("en", "ja")


@dataclass(frozen=True, slots=True)
class Policies:
    """`texts` are Markdown, by topic and language; `shop` is its name."""

    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    shop: str = "MangaAssist"

    @property
    def topics(self) -> tuple[str, ...]:
        """In the order of the texts."""
        return tuple(dict.fromkeys(topic for topic, _ in self.texts))

    def languages(self, topic: str) -> tuple[str, ...]:
        """Those in which there is a text on it."""
        return tuple(language for language in LANGUAGES if (topic, language) in self.texts)

    def text(self, topic: str, language: str) -> str:
        """What the shop says of a topic in one of the `LANGUAGES`; "" where it says nothing in it."""
        return self.texts.get((topic, language), "")
