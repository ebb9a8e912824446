"""The first pages of a volume, to look into before buying."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_PAGES = 3
MOST_PAGE_BYTES = 256 * 1024
MOST_PREVIEW_BYTES = 600 * 1024
"""A message of 800 KiB once it is base64: what clients over a network take at once."""


@dataclass(frozen=True, slots=True)
class Page:
    """`data` is a whole image of `media_type`: image/webp, image/png or image/jpeg. `alt` says what is to be seen, where the
    store knows."""

    number: int
    media_type: str
    data: bytes = field(repr=False)
    alt: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """`pages` in order; `left_out` are the numbers of those that are there and cannot be shown."""

    pages: tuple[Page, ...]
    left_out: tuple[int, ...] = ()
