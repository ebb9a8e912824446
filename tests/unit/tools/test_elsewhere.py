"""A query that another tool answers better gets a pointer to that tool."""

from __future__ import annotations

from tests.support.cases import cases
from tools.search_manga_catalog import ELSEWHERE, POLICIES, mark_pointers
from tools.store.models import Title


@cases(
    "text",
    [
        "new releases",
        "What comes out this month?",
        "which manga are coming out next week",
        "what's coming out soon",
        "anything new out this month",
        "the next volume of One Piece",
        "latest volume of Frieren",
        "新刊",
        "今月の新刊は?",
        "来月発売の漫画",
        "ワンピースの最新巻",
        "今月出る漫画",
        "what's new this week",
        "I finished volume 3 of Frieren, what's next?",
        "フリーレンの3巻まで読んだ、次は?",
    ],
)
def test_question_about_releases_points_to_find_volumes(text: str) -> None:
    assert mark_pointers(text, ()) == {ELSEWHERE: ["find_volumes"]}


@cases(
    "text",
    ["can I return a manga?", "do you ship to America?", "English edition of One Piece", "送料はいくら?", "返品できますか"],
)
def test_question_about_policies_points_to_the_policies(text: str) -> None:
    assert mark_pointers(text, ()) == {ELSEWHERE: [POLICIES]}


def test_words_of_the_shops_own_policy_topic_point_to_it() -> None:
    topics = ("shipping", "gift-wrapping")
    assert mark_pointers("do you gift wrap?", (), topics=topics) == {ELSEWHERE: [POLICIES]}
    for other in ("a gift for my niece", "shipping company", "wrapped in plastic"):
        assert mark_pointers(other, (), topics=topics) == {}


@cases(
    "text",
    [
        "the return of the hero",
        "which characters do you ship",
        "a shipping company",
        "a coming out story",
        "manga about a boy who comes out to his parents",
        "a new manga",
        "newly married couple",
        "monsters come out at night",
        "released from prison",
        "刊行物",
        "出版社で働く話",
        "what is it about",
        "I've read Frieren",
        "3巻まで",
    ],
)
def test_similar_wording_points_nowhere(text: str) -> None:
    assert mark_pointers(text, ()) == {}


@cases(
    ("text", "title"),
    [("Next Volume", Title("t-1", en="The Next Volume")), ("新刊少女", Title("t-2", ja="新刊少女"))],
)
def test_query_that_is_the_name_of_a_found_title_points_nowhere(text: str, title: Title) -> None:
    assert mark_pointers(text, (title,)) == {}
