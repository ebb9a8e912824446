"""What a text states and nothing can be is said, and what is asked for in an "or" too."""

from __future__ import annotations

import pytest

from tests.support.reading import a_reader, read
from tools.store.models import Conditions, Status, Title
from tools.store.search.reading.contradiction import BOTH, EITHER, RULED_OUT


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("finished and still running", BOTH.format("finished", "still running")),
        ("a finished series that is still being published", BOTH.format("finished", "still running")),
        ("完結済みで連載中の漫画", BOTH.format("finished", "still running")),
        ("hentai for my 8 year old", BOTH.format("for adults alone", "fit for all ages")),
        ("under 500 yen or digital", EITHER.format("at most 499 yen a volume", "digital")),
        ("5 volumes or less or finished", EITHER.format("at most 5 volumes", "finished")),
        ("5巻以内または完結済み", EITHER.format("at most 5 volumes", "finished")),
    ],
)
def test_it_is_said(text: str, remark: str) -> None:
    assert read(text).remarks == (remark,)


@pytest.mark.parametrize(
    "text",
    [
        "finished or ongoing mystery",
        "finished, ongoing",
        "完結か連載中",
        "完結・連載中",
        "finished is nice but ongoing is fine too",
        "not finished, and not on hiatus",
        "finished and under 500 yen",
        "shonen or seinen, finished",
        "digital, under 500 yen",
    ],
)
def test_nothing_is_said_of_what_can_be(text: str) -> None:
    assert read(text).remarks == ()


def test_a_title_is_not_asked_for_and_ruled_out_in_silence() -> None:
    found = read("Naruto but not Naruto", a_reader((Title("t-1", en="Naruto"),)))

    assert found.remarks == (RULED_OUT.format("naruto"),)
    assert found.conditions == Conditions(without_titles=("t-1",))


def test_what_is_said_before_its_exclusion_is_no_list_of_it() -> None:
    found = read("ホラー、ホラーなし")

    assert found.subject == "ホラー"
    assert "Horror" in found.conditions.without_tags


def test_a_word_between_two_states_asks_for_nothing() -> None:
    assert read("完結か連載中").subject == ""
    assert set(read("完結か連載中").conditions.statuses) == {Status.FINISHED, Status.PUBLISHING}
