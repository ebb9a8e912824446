"""Checks preview pages: each has to be an image of a format and size that clients accept. Pages beyond the size limit of a
whole preview are left out.

Format and size are read from the image's header; no image is decoded. PNG: W3C, "Portable Network Graphics (PNG)
Specification", 5 and 11. JPEG: ITU-T T.81, B.2.2. WebP: RFC 9649, 2.4 to 2.7."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tools.store.models import Page, Preview
from tools.store.models.order import MOST_PAGE_BYTES, MOST_PAGES, MOST_PREVIEW_BYTES

logger = logging.getLogger(__name__)

NUMBERS = range(1, MOST_PAGES + 1)
IMAGES = ("webp", "png", "jpg", "jpeg")
"""Endings of a page's file, the preferred first. The format itself is read from the bytes."""
ALT = "txt"
MOST_ALT_BYTES = 2_000
MOST_PIXELS_A_SIDE = 4_096

PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"\0\0\0\0IEND\xaeB`\x82"
JPEG_START, JPEG_END = b"\xff\xd8\xff", b"\xff\xd9"
NON_FRAME_MARKERS = (0xC4, 0xC8, 0xCC)
"""JPEG markers that do not begin a frame, though in the range of those that do: tables of codes, and a reserved marker."""
MOST_SEGMENTS = 500
"""Most segments before the frame, padding included: cameras and editors write some twenty."""
PADDING = 64
"""Bytes at the end of a JPEG in which its end marker may be, since some encoders pad the file."""


class UnfitPage(Exception):
    """A page exists but cannot be shown. The message says why, for the log."""


TOO_LARGE = f"it has more than {MOST_PAGE_BYTES // 1024} KiB"
Found = Page | UnfitPage | None
"""A page, the reason why it cannot be shown, or None if no page has this number."""


def image_names(number: int) -> list[str]:
    return [f"{number}.{ending}" for ending in IMAGES]


def alt_name(number: int) -> str:
    return f"{number}.{ALT}"


def page_of(number: int, data: bytes, alt: bytes | None = None) -> Page:
    """Makes a page of an image. `alt`: its alternative text in UTF-8. Raises `UnfitPage` if the image is too large, not
    complete or of an unknown format."""
    if len(data) > MOST_PAGE_BYTES:
        raise UnfitPage(TOO_LARGE)
    header = image_header(data)
    if header is None:
        raise UnfitPage("it is no whole WebP, PNG or JPEG")
    media_type, width, height = header
    if not (0 < width <= MOST_PIXELS_A_SIDE and 0 < height <= MOST_PIXELS_A_SIDE):
        raise UnfitPage(f"it has {width} × {height} pixels, and may have {MOST_PIXELS_A_SIDE} a side")
    return Page(number, media_type, data, _text(alt))


def preview_of(title_id: str, volume: int, found: Sequence[Found]) -> Preview | None:
    """Makes a preview of the results for pages 1, 2, …; None if no page exists. Leaves out unfit pages, and pages beyond the
    size limit of a preview."""
    pages, left_out, room = list[Page](), list[int](), MOST_PREVIEW_BYTES
    for number, each in zip(NUMBERS, found, strict=True):
        if isinstance(each, Page) and len(each.data) > room:
            each = UnfitPage(f"the preview would have more than {MOST_PREVIEW_BYTES // 1024} KiB")
        if isinstance(each, UnfitPage):
            logger.warning("page %d of volume %d of %s is left out: %s", number, volume, title_id, each)
            left_out.append(number)
        elif each is not None:
            pages.append(each)
            room -= len(each.data)
    return Preview(tuple(pages), tuple(left_out)) if pages or left_out else None


def _text(alt: bytes | None) -> str | None:
    line = " ".join((alt or b"")[:MOST_ALT_BYTES].decode("utf-8", "ignore").split())
    return "".join(each for each in line if each.isprintable()) or None


def image_header(data: bytes) -> tuple[str, int, int] | None:
    """Returns the media type, width and height of a complete PNG, JPEG or WebP image; None for any other bytes."""
    for media_type, size in (("image/png", _png), ("image/jpeg", _jpeg), ("image/webp", _webp)):
        if found := size(data):
            return media_type, *found
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if not (data.startswith(PNG_START) and data[12:16] == b"IHDR" and data.endswith(PNG_END)):
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(JPEG_START) or JPEG_END not in data[-PADDING:]:
        return None
    at = 2
    for _ in range(MOST_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            break
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in NON_FRAME_MARKERS:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 1 if marker == 0xFF else 2 + max(2, int.from_bytes(data[at + 2 : at + 4]))
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    whole = 8 + int.from_bytes(data[4:8], "little")
    if not (data.startswith(b"RIFF") and data[8:12] == b"WEBP" and 30 <= whole <= len(data)):
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            return _little(data, 26) & 0x3FFF, _little(data, 28) & 0x3FFF
        case b"VP8L" if data[20] == 0x2F:
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    return None


def _little(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")
