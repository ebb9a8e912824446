"""get_recommendations through the whole pipeline: liked titles guide the search and are not its answer."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.calling import called, opened
from tests.support.cases import cases
from tools.get_recommendations import NO_HISTORY
from tools.recommend import chosen
from tools.results.rows import TAGS


async def recommended(folder: Path, criteria: str) -> dict[str, Any]:
    async with opened(folder) as app:
        answer: dict[str, Any] = (await called(app, "get_recommendations", {"criteria": criteria}))["structuredContent"]
    return answer


@cases(
    ("criteria", "known"),
    [
        ("like Berserk", {"Berserk"}),
        ("I loved Berserk", {"Berserk"}),
        ("Berserk", {"Berserk"}),
        ("I like Naruto and Bleach", {"Naruto", "Bleach"}),
        ("manga like Death Note but funny", {"Death Note"}),
    ],
)
async def test_title_named_as_liked_is_not_recommended(tmp_path: Path, criteria: str, known: set[str]) -> None:
    answer = await recommended(tmp_path, criteria)
    titles = {each["title"] for each in answer["recommendations"]}
    assert len(titles) == 3
    assert not titles & known


async def test_title_named_as_liked_precedes_purchases_in_reasons(tmp_path: Path) -> None:
    for each in (await recommended(tmp_path, "like Berserk"))["recommendations"]:
        assert "with Berserk, which you named." in each["reason"]


async def test_recommendations_like_one_title_share_its_main_tag(tmp_path: Path) -> None:
    wanted = {"something like Haikyu!!": "Sports", "I loved Death Note": "Suspense", "as grand as Kingdom": "War"}
    async with opened(tmp_path) as app:
        for criteria, tag in wanted.items():
            answer = (await called(app, "get_recommendations", {"criteria": criteria}))["structuredContent"]
            assert sum(tag in each["tags"] for each in answer["recommendations"]) >= 2, criteria


@cases("criteria", ["qwertzuiop", "like Solo Leveling", "Batman"])
async def test_criteria_that_nothing_fits_are_reported_and_similar_names_do_not_count(tmp_path: Path, criteria: str) -> None:
    answer = await recommended(tmp_path, criteria)
    assert "criteria" not in answer["based_on"]
    assert answer["note"].startswith("No title fits the criteria")
    assert not any("Fits" in each["reason"] for each in answer["recommendations"])
    assert len(answer["recommendations"]) == 3


async def test_fitting_recommendations_have_no_note(tmp_path: Path) -> None:
    answer = await recommended(tmp_path, "dark fantasy")
    assert "criteria" in answer["based_on"]
    assert "note" not in answer


# -- what was said holds


@cases("criteria", ["finished comedy in at most 20 volumes", "完結済みのコメディ、20巻以内"])
async def test_conditions_in_the_criteria_are_obeyed_and_reported(tmp_path: Path, criteria: str) -> None:
    answer = await recommended(tmp_path, criteria)
    assert len(answer["understood"]) == 3
    for card in answer["recommendations"]:
        assert card["status"] == "Finished"
        assert card["volumes"] <= 20
        assert "Comedy" in card["tags"] or len(card["tags"]) == TAGS, "a card shows the first of a title's tags"


async def test_arguments_override_the_criteria_and_exclusions_hold(tmp_path: Path) -> None:
    asked = {"criteria": "dark fantasy, still running", "status": "finished", "without": ["Gore"], "count": 10}
    async with opened(tmp_path) as app:
        answer = (await called(app, "get_recommendations", asked))["structuredContent"]
    assert answer["recommendations"]
    for card in answer["recommendations"]:
        assert card["status"] == "Finished"
        assert "Gore" not in card["tags"]


async def test_unsatisfiable_condition_is_relaxed_and_named(tmp_path: Path) -> None:
    answer = await recommended(tmp_path, "sports manga from before 1951")
    assert answer["recommendations"]
    assert answer["relaxed"]


async def test_relaxed_recommendations_are_no_more_than_requested(tmp_path: Path) -> None:
    """More titles are examined while price or stock is still to be checked."""
    async with opened(tmp_path) as app:
        asked = {"criteria": "sports manga under 10 yen", "count": 2}
        answer = (await called(app, "get_recommendations", asked))["structuredContent"]
    assert answer["relaxed"] == ["at most 9 yen a volume"]
    assert len(answer["recommendations"]) == 2


async def test_gift_recommendations_ignore_the_givers_history(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        mine = (await called(app, "get_recommendations", {"criteria": "surprise me"}))["structuredContent"]
        gift = (await called(app, "get_recommendations", {"criteria": "a present for my friend"}))["structuredContent"]
    assert "purchases" in mine["based_on"]
    assert gift["based_on"] == ["popularity"]
    assert not any("which you" in card["reason"] for card in gift["recommendations"])


@cases("tool", ["search_manga_catalog", "get_recommendations"])
async def test_query_of_two_themes_finds_titles_with_either(tmp_path: Path, tool: str) -> None:
    """No title has both themes."""
    asked = {"query": "ninja farm"} if tool == "search_manga_catalog" else {"criteria": "ninja farm"}
    async with opened(tmp_path) as app:
        answer = (await called(app, tool, asked))["structuredContent"]
    cards = answer["results"] if "results" in answer else answer["recommendations"]
    assert {tag for card in cards for tag in card["tags"]} & {"Ninja", "Agriculture"}


async def test_reasons_do_not_repeat_the_customers_words(tmp_path: Path) -> None:
    for said in ("a zebra who plays chess", "not horror, something light", "I feel sad and want to cry"):
        reasons = [card["reason"].casefold() for card in (await recommended(tmp_path, said))["recommendations"]]
        assert reasons
        assert not any(said in reason or "zebra" in reason or "not horror" in reason for reason in reasons)


async def test_more_recommendations_exclude_those_shown_and_may_be_sorted(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:

        async def titles(**facts: Any) -> list[dict[str, Any]]:
            asked = {"criteria": "sports manga", "count": 5} | facts
            cards: list[dict[str, Any]] = (await called(app, "get_recommendations", asked))["structuredContent"][
                "recommendations"
            ]
            return cards

        first, more, newest = await titles(), await titles(offset=5), await titles(sort="newest")
    assert {card["title_id"] for card in first}.isdisjoint(card["title_id"] for card in more)
    years = [card["start_year"] for card in newest]
    assert years == sorted(years, reverse=True)


async def test_far_offset_compares_a_bounded_number_of_titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[int]()
    varied = chosen.vary_titles

    def counting(titles: Any, count: int, *more: Any, **named: Any) -> Any:
        compared.append(count)
        return varied(titles, count, *more, **named)

    monkeypatch.setattr(chosen, "vary_titles", counting)
    async with opened(tmp_path) as app:
        asked = {"criteria": "é" * 200, "offset": 5000}
        answer = (await called(app, "get_recommendations", asked))["structuredContent"]
    assert answer["recommendations"] == []
    assert 0 < max(compared) <= chosen.FURTHEST


async def test_excluded_names_are_normalised_once_and_not_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty long Japanese names take milliseconds, and others wait for a hundred such calls."""
    names, normalise, found = [f"{n:02} {'ばぴ' * 148}" for n in range(50)], chosen.normalise, list[tuple[str, bool]]()

    def noting(text: str) -> str:
        found.append((text, threading.current_thread() is threading.main_thread()))
        return normalise(text)

    monkeypatch.setattr(chosen, "normalise", noting)
    async with opened(tmp_path) as app:
        asked = {"criteria": "adventure", "exclude_titles": names, "count": 10}
        assert len((await called(app, "get_recommendations", asked))["structuredContent"]["recommendations"]) == 10
    assert sorted(each for each in found if each[0] in names) == [(name, False) for name in names]


async def test_empty_recommendations_say_that_nothing_is_left(tmp_path: Path) -> None:
    every = ["shonen", "seinen", "shojo", "josei", "kodomo"]
    async with opened(tmp_path) as app:
        answer = (await called(app, "get_recommendations", {"criteria": "anything", "without": every}))["structuredContent"]
    assert (answer["recommendations"], "Nothing is left" in answer["note"]) == ([], True)


@cases("criteria", ["something like before", "前回と同じようなやつ"])
async def test_recommendations_without_history_say_so(tmp_path: Path, criteria: str) -> None:
    asked = {"criteria": criteria}
    async with opened(tmp_path) as app:
        stranger = (await called(app, "get_recommendations", asked, user="somebody-new"))["structuredContent"]
        known = (await called(app, "get_recommendations", asked))["structuredContent"]
    assert stranger["note"].startswith(NO_HISTORY)
    assert len(stranger["recommendations"]) == 3
    assert NO_HISTORY not in known.get("note", "")
    assert "purchases" in known["based_on"]
