"""The estimate of tokens. `tests/quality` compares it with real tokenizers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.results.shortening import estimate


def test_empty_text_has_no_tokens() -> None:
    assert estimate("") == 0


def test_japanese_counts_about_a_token_per_character_and_english_far_less() -> None:
    japanese, english = "海賊王になるため海へ出る", "sets out to sea to become King of the Pirates"
    assert estimate(japanese) > len(japanese) * 0.8
    assert estimate(english) < len(english) * 0.4


@given(st.lists(st.text(max_size=30), max_size=5))
def test_estimate_of_a_whole_is_at_most_the_sum_of_its_parts(parts: list[str]) -> None:
    assert estimate("".join(parts)) <= sum(map(estimate, parts))


@given(st.text(max_size=50), st.text(max_size=50))
def test_estimate_grows_with_the_text(text: str, more: str) -> None:
    assert estimate(text) <= estimate(text + more)


def test_lone_surrogate_counts_as_a_token() -> None:
    assert estimate("\ud800") > 0
