"""MCP content blocks that a tool sends beside its JSON result: pictures, sounds, texts, files.

A tool appends them to `ToolContext.content`. They follow the result's text block, and are never cached or logged: a result
whose handler appended some is not cached. A tool whose JSON is to be cached appends them in `complete`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class _Text:
    __slots__ = ()
    text: str

    @property
    def size(self) -> int:
        """Size in bytes of UTF-8."""
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
    """A JPEG, PNG, GIF or WebP image. `alt` describes it in a sentence."""

    data: bytes = field(repr=False)
    media_type: str
    alt: str


@dataclass(frozen=True, slots=True)
class Audio(_Bytes):
    """Audio. Some agents drop it, so a result has to make sense without it."""

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
