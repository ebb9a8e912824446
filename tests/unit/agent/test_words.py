"""What the agent says by itself: what is known, in the customer's language, without anything that is not in a result."""

from __future__ import annotations

from infra.agent.words import SAID, amount, sentence, tell_known
from tests.support.cases import cases

BERSERK = {"title_id": "manga-1", "title": "Berserk", "price_jpy": 693, "in_stock": True}


@cases(
    ("results", "said"),
    [
        ([], ""),
        ([{"results": []}], ""),
        ([{"readership": "shojo"}], ""),
        ([{"results": [BERSERK]}], "What I know so far: Berserk (¥693, in stock)."),
        ([BERSERK], "What I know so far: Berserk (¥693, in stock)."),
        ([{"results": [{**BERSERK, "in_stock": None, "price_jpy": None}]}], "What I know so far: Berserk."),
        ([{"items": [{**BERSERK, "in_stock": False}]}], "What I know so far: Berserk (¥693, sold out)."),
        (
            [{"items": [{**BERSERK, "missing_volumes": [41, 42]}]}],
            "What I know so far: Berserk (¥693, all but volume 41, 42).",
        ),
        (
            [{"orders": [{"order_id": "MNG-1", "status": "partly_delivered"}]}],
            "What I know so far: MNG-1 (partly delivered).",
        ),
        (
            [{"order_id": "MNG-1", "status": "late", "shipments": [{"carrier": "yamato", "status": "in_transit"}]}],
            "What I know so far: MNG-1 (late) yamato: in transit.",
        ),
        (
            [{"title_id": "manga-1", "title": "Berserk", "volumes": [{"volume": 43, "release_date": "2027-01-21"}]}],
            "What I know so far: Berserk 43 (2027-01-21).",
        ),
    ],
)
def test_results_are_told_as_sentences(results: list[dict[str, object]], said: str) -> None:
    assert tell_known(results, "?") == said


def test_titles_of_the_last_result_are_told_first_with_all_that_is_known_of_them() -> None:
    found = {"results": [{"title_id": "manga-2", "title": "Monster"}, BERSERK]}
    stock = {"items": [{"title_id": "manga-1", "in_stock": False}]}
    assert tell_known([found, stock], "?") == "What I know so far: Berserk (¥693, sold out); Monster."


def test_japanese_question_is_answered_in_japanese() -> None:
    assert tell_known([{"results": [BERSERK]}], "在庫は？") == "今わかっているのは次のとおりです。Berserk (¥693, 在庫あり)。"
    for name, (english, japanese) in SAID.items():
        assert (sentence(name, "stock?"), sentence(name, "ありますか")) == (english, japanese)


def test_amounts_are_written_with_the_symbol_of_their_currency() -> None:
    told = [amount("price_jpy", 770), amount("total_usd", 7.5), amount("price_eur", 12), amount("price_chf", 7.5)]
    assert told == ["¥770", "$7.50", "€12.00", "7.5 CHF"]
