"""MCP content blocks that a tool sends beside its JSON result: images, audio, texts, files.

A handler appends blocks to `ToolContext.content`. They follow the result's text block and are never cached or logged. A
result whose handler appended blocks is not cached, so a tool with cached results appends its blocks in `complete`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Text:
    """Additional text for the model, sent beside the JSON result."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A JPEG, PNG, GIF or WebP image. `alt`: a sentence that describes the image."""

    data: bytes = field(repr=False)
    media_type: str
    alt: str


@dataclass(frozen=True, slots=True)
class Audio:
    """An audio clip. Some agents drop audio, so the rest of the result must make sense without it."""

    data: bytes = field(repr=False)
    media_type: str


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    uri: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class EmbeddedBlob:
    uri: str
    data: bytes = field(repr=False)
    media_type: str = "application/octet-stream"


Content = Text | Image | Audio | EmbeddedText | EmbeddedBlob


def count_bytes(block: Content) -> int:
    """Returns the size of a block's text (in UTF-8) or data."""
    return len(block.text.encode("utf-8", "replace") if isinstance(block, Text | EmbeddedText) else block.data)
