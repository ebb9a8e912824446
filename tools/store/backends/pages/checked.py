"""What of the pages that were found may be shown: each is an image of a size that clients take, and so are they together."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tools.store.backends.pages.images import image_header
from tools.store.models import Page, Preview
from tools.store.models.page import MOST_PAGE_BYTES, MOST_PAGES, MOST_PREVIEW_BYTES

logger = logging.getLogger(__name__)

NUMBERS = range(1, MOST_PAGES + 1)
IMAGES = ("webp", "png", "jpg", "jpeg")
"""How a page's file may end, the best first. What it is, its bytes say."""
ALT = "txt"
MOST_ALT_BYTES = 2_000
MOST_PIXELS_A_SIDE = 4_096


class Unfit(Exception):
    """Says, for the log, why a page that is there cannot be shown."""


TOO_LARGE = f"it has more than {MOST_PAGE_BYTES // 1024} KiB"
Found = Page | Unfit | None
"""A page, one that cannot be shown, or none of this number."""


def image_names(number: int) -> list[str]:
    """The names that a page's file may have, the best first."""
    return [f"{number}.{ending}" for ending in IMAGES]


def alt_name(number: int) -> str:
    """The name of the file with a page's alternative text, UTF-8."""
    return f"{number}.{ALT}"


def page_of(number: int, data: bytes, alt: bytes | None = None) -> Page:
    """Raises `Unfit`."""
    if len(data) > MOST_PAGE_BYTES:
        raise Unfit(TOO_LARGE)
    header = image_header(data)
    if header is None:
        raise Unfit("it is no whole WebP, PNG or JPEG")
    if not (0 < header.width <= MOST_PIXELS_A_SIDE and 0 < header.height <= MOST_PIXELS_A_SIDE):
        raise Unfit(f"it has {header.width} × {header.height} pixels, and may have {MOST_PIXELS_A_SIDE} a side")
    return Page(number, header.media_type, data, _text(alt))


def preview_of(title_id: str, volume: int, found: Sequence[Found]) -> Preview | None:
    """`found` is in order, from page 1 on. Pages that are too much for one answer stay away, the last ones first."""
    pages, left_out, room = list[Page](), list[int](), MOST_PREVIEW_BYTES
    for number, each in zip(NUMBERS, found, strict=True):
        if isinstance(each, Page) and len(each.data) > room:
            each = Unfit(f"the preview would have more than {MOST_PREVIEW_BYTES // 1024} KiB")
        if isinstance(each, Unfit):
            logger.warning("page %d of volume %d of %s is left out: %s", number, volume, title_id, each)
            left_out.append(number)
        elif each is not None:
            pages.append(each)
            room -= len(each.data)
    return Preview(tuple(pages), tuple(left_out)) if pages or left_out else None


def _text(alt: bytes | None) -> str | None:
    """One line of it, without what a terminal would obey or nobody sees."""
    line = " ".join((alt or b"")[:MOST_ALT_BYTES].decode("utf-8", "ignore").split())
    return "".join(each for each in line if each.isprintable()) or None
