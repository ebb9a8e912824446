"""Condition arguments: the condition each sets, its spellings, and bounds that nothing can satisfy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.pipeline import registered
from tools.conditions.arguments import CONDITIONS, conditions_of
from tools.store.failures import InvalidArguments
from tools.store.models import Audience, Conditions, Range, Status
from tools.store.search.conditions.wording import describe_condition

SEARCH = registered("search_manga_catalog")


def validated(**arguments: Any) -> dict[str, Any]:
    return SEARCH.validator.validate({"query": "x", **arguments})


def test_each_condition_argument_sets_its_condition() -> None:
    asked = validated(
        status="finished",
        min_volumes=2,
        max_volumes=9,
        from_year=1980,
        to_year=1989,
        audience="teen",
        max_price_jpy=600,
        in_stock=True,
        format="digital",
    )
    assert conditions_of(asked) == Conditions(
        statuses=(Status.FINISHED,),
        volumes=Range(2, 9),
        years=Range(1980, 1989),
        audience=Audience.TEEN,
        price=Range(None, 600),
        in_stock=True,
        format="digital",
    )


@cases("nothing", [None, ""])
def test_placeholder_value_in_every_argument_sets_no_condition(nothing: object) -> None:
    assert conditions_of(validated(**dict.fromkeys(CONDITIONS, nothing))) == Conditions()


def test_zero_false_and_empty_list_set_no_condition() -> None:
    zero = {"integer": 0, "boolean": False, "array": []}
    asked = {name: zero[rule["type"]] for name, rule in CONDITIONS.items() if rule["type"] in zero}
    assert conditions_of(validated(**asked)) == Conditions()


@cases(
    ("name", "written", "meant"),
    [
        ("status", "Completed", "finished"),
        ("status", "完結", "finished"),
        ("status", "on hiatus", "hiatus"),
        ("status", "連載中", "publishing"),
        ("status", "Cancelled", "discontinued"),
        ("audience", "Teens", "teen"),
        ("audience", "all-ages", "all_ages"),
        ("audience", "kids", "all_ages"),
        ("audience", "18+", "adult"),
        ("format", "ebook", "digital"),
        ("format", "紙", "physical"),
        ("sort", "best rated", "rating"),
        ("sort", "安い順", "price"),
        ("without", "horror, gore、エロ", ["horror", "gore", "エロ"]),
        ("without", "Oda", ["Oda"]),
    ],
)
def test_condition_argument_is_normalised_from_common_spellings(name: str, written: str, meant: object) -> None:
    assert validated(**{name: written})[name] == meant


@cases(("name", "written"), [("status", "unfinished"), ("audience", "somebody"), ("sort", "random")])
def test_unknown_word_is_refused_with_the_allowed_ones(name: str, written: str) -> None:
    with pytest.raises(InvalidArguments, match=rf"\$\.{name}.*use one of"):
        validated(**{name: written})


def test_contradictory_bounds_are_refused() -> None:
    with pytest.raises(InvalidArguments, match="use at most 3"):
        validated(min_volumes=5, max_volumes=3)
    with pytest.raises(InvalidArguments, match="use at most 1980"):
        validated(from_year=1990, to_year=1980)
    assert validated(min_volumes=5, max_volumes=0)["min_volumes"] == 5, "0 is no bound"
    assert validated(min_volumes=3, max_volumes=3, offset=5000) == validated(offset=5000) | {
        "min_volumes": 3,
        "max_volumes": 3,
    }
    with pytest.raises(InvalidArguments, match="5000"):
        validated(offset=5001)


@cases(
    ("conditions", "words"),
    [
        (Conditions(volumes=Range(None, 9)), "at most 9 volumes"),
        (Conditions(volumes=Range(None, 0)), "at most 0 volumes"),
        (Conditions(volumes=Range(1, 1)), "1 volume"),
        (Conditions(volumes=Range(5, 9)), "5 to 9 volumes"),
        (Conditions(years=Range(1980, 1989)), "begun 1980 to 1989"),
        (Conditions(years=Range(2018)), "begun in 2018 or later"),
        (Conditions(price=Range(None, 600)), "at most 600 yen a volume"),
        (Conditions(series_price=Range(None, 8000)), "at most 8,000 yen for the series"),
        (Conditions(statuses=(Status.PUBLISHING, Status.HIATUS)), "still running or on hiatus"),
        (Conditions(tags=(("Romance", "Love"), ("School",))), "Romance or Love and School"),
        (Conditions(min_rating=4.5), "rated at least 4.5"),
    ],
)
def test_condition_is_described_in_a_few_words(conditions: Conditions, words: str) -> None:
    (name,) = conditions.stated
    assert describe_condition(name, conditions) == words


def test_every_condition_has_a_description() -> None:
    every = Conditions(
        ("seinen",),
        "Oda",
        4.0,
        (Status.FINISHED,),
        Range(1, 2),
        Range(2000, 2001),
        Audience.TEEN,
        (("Romance",),),
        ("Jump",),
        Range(None, 600),
        Range(None, 8000),
        "digital",
        True,
        True,
        ("Gore",),
        ("josei",),
        ("Oda",),
        ("Jump",),
        ("manga-000001",),
        True,
    )
    assert all(describe_condition(name, every) for name in every.stated)
    assert {*every.stated, "day"} == set(Conditions.__slots__)
