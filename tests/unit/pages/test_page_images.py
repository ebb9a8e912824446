"""Images are recognised by their header bytes, without decoding."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.support.cases import cases
from tests.support.images import SVG, jpeg, png, webp
from tools.store.backends.pages.checked import MOST_PIXELS_A_SIDE, UnfitPage, image_header, page_of, preview_of
from tools.store.models import Page
from tools.store.models.order import MOST_PAGE_BYTES, MOST_PREVIEW_BYTES


@cases("kind", ["PNG", "JPEG", "WEBP"])
@cases("options", [{}, {"lossless": True}, {"progressive": True}])
def test_image_header_matches_what_another_encoder_wrote(kind: str, options: dict[str, bool]) -> None:
    written = io.BytesIO()
    Image.effect_noise((321, 123), 9).convert("RGB").save(written, kind, **options)
    assert image_header(written.getvalue()) == (f"image/{kind.lower()}", 321, 123)


@cases(
    ("data", "expected"),
    [
        (png(10, 20), ("image/png", 10, 20)),
        (jpeg(640, 480), ("image/jpeg", 640, 480)),
        (webp("VP8 ", 17, 18), ("image/webp", 17, 18)),
        (webp("VP8L", 4000, 3000), ("image/webp", 4000, 3000)),
        (webp("VP8X", 70_000, 2), ("image/webp", 70_000, 2)),
    ],
)
def test_each_form_of_an_image_header_is_read(data: bytes, expected: tuple[str, int, int]) -> None:
    assert image_header(data) == expected


@cases("whole", [png(), jpeg(), webp("VP8 "), webp("VP8L"), webp("VP8X")])
def test_truncated_image_is_no_image(whole: bytes) -> None:
    assert image_header(whole) is not None
    assert [cut for cut in range(len(whole)) if image_header(whole[:cut])] == []


@cases("data", [b"", SVG, b"GIF89a" + bytes(40), b"\xff\xd8\xff" + b"\xff" * 60_000 + b"\xff\xd9"])
def test_unsupported_image_data_is_no_image(data: bytes) -> None:
    assert image_header(data) is None


@cases(
    ("data", "why"),
    [
        (SVG, "no whole WebP, PNG or JPEG"),
        (b"", "no whole"),
        (png(size=MOST_PAGE_BYTES + 1), "256 KiB"),
        (jpeg(MOST_PIXELS_A_SIDE + 1, 8), "4097 × 8 pixels"),
        (jpeg(8, 0), "8 × 0 pixels"),
    ],
)
def test_unfit_page_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(UnfitPage, match=why):
        page_of(1, data)


def test_alternative_text_is_one_visible_line_of_bounded_length() -> None:
    assert page_of(1, png(), b"A cat\n on a  roof\n").alt == "A cat on a roof"
    assert page_of(1, png(), b"\xff \n").alt is None
    assert page_of(1, png(), b"A \x1b[31mcat\0\xe2\x80\xae on a roof").alt == "A [31mcat on a roof"
    assert len(page_of(1, png(), b"x" * 9_000).alt or "") == 2_000


def test_last_pages_beyond_the_size_limit_are_left_out() -> None:
    large = [Page(n, "image/png", bytes(MOST_PAGE_BYTES)) for n in (1, 2, 3)]
    preview = preview_of("t", 1, large)
    assert preview is not None
    assert ([page.number for page in preview.pages], preview.left_out) == ([1, 2], (3,))
    assert 2 * MOST_PAGE_BYTES <= MOST_PREVIEW_BYTES < 3 * MOST_PAGE_BYTES


def test_preview_is_none_without_pages_and_empty_when_all_pages_are_unfit() -> None:
    assert preview_of("t", 1, [None, None, None]) is None
    preview = preview_of("t", 1, [UnfitPage("x"), None, UnfitPage("y")])
    assert preview is not None
    assert (preview.pages, preview.left_out) == ((), (1, 3))
