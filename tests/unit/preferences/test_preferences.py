"""A preference: its parts, its lifetime and the form of its cached copy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.preferences import LONGEST, MOST_KEPT, Preference, decode, encode, still_kept
from tests.support.cases import cases

NOW = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=LONGEST)


def test_preference_is_dated_by_the_day_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert Preference.from_text("no gore", datetime(2026, 11, 24, 5, 0, tzinfo=tokyo)).at == "2026-11-23"


@cases("days", [0, 1, 365])
def test_preference_is_kept_for_a_year_and_not_a_day_longer(days: int) -> None:
    own = Preference.from_text("no gore", NOW)
    assert still_kept([own], NOW + timedelta(days=days)) == (own,)
    assert still_kept([own], NOW + timedelta(days=366)) == ()


@cases(
    ("text", "at"),
    [
        ("", "2026-11-23"),
        ("x" * 201, "2026-11-23"),
        ("\ud800", "2026-11-23"),
        ("x", "2026-13-01"),
        ("x", "20261123"),
    ],
)
def test_malformed_preference_is_refused(text: str, at: str) -> None:
    with pytest.raises(ValueError, match="."):
        Preference(text, at)


@given(st.lists(TEXTS, max_size=MOST_KEPT))
def test_encoded_preferences_are_decoded_unchanged(texts: list[str]) -> None:
    stated = tuple(Preference.from_text(text, NOW) for text in texts)
    assert decode(encode(stated)) == stated


def test_twenty_preferences_of_200_characters_are_the_most_that_are_decoded() -> None:
    stated = [Preference.from_text(f"{n:0200}", NOW) for n in range(21)]
    assert decode(encode(stated)) == tuple(stated[:20])


@given(st.one_of(st.none(), st.integers(), st.binary(max_size=60), st.just(b"[" * 100_000)))
def test_any_bytes_are_decoded_as_preferences_or_none(copy: object) -> None:
    assert decode(copy) is None or all(isinstance(each, Preference) for each in decode(copy) or ())
