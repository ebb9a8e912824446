"""Expectations on answers: each kind of expectation is met by one answer and not by another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.language import expectation
from tests.conversations.notebook import Notebook, NotShown, Page
from tests.conversations.shelf import Shelf
from tests.conversations.vocabulary import Slip, Vocabulary
from tests.support.cases import cases

SHELF = Shelf.of_the_demo()
WORDS = Vocabulary(SHELF)
ID = {name: SHELF.named(name).title_id for name in ("Death Note", "Monster", "Uzumaki", "Nana")}


def rows(*names: str, **further: Any) -> list[dict[str, Any]]:
    return [{"title_id": ID[name], "title": name, "price_jpy": 500 + place, **further} for place, name in enumerate(names)]


def problem(line: str, answer: dict[str, Any], before: dict[str, Any] | None = None) -> str | None:
    notes = Notebook(SHELF, [Page("something else", [before] if before else []), Page("and now?")])
    return expectation(line, WORDS).problem(answer, notes)


FINISHED = {"results": rows("Death Note", "Uzumaki"), "total": 2, "note": "Two left in stock."}
RUNNING = {"results": rows("Nana", "Uzumaki"), "total": 2}
FAILED = {"error": {"name": "NOT_FOUND", "message": "There is no such order."}}

TOLD_APART: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("every result: status = Finished; volumes <= 12", FINISHED, RUNNING),
    ("every result: status = Finished", FINISHED, {"results": []}),
    ("some result: title = デスノート", FINISHED, RUNNING),
    ("no result: tagged Music", FINISHED, RUNNING),
    ("no result: tagged Music | Fashion", FINISHED, RUNNING),
    ("first result: author mentions 大場つぐみ", FINISHED, RUNNING),
    ("second result: genre = seinen; not tagged Comedy", FINISHED, {"results": rows("Uzumaki")}),
    ("last result: start_year = 1998", FINISHED, {"results": rows("Uzumaki", "Nana")}),
    ("at least 1 result: rating >= 4.5", FINISHED, {"results": rows("Uzumaki")}),
    ("exactly 2 results", FINISHED, {"results": rows("Nana")}),
    ("at most 2 results", FINISHED, {"results": rows("Nana", "Uzumaki", "Monster")}),
    ("no results", {"results": []}, FINISHED),
    ("shows all of: Death Note | Uzumaki", FINISHED, RUNNING),
    ("shows one of: Death Note | Monster", FINISHED, RUNNING),
    ("shows none of: Nana | Monster", FINISHED, RUNNING),
    ("results by price_jpy, lowest first", FINISHED, {"results": rows("Death Note", "Uzumaki")[::-1]}),
    ("results by rating, highest first", FINISHED, {"results": rows("Uzumaki", "Death Note")}),
    ("note mentions stock | Lager", FINISHED, RUNNING),
    ("note is known", FINISHED, RUNNING),
    ("note is unknown", RUNNING, FINISHED),
    ("total >= 2", FINISHED, {"results": [], "total": 0}),
    ("total = 2", FINISHED, {"results": [], "total": 3}),
    ("says two LEFT", FINISHED, RUNNING),
    ("error NOT_FOUND", FAILED, FINISHED),
    ("error NOT_FOUND", FAILED, {"error": {"name": "FORBIDDEN", "message": "Sign in."}}),
    ("either no results or else note is known", FINISHED, RUNNING),
    ("late = false", {"late": False}, {"late": True}),
    ("late = false", {"late": False}, {}),
    ("status != cancelled", {"status": "shipped"}, {"status": "cancelled"}),
    ("comparison.cheapest.title_id = manga-1", {"comparison": {"cheapest": {"title_id": "manga-1"}}}, {"comparison": {}}),
    ("every item: availability is known", {"items": rows("Nana", availability="in_stock")}, {"items": rows("Nana")}),
    (
        "some volume: title = Nana; volume = 2",
        {"title_id": ID["Nana"], "volumes": [{"volume": 2}]},
        {"volumes": [{"volume": 2}]},
    ),
]


@cases(("line", "good", "bad"), TOLD_APART, ids=[each[0] for each in TOLD_APART])
def test_each_expectation_holds_for_one_answer_and_fails_for_another(
    line: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    assert problem(line, good) is None
    assert problem(line, bad)


def test_status_and_tags_are_judged_by_the_catalogue_and_not_by_the_answer() -> None:
    lied = {"results": [{**rows("Nana")[0], "status": "Finished", "tags": ["Horror"]}]}
    assert problem("every result: status = Finished", lied)
    assert problem("some result: tagged Horror", lied)


def test_wrong_number_of_volumes_in_an_answer_meets_no_expectation() -> None:
    assert problem("every result: volumes = 12", {"results": [{**rows("Death Note")[0], "volumes": 13}]})
    assert problem("every result: volumes <= 20", {"results": [{**rows("Death Note")[0], "volumes": 13}]})


def test_references_stand_for_titles_of_an_earlier_turn() -> None:
    before = {"results": rows("Monster", "Nana"), "next_offset": 5}
    assert problem("shows none of: {all of turn 1}", FINISHED, before) is None
    assert problem("shows none of: {all of turn 1}", RUNNING, before)
    assert problem("first result: title_id = {second of turn 1}", RUNNING, before) is None
    assert problem("first result: title_id = {second of turn 1}", FINISHED, before)


def test_placeholders_in_arguments_are_filled_from_earlier_turns() -> None:
    notes = Notebook(SHELF, [Page("fantasy", [{"results": rows("Nana", "Monster"), "next_offset": 5}]), Page("shorter")])
    assert notes.filled({"title_ids": ["{all}"], "offset": "{next_offset}"}) == {
        "title_ids": [ID["Nana"], ID["Monster"]],
        "offset": 5,
    }
    assert notes.filled("{words of turn 1}, {words}") == "fantasy, shorter"
    assert notes.filled("{id of Nana}") == ID["Nana"]


@cases("reference", ["{third}", "{result_set}", "{id of Death Note}"])
def test_reference_to_a_result_that_was_not_shown_is_refused(reference: str) -> None:
    notes = Notebook(SHELF, [Page("fantasy", [{"results": rows("Nana", "Monster")}])])
    with pytest.raises(NotShown, match="shown|no answer"):
        notes.filled(reference)


@cases(
    ("line", "says"),
    [
        ("every resutl: volumes <= 10", "did you mean 'result'"),
        ("every result: volume_count <= 10", "no answer has a field 'volume_count'"),
        ("every result: tagged Romanse", "did you mean 'Romance'"),
        ("every result: title = Deth Note", "did you mean 'Death Note'"),
        ("shows all of: Deth Note", "did you mean 'Death Note'"),
        ("error NOTFOUND", "did you mean 'NOT_FOUND'"),
        ("every result: volumes <= ten", "a number has to stand here"),
        ("all results are finished", "is no condition; write for example"),
        ("exactly 3 books", "nothing in an answer is called 'books'"),
    ],
)
def test_misspelled_expectation_is_refused_with_a_suggestion(line: str, says: str) -> None:
    with pytest.raises(Slip, match=says):
        expectation(line, WORDS)
