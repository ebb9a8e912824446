"""The subject of a question about releases."""

from __future__ import annotations

from tests.support.cases import cases
from tools.conditions.releases import beside_releases
from tools.store.search.text.characters import normalise


@cases(
    "text",
    [
        "what comes out next month?",
        "which manga are coming out next week",
        "what's coming out soon",
        "anything new out this month",
        "what's new this week",
        "what manga will be released in december",
        "tell me what is coming out in December 2026",
        "new releases next month",
        "are there any new volumes next week?",
        "来月は何が出る?",
        "来月出る漫画",
        "今月の新刊は?",
        "2026年11月の新刊を教えてください",
        "来週発売される本は何ですか",
        "来月の新刊一覧",
    ],
)
def test_question_about_releases_alone_leaves_no_subject(text: str) -> None:
    assert beside_releases(normalise(text)) == ""


@cases(
    ("text", "subject"),
    [
        ("new One Piece volume next month", "one piece"),
        ("is there a new volume of Frieren next month?", "frieren"),
        ("when does the next volume of One Piece come out?", "one piece"),
        ("when is the latest Dandadan volume out", "dandadan"),
        ("What Did You Eat Yesterday? new volume next month", "what did you eat yesterday"),
        ("ワンピースの新刊は来月出る?", "ワンピース"),
        ("ワンピースの次の巻はいつ出ますか", "ワンピース"),
        ("one piece vol. 112 next month", "one piece . 112"),
        ("来月発売のホラー漫画", "ホラー漫画"),
        ("フリーレンの最新刊の発売日はいつ?", "フリーレン"),
    ],
)
def test_subject_of_a_question_about_releases_is_kept(text: str, subject: str) -> None:
    assert beside_releases(normalise(text)) == subject


@cases(
    "text",
    [
        "new releases",
        "新刊",
        "ワンピースの最新巻",
        "monsters come out at night",
        "a boy who comes out to his parents",
        "released from prison",
        "romance set in December",
        "starting a new life when he dies",
        "new school romance soon",
        "My train leaves tomorrow! Four volumes at most.",
        "新刊少女",
        "幽霊が出る学校",
        "いつか家を出る少女",
        "1月に読みたい漫画",
        "出版社で働く話",
    ],
)
def test_text_about_something_else_is_no_question_about_releases(text: str) -> None:
    assert beside_releases(normalise(text)) is None
