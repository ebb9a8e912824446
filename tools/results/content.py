"""MCP content blocks that a tool gives beside its JSON result: pictures, sounds, texts, files.

A tool appends them to `ToolContext.content`. They go to the client behind the result's text block, and into no cache,
history or log: a result whose handler gave some is not cached. A tool that wants its JSON cached appends them in `complete`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class _Text:
    __slots__ = ()
    text: str

    @property
    def size(self) -> int:
        """Bytes of UTF-8."""
        return len(self.text.encode("utf-8", "replace"))


class _Bytes:
    __slots__ = ()
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Text(_Text):
    """Further text for the model; clients do not read it as the result."""

    text: str


@dataclass(frozen=True, slots=True)
class Image(_Bytes):
    """JPEG, PNG, GIF or WebP. `alt` describes it in a sentence."""

    data: bytes = field(repr=False)
    media_type: str
    alt: str


@dataclass(frozen=True, slots=True)
class Audio(_Bytes):
    """Some agents drop it: a result has to make sense without."""

    data: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True, slots=True)
class EmbeddedText(_Text):
    """A text resource of this server."""

    uri: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class EmbeddedBlob(_Bytes):
    """A binary resource of this server."""

    uri: str
    data: bytes = field(repr=False)
    media_type: str = "application/octet-stream"


Content = Text | Image | Audio | EmbeddedText | EmbeddedBlob
