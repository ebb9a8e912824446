"""Words and arguments are merged: an argument precedes the words, and a difference is reported."""

from __future__ import annotations

from dataclasses import replace

from tools.conditions.wanted import describe_understood, merge_arguments, next_offset
from tools.store.models import Conditions, Ordering, Range, Status
from tools.store.search.reading.reading import Reading, Understood

SHORT = Understood("at most 9 volumes", "under ten volumes", about=("volumes",))
FINISHED = Understood("finished", "completed", about=("statuses",))
READING = Reading(
    "completed romance under ten volumes",
    "romance",
    Conditions(statuses=(Status.FINISHED,), volumes=Range(None, 9)),
    Ordering.RATING,
    understood=(FINISHED, SHORT),
)


def test_words_without_arguments_set_conditions_and_ordering() -> None:
    want = merge_arguments(READING, {})
    assert [next_offset(replace(want, offset=5), given, 10) for given in (4, 5, 0)] == [{"next_offset": 9}, {}, {}]
    assert (want.text, want.conditions, want.ordering) == ("romance", READING.conditions, Ordering.RATING)
    assert describe_understood(want) == {
        "understood": [
            {"condition": "finished", "from": "completed"},
            {"condition": "at most 9 volumes", "from": "under ten volumes"},
        ]
    }


def test_argument_overrides_the_words_and_reports_what_they_said() -> None:
    want = merge_arguments(READING, {"max_volumes": 20})
    assert want.conditions.volumes == Range(None, 20)
    assert describe_understood(want)["understood"] == [
        {"condition": "finished", "from": "completed"},
        {"condition": "at most 20 volumes (argument; the words said at most 9 volumes)", "from": "max_volumes"},
    ]
    for status, note in (("publishing", "still running (argument; the words said finished)"), ("finished", "finished")):
        told = describe_understood(merge_arguments(READING, {"status": status}))["understood"]
        assert {"condition": note, "from": "status"} in told


def test_lower_bound_of_an_argument_joins_the_upper_bound_of_the_words() -> None:
    want = merge_arguments(READING, {"min_volumes": 3})
    assert want.conditions.volumes == Range(3, 9)
    assert {"condition": "at most 9 volumes", "from": "under ten volumes"} in describe_understood(want)["understood"]


def test_argument_that_contradicts_the_bound_of_the_words_replaces_it() -> None:
    assert merge_arguments(READING, {"min_volumes": 20}).conditions.volumes == Range(20, None)
    assert merge_arguments(READING, {"min_volumes": 10}).conditions.volumes == Range(10, None)
    assert merge_arguments(READING, {"min_volumes": 9}).conditions.volumes == Range(9, 9)


def test_narrower_argument_keeps_both_bounds_in_the_report() -> None:
    want = merge_arguments(READING, {"max_volumes": 5})
    assert want.conditions.volumes == Range(None, 5)
    assert [each["condition"] for each in describe_understood(want)["understood"]] == [
        "finished",
        "at most 9 volumes",
        "at most 5 volumes",
    ]


def test_only_genre_author_and_rating_arguments_are_exact_filters() -> None:
    want = merge_arguments(READING, {"genre": "josei", "author": " Oda ", "min_rating": 4, "status": "publishing"})
    assert want.firm == {"genres", "author", "min_rating"}
    assert want.conditions.author == "Oda"
    assert want.conditions.statuses == (Status.PUBLISHING,)


def test_sort_by_relevance_overrides_the_ordering_of_the_words() -> None:
    assert merge_arguments(READING, {"sort": "relevance"}).ordering is None
    assert merge_arguments(READING, {"sort": "newest"}).ordering is Ordering.NEWEST
    assert merge_arguments(READING, {}).ordering is Ordering.RATING


def test_condition_that_cannot_be_judged_is_reported_as_not_obeyed() -> None:
    reading = Reading("x by Friday", "x", understood=(Understood("here by Friday", "by friday", obeyed=False),))
    assert describe_understood(merge_arguments(reading, {}))["understood"] == [
        {"condition": "here by Friday (not obeyed)", "from": "by friday"}
    ]


def test_search_without_conditions_reports_none() -> None:
    assert describe_understood(merge_arguments(Reading("Berserk", "Berserk"), {})) == {}
