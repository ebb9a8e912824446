"""What a tool gives beside its JSON result: pictures, sounds, texts and files, as MCP's content blocks carry them.

A tool appends them to `ToolContext.content`. They go to the client behind the text block of the result and nowhere else: no
cache, record, history or log takes them up. A result whose handler gave some is therefore not kept at all; a tool that wants
its JSON kept gives them in its `complete`, which runs for every answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Text:
    """Further text for the model, which no client reads as the result."""

    text: str

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Image:
    """`alt` says in a sentence what is to be seen, for who cannot see it. JPEG, PNG, GIF and WebP are what clients take."""

    data: bytes = field(repr=False)
    media_type: str
    alt: str

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Audio:
    """Some agents drop it, so that a result has to make sense without."""

    data: bytes = field(repr=False)
    media_type: str

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A resource of this server, sent along: its text."""

    uri: str
    text: str
    media_type: str = "text/plain"

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EmbeddedBlob:
    """A resource of this server, sent along: its bytes."""

    uri: str
    data: bytes = field(repr=False)
    media_type: str = "application/octet-stream"

    @property
    def size(self) -> int:
        return len(self.data)


Content = Text | Image | Audio | EmbeddedText | EmbeddedBlob
