"""How titles, prices and stock look in a result."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.check_inventory import item
from tools.results.rows import (
    author_name,
    authors_line,
    format_ranges,
    in_stock,
    price,
    shorten_text,
    stock_facts,
    title_row,
)
from tools.store.models import Author, Availability, Campaign, Offer, Title, VolumeStock

AS_OF = "2026-11-01T00:00:00Z"
PAPER, EBOOK = Offer("physical", 528, 3), Offer("digital", 480, None)


def a_row(*given: Offer | VolumeStock) -> Availability:
    return Availability(
        "manga-000001",
        tuple(each for each in given if isinstance(each, Offer)),
        tuple(each for each in given if isinstance(each, VolumeStock)),
        AS_OF,
    )


def volume(number: int, stock: int, **more: str) -> VolumeStock:
    return VolumeStock(number, None, "physical", 528, stock, **more)


@cases(
    ("stored", "shown"),
    [("Miura, Kentarou", "Kentarou Miura"), ("CLAMP", "CLAMP"), ("Arakawa , Hiromu ", "Hiromu Arakawa")],
)
def test_author_is_shown_with_the_given_name_first(stored: str, shown: str) -> None:
    assert author_name(Author(stored)) == shown


def test_title_without_authors_has_no_authors_line() -> None:
    assert authors_line(Title("manga-000001")) is None
    assert authors_line(Title("manga-000001", authors=(Author("A, B"), Author("C")))) == "B A, C"


@given(st.text(max_size=400), st.integers(10, 240))
def test_shortened_text_is_a_prefix_within_the_limit(text: str, limit: int) -> None:
    short = shorten_text(text, limit)
    assert short is not None
    assert len(short) <= limit + 1
    assert text.startswith(short.removesuffix("…"))
    assert short == text or len(text) > limit


@cases(
    ("text", "short"),
    [
        (None, None),
        ("One. Two and three and four.", "One. Two and three…"),
        ("A first sentence. And another one.", "A first sentence."),
        ("最初の文はここで終わるのである。次の文はもっと長い文である。", "最初の文はここで終わるのである。"),
        ("無" * 40, "無" * 22 + "…"),
        ("word, " * 8, "word, word, word…"),
    ],
)
def test_text_is_cut_at_a_sentence_or_a_word(text: str | None, short: str | None) -> None:
    assert shorten_text(text, 22) == short


def test_card_without_stock_data_has_neither_price_nor_stock() -> None:
    card = title_row(Title("manga-000001", en="One", synopsis_ja="話", tags=tuple("abcdefgh")))
    assert (card["price_jpy"], card["in_stock"]) == (None, None)
    assert (card["synopsis"], len(card["tags"])) == ("話", 6)


@cases(
    ("given", "yen"),
    [
        ([PAPER, EBOOK], 528),
        ([EBOOK], 480),
        ([Offer("digital", 0, None)], 0),
        ([Offer("digital", 0, None), PAPER], 528),
        ([Offer("physical", 700, 0), PAPER], 528),
        ([Offer("used_set", 300, 1), PAPER], 528),
        ([Offer("used_set", 300, 1), EBOOK], 480),
        ([Offer("set", 300, 1)], None),
        ([], None),
    ],
)
def test_card_price_is_that_of_paper_where_there_is_one(given: list[Offer], yen: int | None) -> None:
    assert price(given) == yen


@cases(
    ("row", "available"),
    [
        (a_row(PAPER), True),
        (a_row(Offer("physical", 528, 0)), False),
        (a_row(Offer("physical", 528, 0), EBOOK), False),
        (a_row(EBOOK), True),
        (a_row(PAPER, volume(1, 0), volume(2, 0)), False),
        (a_row(PAPER, volume(1, 0), volume(2, 1)), True),
    ],
)
def test_in_stock_means_that_a_paper_volume_can_be_bought(row: Availability, available: bool) -> None:
    assert in_stock(row) is available
    assert stock_facts({"manga-000001": row}, "manga-000001")["in_stock"] is available


def test_unknown_price_and_stock_are_null() -> None:
    assert stock_facts({}, "manga-000001") == {"price_jpy": None, "in_stock": None}


def test_inventory_item_lists_missing_and_upcoming_volumes_with_dates() -> None:
    row = a_row(
        PAPER, volume(1, 2), volume(2, 0, restock_date="2026-12-01"), volume(3, 0), volume(4, 0, release_date="2027-01-04")
    )
    told = item(row, {"manga-000001": "One"})
    assert (told["title_id"], told["title"]) == ("manga-000001", "One")
    assert (told["availability"], told["in_stock"]) == ("partly_in_stock", True)
    assert (told["volumes_in_stock"], told["volumes_total"], told["missing_volumes"]) == (1, 3, [2, 3])
    assert told["restock"] == [{"volumes": "2", "date": "2026-12-01"}]
    assert told["upcoming"] == [{"volumes": "4", "date": "2027-01-04"}]
    assert item(a_row(PAPER), {})["volumes_total"] is None
    assert item(a_row(PAPER), {})["title"] is None


def test_volume_is_upcoming_until_its_release_day_in_japan() -> None:
    eve, day = "2026-12-03T14:59:59.999Z", "2026-12-03T15:00:00.000Z"
    new = volume(2, 0, release_date="2026-12-04")
    for as_of, missing, upcoming in ((eve, [], [{"volumes": "2", "date": "2026-12-04"}]), (day, [2], [])):
        told = item(replace(a_row(PAPER, volume(1, 2), new), as_of=as_of), {})
        assert (told["missing_volumes"], told["upcoming"]) == (missing, upcoming)


SOLD_OUT = Offer("physical", 528, 0)


@cases(
    ("row", "availability", "on_paper"),
    [
        (a_row(PAPER), "in_stock", True),
        (a_row(PAPER, EBOOK, volume(1, 2), volume(2, 0)), "partly_in_stock", True),
        (a_row(SOLD_OUT), "out_of_stock", False),
        (a_row(SOLD_OUT, EBOOK), "digital_only", False),
        (a_row(Offer("physical", 528, 0), EBOOK, volume(1, 0), volume(2, 0)), "digital_only", False),
        (a_row(EBOOK), "digital_only", True),
        (a_row(SOLD_OUT, Offer("digital", 480, 0)), "out_of_stock", False),
        (a_row(SOLD_OUT, volume(1, 0, release_date="2027-01-04")), "out_of_stock", False),
    ],
)
def test_availability_summarises_the_stock_of_paper_volumes(row: Availability, availability: str, on_paper: bool) -> None:
    told = item(row, {})
    assert (told["availability"], told["in_stock"]) == (availability, on_paper)


def test_stock_states_its_unit_and_a_download_has_none() -> None:
    """431 copies of 42 volumes are no 431 copies of one; and what cannot run out is not unknown."""
    by_volume = item(a_row(PAPER, EBOOK, volume(1, 1), volume(2, 2)), {})["formats"]
    assert by_volume == [
        {"format": "physical", "price_jpy": 528, "stock": 3, "stock_is": "sum_of_volumes"},
        {"format": "digital", "price_jpy": 480, "stock_is": "download"},
    ]
    assert item(a_row(PAPER), {})["formats"][0]["stock_is"] == "copies"


def test_discounted_offer_states_its_list_price_and_campaign_end() -> None:
    campaign = Offer("digital", 300, None, 480, Campaign("2026-12-15", name="Fair"))
    shown = item(a_row(campaign, Offer("set", 5_280, 2)), {})["formats"]
    assert shown == [
        {
            "format": "digital",
            "price_jpy": 300,
            "list_price_jpy": 480,
            "campaign": {"until": "2026-12-15", "name": "Fair"},
            "stock_is": "download",
        },
        {"format": "set", "price_jpy": 5_280, "stock": 2, "stock_is": "copies"},
    ]


def test_volumes_with_one_restock_date_are_one_line() -> None:
    waiting = [volume(n, 0, restock_date="2026-12-09" if n != 8 else "2026-12-01") for n in (3, 4, 5, 7, 8, 9)]
    assert item(a_row(PAPER, volume(1, 1), *waiting), {})["restock"] == [
        {"volumes": "8", "date": "2026-12-01"},
        {"volumes": "3-5, 7, 9", "date": "2026-12-09"},
    ]


@given(st.lists(st.integers(0, 200), max_size=60))
def test_ranges_contain_every_number_once(numbers: list[int]) -> None:
    said: list[int] = []
    for part in filter(None, format_ranges(numbers).split(", ")):
        first, _, last = part.partition("-")
        said += range(int(first), int(last or first) + 1)
    assert said == sorted(set(numbers))
    assert format_ranges(range(1, 101)) == "1-100"
