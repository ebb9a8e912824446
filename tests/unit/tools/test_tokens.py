"""The estimate of tokens. How near it is to real tokenizers, `tests/quality` tells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.results.shortening import estimate


def test_nothing_is_no_token() -> None:
    assert estimate("") == 0


def test_japanese_is_not_a_fourth_of_a_token_a_character() -> None:
    japanese, english = "海賊王になるため海へ出る", "sets out to sea to become King of the Pirates"
    assert estimate(japanese) > len(japanese) * 0.8
    assert estimate(english) < len(english) * 0.4


@given(st.lists(st.text(max_size=30), max_size=5))
def test_a_whole_is_estimated_no_higher_than_its_parts(parts: list[str]) -> None:
    assert estimate("".join(parts)) <= sum(map(estimate, parts))


@given(st.text(max_size=50), st.text(max_size=50))
def test_more_text_is_never_less(text: str, more: str) -> None:
    assert estimate(text) <= estimate(text + more)


def test_half_a_character_is_counted_too() -> None:
    assert estimate("\ud800") > 0
