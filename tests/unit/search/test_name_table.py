"""Names compared by the table have the same likeness as names compared one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.likeness import one_likeness
from tools.store.models import Title
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.names import LEAST, MAIN_FACTOR, NameKeys, NameTable

KEYS = st.text("abcé漢", min_size=1, max_size=8)
TITLES = st.lists(
    st.builds(NameKeys, st.lists(KEYS, max_size=3).map(tuple), st.lists(KEYS, max_size=2).map(tuple)), max_size=5
)
ASKED = st.lists(st.tuples(st.text("abcé漢", max_size=8), st.sampled_from((1.0, 0.98))), max_size=3)


def one_by_one(key: str, names: NameKeys) -> float:
    whole = (one_likeness(key, name) for name in names.whole)
    return max((*whole, *(MAIN_FACTOR * one_likeness(key, name) for name in names.main)), default=0.0)


@given(TITLES, ASKED)
def test_table_likeness_equals_the_likeness_of_the_nearest_single_name(
    titles: list[NameKeys], asked: list[tuple[str, float]]
) -> None:
    """Below `LEAST` the exact likeness does not matter."""
    found = NameTable(titles).likeness(asked)
    exact = [max((factor * one_by_one(key, names) for key, factor in asked), default=0.0) for names in titles]
    assert found.shape == (len(titles),)
    for near, expected in zip(found.tolist(), exact, strict=True):
        assert near == pytest.approx(expected) if expected >= LEAST else near <= expected + 1e-6


@given(TITLES, st.lists(KEYS, max_size=3))
def test_exactly_the_names_that_begin_with_a_key_are_found(titles: list[NameKeys], keys: list[str]) -> None:
    found = NameTable(titles).beginning_with(tuple(keys))
    for near, names in zip(found.tolist(), titles, strict=True):
        begun = [one_likeness(k, name) for k in keys for name in names.whole if name.startswith(k)]
        begun += [MAIN_FACTOR * one_likeness(k, name) for k in keys for name in names.main if name.startswith(k)]
        assert near == pytest.approx(max(begun, default=0.0))


def test_likeness_falls_from_equal_name_to_main_name_to_typo_to_unrelated() -> None:
    table = NameTable([NameKeys.of(Title("t", en="Blue Harbour: Second Tide", kana="あおいみなと"))])
    asked = ("あおいみなと", "blue harbour", "blue harbuor", "orange cat")
    grades = [float(table.likeness([(sound_key(q), 1.0)])[0]) for q in asked]
    assert grades[0] == 1.0
    assert grades == sorted(grades, reverse=True)
    assert grades[2] > 0.66 > grades[3]


@pytest.mark.parametrize(
    ("asked", "name"),
    [("one peace", "One Piece"), ("dethe note", "Death Note"), ("vegabund", "Vagabond"), ("blu lok", "Blue Lock")],
)
def test_name_spelled_by_ear_is_as_near_as_one_with_a_typo(asked: str, name: str) -> None:
    key, named = sound_key(asked), sound_key(name)
    table = NameTable([NameKeys((named,), ())])
    assert table.likeness([(key, 1.0)])[0] == pytest.approx(one_likeness(key, named))
    assert 0.8 <= one_likeness(key, named) < one_likeness(named, named)


@pytest.mark.parametrize(("asked", "name"), [("batman", "Bakuman"), ("one punch", "One Piece"), ("a peace", "One Piece")])
def test_name_with_other_consonants_is_not_near(asked: str, name: str) -> None:
    assert one_likeness(sound_key(asked), sound_key(name)) < 0.8


def test_katakana_is_compared_with_latin_names_by_consonants() -> None:
    table = NameTable([NameKeys.of(Title("a", en="Monster")), NameKeys.of(Title("b", en="Mansion")), NameKeys((), ())])
    spelled = table.spelled_in_katakana("モンスター")
    assert spelled[0] > 0.75
    assert not spelled[1:].any()
    assert not table.spelled_in_katakana("monster").any(), "it is for katakana alone"


def test_empty_name_table_returns_empty_arrays() -> None:
    empty = NameTable([])
    for answer in (empty.likeness([("a", 1.0)]), empty.beginning_with(("a",)), empty.spelled_in_katakana("モンスター")):
        assert answer.shape == (0,)
        assert answer.dtype == np.float32
