"""Past calls are selected by their relevance to the present call."""

from __future__ import annotations

from session.history import HistoryEntry
from tests.support.cases import cases
from tests.support.pipeline import registered
from tools.results.history import select_for_call, select_relevant


def call(tool: str, words: str = "", *shown: tuple[str, str], **arguments: object) -> HistoryEntry:
    return HistoryEntry(tool, dict(arguments), "ok", True, 1, False, 1, 0.0, words, shown)


ORDER = call("lookup_order")
PIRATES = call("search_manga_catalog", "stories about pirates", ("manga-000001", "One Piece"))
GIANTS = call("search_manga_catalog", "巨人と戦う話", ("manga-000002", "Shingeki no Kyojin"))
STOCK = call("check_inventory", "", title_ids=["manga-000001"])
ROMANCE = call("get_recommendations", "a slow romance", ("manga-000004", "Rose Garden"))
PAST = [ORDER, PIRATES, GIANTS, STOCK, ROMANCE]
"""Latest first."""


@cases(
    ("query", "chosen"),
    [
        ("is there another pirate story?", [PIRATES]),
        ("巨人の漫画をもう一度", [GIANTS]),
        ("進撃の巨人", [GIANTS]),
        ("しんげきのきょじんの在庫", [GIANTS]),
        ("when does ROSE GARDEN come out", [ROMANCE]),
        ("the second one", [ORDER]),
        ("", [ORDER]),
    ],
)
def test_query_selects_past_calls_with_its_titles_or_words(query: str, chosen: list[HistoryEntry]) -> None:
    """It matches in either language, and a name by its sound; a query with nothing in common selects the latest call."""
    assert select_relevant(PAST, 1, query) == chosen


def test_selected_calls_stay_in_order_and_are_filled_up_with_the_latest() -> None:
    assert select_relevant(PAST, 3, "romance") == [ORDER, PIRATES, ROMANCE]
    assert select_relevant(PAST, 20, "romance") == PAST


def test_call_with_a_title_selects_past_calls_about_that_title() -> None:
    """A past call is about a title if it showed it in a search or checked it."""
    asked = {"title_id": "manga-000001", "volume": "next"}
    assert select_for_call(PAST, 2, registered("find_volumes").tool, asked, ()) == [PIRATES, STOCK]


def test_call_without_a_title_selects_past_calls_about_the_titles_shown() -> None:
    assert select_for_call(PAST, 1, registered("check_inventory").tool, {}, ["manga-000004"]) == [ROMANCE]


def test_call_selects_by_its_words_and_among_equals_by_its_tool() -> None:
    search = registered("search_manga_catalog").tool
    assert select_for_call(PAST, 1, search, {"query": "巨人", "author": ""}, ()) == [GIANTS]
    assert select_for_call(PAST, 2, search, {"query": "xyz", "author": ""}, ()) == [PIRATES, GIANTS]
