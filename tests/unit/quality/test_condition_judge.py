"""The judge of conditional queries: what satisfies them, and that an unknown fact satisfies nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.quality.conditions.facts import Facts, letters, parts
from tests.quality.conditions.judge import Judge, fitting
from tests.quality.conditions.wanted import Where
from tools.store.models import Author, Title

KNOWN = Title(
    "manga-000001",
    en="Iron Gloria!!",
    romaji="Tetsu no Gloria",
    ja="鉄のグロリア",
    authors=(Author("Kuroda, Shuuji", "黒田修司"),),
    genre="shonen",
    tags=("Action", "Gore"),
    rating=4.1,
    rating_count=900,
    popularity_rank=7,
    volumes=12,
    status="Finished",
    start_year=1994,
    magazine="Shounen Thunder (Weekly)",
)
UNKNOWN = Title("manga-000002", en="Nobody Knows")

MET: list[dict[str, Any]] = [
    {"status": ["Finished"]},
    {"min_volumes": 12, "max_volumes": 12},
    {"from_year": 1990, "to_year": 1999},
    {"genres": ["seinen", "shonen"]},
    {"tags": [["Action", "Adventure"], ["Gore"]]},
    {"authors": ["Shuji Kuroda"]},
    {"authors": ["黒田修司"]},
    {"magazine": ["Weekly Shonen Thunder"]},
    {"audience": "older_teen"},
    {"min_rating": 4.1},
    {"titles": ["iron gloria"]},
]
NOT_MET: list[dict[str, Any]] = [
    {"status": ["Publishing"]},
    {"max_volumes": 11},
    {"min_volumes": 13},
    {"to_year": 1993},
    {"from_year": 1995},
    {"genres": ["shojo"]},
    {"tags": [["Action"], ["Romance"]]},
    {"authors": ["Kuroda Mio"]},
    {"magazine": ["Monthly Shonen Thunder"]},
    {"audience": "teen"},
    {"min_rating": 4.2},
    {"titles": ["Gloria"]},
]
EXCLUDED: list[dict[str, Any]] = [
    {"without_tags": ["Horror", "Gore"]},
    {"without_genres": ["shonen"]},
    {"without_authors": ["黒田修司"]},
    {"without_titles": ["鉄のグロリア"]},
]
KEPT: list[dict[str, Any]] = [
    {"without_tags": ["Horror"]},
    {"without_genres": ["shojo"]},
    {"without_authors": ["Mio Hoshino"]},
    {"without_titles": ["Gloria"]},
]


def satisfied(title: Title, **facts: Any) -> bool:
    return Judge(Where.of(facts)).satisfied_by(Facts.of(title))


@pytest.mark.parametrize("facts", MET + KEPT)
def test_title_with_the_stated_facts_satisfies_the_conditions(facts: dict[str, Any]) -> None:
    assert satisfied(KNOWN, **facts)


@pytest.mark.parametrize("facts", NOT_MET + EXCLUDED)
def test_title_without_the_stated_facts_does_not_satisfy_the_conditions(facts: dict[str, Any]) -> None:
    assert not satisfied(KNOWN, **facts)


@pytest.mark.parametrize("facts", MET + KEPT[:3])
def test_unknown_fact_satisfies_no_condition(facts: dict[str, Any]) -> None:
    assert not satisfied(UNKNOWN, **facts)


@pytest.mark.parametrize("facts", EXCLUDED)
def test_only_a_known_fact_violates_an_exclusion(facts: dict[str, Any]) -> None:
    judge = Judge(Where.of(facts))
    assert judge.excluded(Facts.of(KNOWN))
    assert not judge.excluded(Facts.of(UNKNOWN))


def test_all_conditions_have_to_be_met_at_once() -> None:
    assert satisfied(KNOWN, status=["Finished"], max_volumes=12, without_tags=["Ecchi"])
    assert not satisfied(KNOWN, status=["Finished"], max_volumes=12, without_tags=["Gore"])


def test_condition_on_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError):
        Where.of({"volumes_at_most": 3})


def ranked(number: int, **facts: Any) -> Facts:
    return Facts.of(Title(f"manga-{number:06}", en=f"Title {number}", **facts))


@pytest.mark.parametrize(
    ("sort", "fact"),
    [
        ("popularity", lambda place: {"popularity_rank": place}),
        ("newest", lambda place: {"start_year": 2030 - place}),
        ("shortest", lambda place: {"volumes": place}),
        ("rating", lambda place: {"rating": 5 - place / 20, "rating_count": 100}),
    ],
)
def test_first_ten_titles_of_an_ordering_fit(sort: str, fact: Any) -> None:
    titles = [ranked(place, **fact(place)) for place in range(1, 41)]
    best = {f"manga-{place:06}" for place in range(1, 11)}
    assert fitting([*reversed(titles), ranked(99)], Where.of({"sort": sort})) == best


def test_first_titles_by_rating_include_those_with_few_ratings() -> None:
    many = [ranked(place, rating=4.5 - place / 100, rating_count=50_000) for place in range(1, 41)]
    few = [ranked(place, rating=4.6, rating_count=3) for place in range(41, 61)]
    front = fitting([*many, *few], Where.of({"sort": "rating"}))
    assert {"manga-000001", "manga-000041"} <= front
    assert "manga-000040" not in front


def test_titles_equal_to_the_last_fitting_one_fit_too() -> None:
    titles = [ranked(place, volumes=1) for place in range(1, 31)] + [ranked(99, volumes=2)]
    assert len(fitting(titles, Where.of({"sort": "shortest"}))) == 30


def test_names_are_compared_by_letters_and_words() -> None:
    assert letters("ＮＡＲＵＴＯ!!") == letters("Naruto")
    assert parts("Shounen Jump (Weekly)") == parts("Weekly Shōnen Jump")
    assert parts("Shonen Jump+") != parts("Shonen Jump")
