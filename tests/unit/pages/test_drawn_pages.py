"""What is drawn for the demo."""

from __future__ import annotations

import io
from base64 import b64encode

import numpy as np
import pytest
from PIL import Image

from tools.store.backends.pages.drawn.cover import HUES, cover
from tools.store.backends.pages.drawn.layout import panels
from tools.store.backends.pages.drawn.page import drawn_page
from tools.store.backends.pages.drawn.png import indexed_png
from tools.store.backends.pages.drawn.sheet import HEIGHT, INSIDE, WIDTH

SOME = [(f"manga-{n:06}", 1 + n % 3) for n in range(1, 9)]
LONGEST_LINE = 64 * 1024
"""Bytes that every client of stdio takes as one line."""
REST_OF_A_LINE = 4 * 1024


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_page_is_the_same_each_time_and_another_for_every_title_volume_and_number(number: int) -> None:
    page = drawn_page("manga-000001", 1, number)
    assert page == drawn_page("manga-000001", 1, number)
    others = [drawn_page("manga-000002", 1, number), drawn_page("manga-000001", 2, number)]
    assert page.data not in [other.data for other in others]


def test_pages_are_images_that_others_can_read_with_ink_paper_and_the_marks_of_a_draft() -> None:
    for number in (1, 2, 3):
        with Image.open(io.BytesIO(drawn_page("manga-001001", 1, number).data)) as image:
            colours = {colour for _, colour in image.convert("RGB").getcolors(64) or []}
            assert image.size == (WIDTH, HEIGHT)
        assert {(0, 0, 0), (255, 255, 255), (120, 178, 222)} <= colours


def test_a_preview_fits_into_the_lines_that_clients_take() -> None:
    for title_id, volume in SOME:
        data = b"".join(drawn_page(title_id, volume, number).data for number in (1, 2, 3))
        assert len(b64encode(data)) + REST_OF_A_LINE < LONGEST_LINE


def test_the_alternative_text_tells_the_panels_in_their_order() -> None:
    alts = [drawn_page("manga-001001", 1, number).alt or "" for number in (1, 2, 3)]
    assert alts[0].endswith("The title page, with the hero, glad.")
    assert all("panels, read from the right: " in alt for alt in alts[1:])
    assert all("placeholder" in alt for alt in alts)


def test_panels_lie_within_the_page_and_beside_each_other() -> None:
    from random import Random

    for seed in range(60):
        covered = np.zeros((HEIGHT, WIDTH), np.int32)
        ys, xs = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32) + np.float32(0.5)
        for panel in panels(INSIDE, Random(seed)):
            covered += panel.shape.distance(xs, ys) < 0
        assert covered.max() == 1, "no panel lies on another"
        left, top, right, bottom = (round(edge) for edge in INSIDE)
        inside = covered[top:bottom, left:right]
        assert 0.8 < inside.mean() < 1
        assert inside.sum() == covered.sum(), "none reaches out of the frame"


@pytest.mark.parametrize("readership", [*HUES, None, "something new"])
def test_a_cover_has_its_readerships_colours_and_is_small_enough_for_a_data_uri(readership: str | None) -> None:
    data = cover("manga-001001", readership)
    assert data == cover("manga-001001", readership)
    assert len(data) < 8 * 1024
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (240, 340)
        top = image.convert("RGB").getpixel((120, 230))
    assert top != (255, 255, 255)


def test_covers_tell_titles_and_volumes_apart() -> None:
    drawn = {cover(title_id, "shonen", volume) for title_id, _ in SOME for volume in (1, 2)}
    assert len(drawn) == 2 * len(SOME)


def test_a_png_is_what_was_put_into_it() -> None:
    pixels = np.arange(16, dtype=np.uint8).reshape(2, 8)
    palette = [(n, 2 * n, 255 - n) for n in range(16)]
    with Image.open(io.BytesIO(indexed_png(pixels, palette))) as image:
        read = np.asarray(image.convert("RGB"))
    assert [tuple(map(int, colour)) for colour in read.reshape(-1, 3)] == palette
