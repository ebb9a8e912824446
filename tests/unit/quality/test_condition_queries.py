"""The judged set: how much of what there is in it, and what of it is locked."""

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


def test_there_are_enough_of_every_kind_in_both_languages(queries: list[Query]) -> None:
    assert len(queries) >= 300
    assert {query.kind for query in queries} == KINDS | {"several", NAMES, PLAIN}
    japanese = sum(query.lang == "ja" for query in queries)
    assert 0.45 <= japanese / len(queries) <= 0.55


def test_each_is_there_once_and_can_be_asked(queries: list[Query]) -> None:
    assert len({query.qid for query in queries}) == len({query.text for query in queries}) == len(queries)
    assert all(query.text and len(query.text) <= LONGEST_QUERY for query in queries)


def test_each_states_what_is_asked(queries: list[Query]) -> None:
    assert all(query.where != Where() for query in queries)
    assert all(bool(query.where.titles) is (query.kind == NAMES) for query in queries)


def test_a_third_of_each_kind_and_language_is_locked_by_the_hash_of_its_id(queries: list[Query]) -> None:
    strata: dict[tuple[str, str], list[Query]] = defaultdict(list)
    for query in queries:
        strata[query.kind, query.lang].append(query)
    for stratum in strata.values():
        drawn = sorted(stratum, key=lambda query: sha256(query.qid.encode()).hexdigest())
        assert [query.locked for query in drawn] == [place < round(len(drawn) / 3) for place in range(len(drawn))]


def test_plain_words_are_words_of_their_query(queries: list[Query]) -> None:
    assert all(query.where.plain for query in queries if query.kind == PLAIN)
    assert all(any(word in query.text.casefold() for word in query.where.plain) for query in queries if query.where.plain)


def test_what_the_facts_say_is_written_as_in_a_catalogue(queries: list[Query]) -> None:
    """Each status, readership, and a tag of each group is one that a title of some catalogue has."""
    titles = [title for title, _ in load(demo_set().catalog)]
    statuses, genres = {title.status for title in titles}, {title.genre for title in titles}
    tags = {tag for title in titles for tag in title.tags}
    for query in queries:
        where = query.where
        assert set(where.status) <= statuses, query.qid
        assert set(where.genres) | set(where.without_genres) <= genres, query.qid
        assert all(set(group) & tags for group in where.tags), query.qid


def test_most_queries_can_be_answered_from_the_demo_catalogue(queries: list[Query]) -> None:
    titles = [Facts.of(title) for title, _ in load(demo_set().catalog)]
    possible = [bool(fitting(titles, query.where)) for query in queries if query.kind != NAMES]
    assert sum(possible) / len(possible) >= 0.95


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_the_tools_take_what_is_asked(asked: ToolAsked) -> None:
    tool = next(tool for tool in TOOLS if tool.name == asked.name)
    assert {asked.words, asked.number} <= set(tool.input_schema["properties"])
    assert asked.answers in tool.output_schema["properties"]


def test_no_text_of_a_locked_query_is_shown(queries: list[Query]) -> None:
    nothing = Answer(())
    results = [Measured(query, 0.0, 1, 0, nothing) for query in queries]
    shown = "\n".join([table("all", results), *worst(results, len(results))]).splitlines()
    assert len(worst(results, len(results))) == sum(not query.locked for query in queries)
    assert not any(query.text == _text(line) for line in shown for query in queries if query.locked)


def _text(line: str) -> str:
    return line.partition(": ")[2].rpartition(" (")[0]


def test_open_and_locked_figures_stand_apart() -> None:
    nothing = Answer((), degraded=frozenset({"vector"}), milliseconds=4.0)
    queries = [Query(str(locked), "en", "status", "finished", Where(), locked) for locked in (False, True)]
    lines = table("all", [Measured(query, float(query.locked), 0, 2, nothing) for query in queries]).splitlines()
    assert "| status | 1 | 0.000 | 1 | 1.000 |" in lines
    assert lines[-1] == (
        "Titles shown against a stated exclusion though the fact is known: 4. Queries that nothing in this catalogue fits: 2. "
        "Answers that were degraded: 2. A call took p50 4.0 ms, p95 4.0 ms."
    )


def test_what_is_missed_is_said() -> None:
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
def test_a_condition_read_from_plain_words_spoils_the_answer(understood: tuple[str, ...], expected: float) -> None:
    query = Query("1", "en", PLAIN, "a long-distance romance", Where(plain=("long",)), False)
    assert score(query, Answer(("a",), understood=understood), frozenset("a"), 0) == expected
