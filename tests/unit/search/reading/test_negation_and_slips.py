"""What is said not to be, and what is said with a slip of the fingers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reading import read
from tools.store.models import Conditions, Range, Status
from tools.store.search.reading.spelling import Spelling


@pytest.mark.parametrize(
    ("text", "subject", "conditions"),
    [
        ("horror but not ongoing", "horror", Conditions(statuses=(Status.FINISHED, Status.HIATUS, Status.DISCONTINUED))),
        ("fantasy, no long series", "fantasy series", Conditions(volumes=Range(None, 5))),
        ("nothing under 10 volumes, fantasy", "fantasy", Conditions(volumes=Range(10, None))),
        ("romance, not older than 2015", "romance", Conditions(years=Range(2015, None))),
        ("長編以外のホラー", "ホラー", Conditions(volumes=Range(None, 19))),
        ("短編ではないホラー", "ホラー", Conditions(volumes=Range(6, None))),
    ],
)
def test_the_opposite_is_stated(text: str, subject: str, conditions: Conditions) -> None:
    found = read(text)

    assert found.conditions == conditions
    assert found.subject == subject


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("finishd horror", "finished horror"),
        ("compleeted under ten voluems", "completed under ten volumes"),
        ("onging sci-fi", "ongoing sci-fi"),
        ("a vulture and a column", "a vulture and a column"),
        ("finished volumes", "finished volumes"),
        ("completes", "completes"),
    ],
)
def test_one_slip_is_mended_in_words_that_state_something(text: str, mended: str) -> None:
    assert Spelling.of(text).text == mended


def test_what_was_understood_is_told_in_the_words_that_were_typed() -> None:
    found = read("finishd horror under ten voluems")

    assert [each.words for each in found.understood] == ["finishd", "under ten voluems"]
    assert found.subject == "horror"


@given(st.lists(st.sampled_from(["finishd", "voluems", "horror", "a", "ホラー", ",", "compleeted"]), max_size=12))
def test_spans_lie_where_the_words_were_typed(words: list[str]) -> None:
    text = " ".join(words)
    spelling = Spelling.of(text)

    start = 0
    for meant in spelling.text.split():
        begin = spelling.text.index(meant, start)
        start = begin + len(meant)
        typed_start, typed_end = spelling.span(begin, start)
        assert text[typed_start:typed_end] == text.split()[spelling.text[:begin].count(" ")]
