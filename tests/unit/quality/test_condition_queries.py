"""The judged set of queries: how many of each kind it has, and how many of them are locked."""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256

import pytest

from tests.quality.conditions.asking import ASKED, Answer, ToolAsked
from tests.quality.conditions.bars import missed
from tests.quality.conditions.facts import Facts
from tests.quality.conditions.judge import fitting
from tests.quality.conditions.measure import Measured, score
from tests.quality.conditions.report import table, worst
from tests.quality.conditions.wanted import NAMES, PLAIN, Query, Where, load_queries
from tests.quality.sets import demo_set
from tools.registry import TOOLS
from tools.store.records.catalog_file import load

KINDS = {
    "status",
    "length",
    "time",
    "readership",
    "audience",
    "rating",
    "exclusion",
    "like-but",
    "magazine",
    "ordering",
    "plain",
}
LONGEST_QUERY = 500


@pytest.fixture(scope="module")
def queries() -> list[Query]:
    return load_queries()


def test_judged_queries_are_300_of_every_kind_half_of_them_japanese(queries: list[Query]) -> None:
    assert len(queries) >= 300
    assert {query.kind for query in queries} == KINDS | {"several", NAMES, PLAIN}
    japanese = sum(query.lang == "ja" for query in queries)
    assert 0.45 <= japanese / len(queries) <= 0.55


def test_judged_queries_are_unique_and_within_the_query_length(queries: list[Query]) -> None:
    assert len({query.qid for query in queries}) == len({query.text for query in queries}) == len(queries)
    assert all(query.text and len(query.text) <= LONGEST_QUERY for query in queries)


def test_every_judged_query_has_conditions_or_named_titles(queries: list[Query]) -> None:
    assert all(query.where != Where() for query in queries)
    assert all(bool(query.where.titles) is (query.kind == NAMES) for query in queries)


def test_third_of_the_queries_of_each_kind_and_language_is_locked_by_their_ids(queries: list[Query]) -> None:
    strata: dict[tuple[str, str], list[Query]] = defaultdict(list)
    for query in queries:
        strata[query.kind, query.lang].append(query)
    for stratum in strata.values():
        drawn = sorted(stratum, key=lambda query: sha256(query.qid.encode()).hexdigest())
        assert [query.locked for query in drawn] == [place < round(len(drawn) / 3) for place in range(len(drawn))]


def test_plain_words_occur_in_their_query(queries: list[Query]) -> None:
    assert all(query.where.plain for query in queries if query.kind == PLAIN)
    assert all(any(word in query.text.casefold() for word in query.where.plain) for query in queries if query.where.plain)


def test_statuses_genres_and_tags_of_the_queries_exist_in_the_demo_catalogue(queries: list[Query]) -> None:
    """Each status, readership, and a tag of each group is one that a title of some catalogue has."""
    titles = [title for title, _ in load(demo_set().catalog)]
    statuses, genres = {title.status for title in titles}, {title.genre for title in titles}
    tags = {tag for title in titles for tag in title.tags}
    for query in queries:
        where = query.where
        assert set(where.status) <= statuses, query.qid
        assert set(where.genres) | set(where.without_genres) <= genres, query.qid
        assert all(set(group) & tags for group in where.tags), query.qid


def test_demo_catalogue_has_a_fitting_title_for_95_percent_of_the_queries(queries: list[Query]) -> None:
    titles = [Facts.of(title) for title, _ in load(demo_set().catalog)]
    possible = [bool(fitting(titles, query.where)) for query in queries if query.kind != NAMES]
    assert sum(possible) / len(possible) >= 0.95


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_tools_have_the_arguments_that_the_queries_use(asked: ToolAsked) -> None:
    tool = next(tool for tool in TOOLS if tool.name == asked.name)
    assert {asked.words, asked.number} <= set(tool.input_schema["properties"])
    assert asked.answers in tool.output_schema["properties"]


def test_report_shows_no_text_of_a_locked_query(queries: list[Query]) -> None:
    nothing = Answer(())
    results = [Measured(query, 0.0, 1, 0, nothing) for query in queries]
    shown = "\n".join([table("all", results), *worst(results, len(results))]).splitlines()
    assert len(worst(results, len(results))) == sum(not query.locked for query in queries)
    assert not any(query.text == _text(line) for line in shown for query in queries if query.locked)


def _text(line: str) -> str:
    return line.partition(": ")[2].rpartition(" (")[0]


def test_report_lists_open_and_locked_figures_apart() -> None:
    nothing = Answer((), degraded=frozenset({"vector"}), milliseconds=4.0)
    queries = [Query(str(locked), "en", "status", "finished", Where(), locked) for locked in (False, True)]
    lines = table("all", [Measured(query, float(query.locked), 0, 2, nothing) for query in queries]).splitlines()
    assert "| status | 1 | 0.000 | 1 | 1.000 |" in lines
    assert lines[-1] == (
        "Titles shown against a stated exclusion though the fact is known: 4. Queries that nothing in this catalogue fits: 2. "
        "Answers that were degraded: 2. A call took p50 4.0 ms, p95 4.0 ms."
    )


def test_figures_below_their_bar_are_named() -> None:
    answer = Answer(())
    named = Query("1", "en", NAMES, "Not Simple", Where(), False)
    without = Query("2", "en", "exclusion", "no ecchi", Where(), True)
    assert missed([Measured(named, 1.0, 1, 0, answer), Measured(without, 1.0, 9, 0, answer)]) == []
    assert missed([Measured(named, 0.5, 1, 0, answer), Measured(without, 0.8, 9, 1, answer)]) == [
        "exclusion 0.800, bar 0.95",
        "names 0.500, bar 0.985",
        "conditions 0.800, bar 0.85",
        "1 titles against a stated exclusion, may be 0",
    ]


@pytest.mark.parametrize(
    ("understood", "expected"), [((), 1.0), (("romance",), 1.0), (("Long",), 0.0), (("romance", "long"), 0.0)]
)
def test_condition_read_from_a_plain_word_scores_zero(understood: tuple[str, ...], expected: float) -> None:
    query = Query("1", "en", PLAIN, "a long-distance romance", Where(plain=("long",)), False)
    assert score(query, Answer(("a",), understood=understood), frozenset("a"), 0) == expected
