"""The tools describe one title in the same words, and answer an unknown id alike."""

from __future__ import annotations

from pathlib import Path

from tests.support.calling import called, opened

SOLD_OUT_ON_PAPER = "manga-001045"


async def test_details_and_stock_agree_on_offers_and_availability(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        details = (await called(app, "get_manga_details", {"title_id": SOLD_OUT_ON_PAPER}))["structuredContent"]
        stock = (await called(app, "check_inventory", {"title_ids": [SOLD_OUT_ON_PAPER]}))["structuredContent"]
    (row,) = stock["items"]
    assert details["offers"] == row["formats"]
    assert {each["format"]: each["stock_is"] for each in row["formats"]} == {
        "physical": "sum_of_volumes",
        "digital": "download",
        "set": "copies",
        "used_set": "copies",
    }
    assert (details["price_jpy"], details["in_stock"]) == (row["price_jpy"], row["in_stock"])


async def test_details_and_stock_answer_an_unknown_id_alike(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        details = (await called(app, "get_manga_details", {"title_id": "manga-999999"}))["structuredContent"]
        stock = (await called(app, "check_inventory", {"title_ids": ["manga-999999"]}))["structuredContent"]
    assert (
        details["error"]["message"]
        == "No title here has the id manga-999999. If that is a name, find its id with search_manga_catalog."
    )
    assert stock["not_found"] == ["manga-999999"]
    assert "search_manga_catalog" in stock["note"]


async def test_title_id_as_a_query_finds_its_title_within_the_conditions(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        found, refused, unknown = [
            (await called(app, "search_manga_catalog", asked))["structuredContent"]["results"]
            for asked in (
                {"query": " manga-001001 "},
                {"query": "manga-001001", "max_volumes": 1},
                {"query": "manga-999999"},
            )
        ]
    assert [each["title_id"] for each in found] == ["manga-001001"]
    assert not refused
    assert not unknown


async def test_stock_of_an_empty_result_set_says_it_is_empty(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        nothing = (await called(app, "search_manga_catalog", {"query": "qwertzuiop"}))["structuredContent"]
        stock = (await called(app, "check_inventory", {"result_set": nothing["result_set"]}))["structuredContent"]
    assert stock["note"].startswith("There is nothing in that result_set, so")


async def test_note_about_excluded_matches_counts_in_singular_and_plural(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        one = (await called(app, "search_manga_catalog", {"query": "Berserk", "min_rating": 5}))["structuredContent"]
        more = (await called(app, "search_manga_catalog", {"query": "samurai", "author": "Oda", "min_rating": 5}))[
            "structuredContent"
        ]
    assert one["note"] == "Nothing matches with this min_rating. Without, 1 title does: the one in nearly."
    assert more["note"].startswith("Nothing matches with this author and min_rating. Without, ")
    assert more["note"].endswith(" titles do, such as those in nearly.")


async def test_number_behind_a_title_is_read_as_a_volume(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        found = (await called(app, "search_manga_catalog", {"query": "ONE PIECE 112"}))["structuredContent"]
        other = (await called(app, "search_manga_catalog", {"query": "Mob Psycho 100"}))["structuredContent"]
    assert found["results"][0]["title"] == "One Piece"
    assert "note" not in found
    assert other["results"][0]["title"] == "Mob Psycho 100"
