"""Which calls of the past bear on what is asked now."""

from __future__ import annotations

from session.history import HistoryEntry
from tests.support.cases import cases
from tests.support.pipeline import registered
from tools.results.history import About, select_relevant


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
def test_a_query_brings_back_the_call_with_its_titles_or_words(query: str, chosen: list[HistoryEntry]) -> None:
    """In either language, and a name by its sound. With nothing in common it is the latest."""
    assert select_relevant(PAST, About.text(query), 1) == chosen


def test_what_is_chosen_stays_in_its_order_and_the_rest_is_filled_up_with_the_latest() -> None:
    assert select_relevant(PAST, About.text("romance"), 3) == [ORDER, PIRATES, ROMANCE]
    assert select_relevant(PAST, About.text("romance"), 20) == PAST


def test_a_call_is_about_the_titles_that_it_names() -> None:
    """Whatever was asked of them before: shown by a search, or checked."""
    about = About.call(registered("find_volumes").tool, {"title_id": "manga-000001", "volume": "next"}, ())
    assert select_relevant(PAST, about, 2) == [PIRATES, STOCK]


def test_a_call_that_names_no_title_is_about_those_that_were_shown() -> None:
    about = About.call(registered("check_inventory").tool, {}, ["manga-000004"])
    assert select_relevant(PAST, about, 1) == [ROMANCE]


def test_a_call_is_about_its_words_and_of_equals_about_its_own_tool() -> None:
    search = registered("search_manga_catalog").tool
    assert select_relevant(PAST, About.call(search, {"query": "巨人", "author": ""}, ()), 1) == [GIANTS]
    assert select_relevant(PAST, About.call(search, {"query": "xyz", "author": ""}, ()), 2) == [PIRATES, GIANTS]
