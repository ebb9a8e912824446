"""A whole search over a small catalogue, leg by leg: what is found, in which order, and what a filter keeps out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tools.store.backends.embedded.catalog import Engine, Vectors
from tools.store.backends.embedded.columns import build_columns
from tools.store.backends.embedded.index import AuthorSearch, IndexedNames, build_index
from tools.store.models import Author, CatalogQuery, Conditions, Title
from tools.store.search.columns import Floats
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import reference_row, series_of
from tools.store.search.ranking.ranked import Evidence, evidence_of

PARSER = QueryParser()
SATO, MORI, CLAN = Author("Sato, Rin", "佐藤凛"), Author("Mori, Kai", "森海"), Author("Hakusen")

TITLES = [
    Title("tide", en="Tide Hunters", authors=(SATO,), tags=("Pirates",), genre="seinen", rating=4.0, rating_count=900,
          synopsis_en="Divers look for a sunken bell below a frozen lighthouse."),
    Title("winter", en="Tide Hunters: Winter", authors=(SATO,), tags=("Drama",), genre="josei", rating=3.0),
    Title("side", en="Bell Songs", authors=(CLAN,), tags=("Music",), genre="shojo", related=("tide",)),
    Title("kin", en="Lantern Street", authors=(MORI,), tags=("Horror", "Samurai"), genre="seinen", rating=4.5),
    Title("harbour", en="Blue Harbour", ja="青い港", authors=(MORI, SATO), tags=("Drama", "Romance"), genre="josei", rating_count=50),
    Title("monster", en="Monster Ferry", authors=(CLAN,), tags=("Horror",), genre="seinen", rating=2.0),
    Title("told", en="Quiet Rooms", authors=(MORI,), related=("tide", "nowhere"), synopsis_en="Ghosts rent rooms in an old inn."),
]  # fmt: skip
TITLES[0] = Title(**{name: getattr(TITLES[0], name) for name in Title.__slots__} | {"related": ("side",)})
NUMBER = {title.title_id: place for place, title in enumerate(TITLES)}
COLUMNS, INDEX = build_columns(TITLES, [()] * len(TITLES)), build_index(TITLES)
ENGINE, PEOPLE = Engine(COLUMNS, INDEX, PARSER), AuthorSearch(INDEX.people, COLUMNS)
LEGS = Candidates(COLUMNS, IndexedNames(INDEX.names, len(TITLES)), PEOPLE, INDEX.prose)
DESCRIBED = "sunken bell below a frozen lighthouse"


def found(query: str, conditions: Conditions | None = None, limit: int = 10, **legs: object) -> list[str]:
    hits = ENGINE.search(
        CatalogQuery(query, conditions or Conditions(), limit), legs.get("vector"), legs.get("vectors"), wants_meaning=True
    )  # type: ignore[arg-type]
    return [title.title_id for title in hits.titles]


def candidates(senses: tuple[Floats, Floats] | None = None, pointed: int | None = None) -> Candidates:
    theirs = None if pointed is None else COLUMNS.written_by_authors_of(pointed)
    return replace(LEGS, senses=senses, by_same_author=theirs)


def evidence(query: str, **how: Any) -> Evidence:
    return evidence_of(PARSER.parse(query), candidates(**how))


def of(leg: Floats | None) -> dict[str, float]:
    """What is above nothing."""
    assert leg is not None
    return {TITLES[place].title_id: round(float(each), 3) for place, each in enumerate(leg) if each > 0}


# -- what is found


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("Blue Harbour", ["harbour"]),
        ("blue harbor", ["harbour"]),
        ("青い港", ["harbour"]),
        ("モンスターフェリー", ["monster"]),
        ("tide hunters", ["tide", "winter", "side"]),  # its series, and what the catalogue says is related
        (DESCRIBED, ["tide", "winter", "side"]),
        ("manga by Sato", ["tide", "harbour", "winter"]),
        ("blue harbour sato", ["harbour"]),
        ("by the author of Monster Ferry", ["side", "monster"]),
        ("samurai horror", ["kin"]),
        ("zxqv flurble", []),
    ],
)
def test_query_finds_titles_by_name_description_theme_or_author(query: str, answers: list[str]) -> None:
    assert found(query) == answers


def test_limit_cuts_the_titles_and_not_the_total() -> None:
    hits = ENGINE.search(CatalogQuery("tide hunters", Conditions(), 1), wants_meaning=True)
    assert (len(hits.titles), hits.total, hits.degraded) == (1, 3, ("vector",))


def test_query_without_a_subject_returns_the_most_popular_titles() -> None:
    hits = ENGINE.search(CatalogQuery("manga", Conditions(genres=("seinen",)), 2), wants_meaning=True)
    assert [title.title_id for title in hits.titles] == ["tide", "kin"]
    assert (hits.total, hits.degraded) == (3, ())


@pytest.mark.parametrize(
    ("conditions", "answers"),
    [
        (Conditions(genres=("seinen",)), ["tide"]),
        (Conditions(genres=("kodomo",)), []),
        (Conditions(min_rating=4.0), ["tide"]),
        (Conditions(min_rating=4.5), []),
        (Conditions(min_rating=0.0), ["tide", "winter", "side"]),
        (Conditions(author="Hakusen"), ["side"]),
        (Conditions(author="Rin Sato"), ["tide", "winter"]),
    ],
)
def test_filter_narrows_the_titles_found_by_name_and_their_series(conditions: Conditions, answers: list[str]) -> None:
    assert found("tide hunters", conditions) == answers


@pytest.mark.parametrize(
    ("least", "answers"),
    [(2.0, ["kin", "tide", "winter", "monster"]), (2.1, ["kin", "tide", "winter"]), (4.5, ["kin"]), (4.6, [])],
)
def test_minimum_rating_includes_itself_and_excludes_unrated_titles(least: float, answers: list[str]) -> None:
    assert found("best rated", Conditions(min_rating=least)) == answers


# -- the legs


def test_names_score_by_similarity_of_sound_and_their_series_slightly_less() -> None:
    near = {title: each for title, each in of(evidence("tide hunters").names).items() if each >= 0.5}
    assert near == {"tide": 1.0, "winter": 0.95, "side": 0.736}
    assert of(evidence("tide hunters winter").names)["winter"] == 1.0


def test_name_beside_a_part_of_its_author_scores_nearly_as_the_name() -> None:
    assert of(evidence("blue harbour sato").names)["harbour"] == 0.97
    assert of(evidence("sato blue harbour").names)["harbour"] == 0.97
    assert of(evidence("hakusen モンスターフェリー").names)["monster"] > 0.85
    assert of(evidence("blue harbour hakusen").names).get("harbour", 0.0) < 0.97


def test_word_score_is_the_share_of_query_words_in_a_title() -> None:
    assert of(evidence(DESCRIBED).words)["tide"] > 0.8
    assert evidence("zxqv").in_vocabulary == 0.0
    assert evidence("lantern").in_vocabulary == 1.0


def test_japanese_words_match_an_english_synopsis_at_nine_tenths() -> None:
    own, translated = of(evidence("ghost").words), of(evidence("幽霊").words)
    assert own["told"] > 0
    assert translated["told"] == pytest.approx(0.9 * own["told"], abs=0.002)


def test_tag_score_is_the_share_of_themes_and_readership_met() -> None:
    assert of(evidence("samurai horror").tags) == {"kin": 1.0, "monster": 0.5}
    assert of(evidence("seinen horror").tags) == {"kin": 1.0, "monster": 1.0, "tide": 0.5}
    assert of(evidence("josei").tags) == {"winter": 1.0, "harbour": 1.0}


def test_authors_of_the_referenced_title_raise_all_their_titles() -> None:
    assert of(evidence("x", pointed=NUMBER["harbour"]).people) == dict.fromkeys(
        ("tide", "winter", "kin", "harbour", "told"), 1.0
    )


def test_vector_score_needs_query_and_title_vectors() -> None:
    vector, vectors = turned(0), all_vectors()
    for how in ({}, {"vector": vector}, {"vectors": vectors}):
        assert found("zxqv flurble", **how) == []
    assert found("zxqv flurble", vector=vector, vectors=vectors) == ["told"]


def test_best_passage_and_headline_have_scores_of_their_own() -> None:
    assert (evidence("x").meaning, evidence("x").headline) == (None, None)
    seen = evidence("x", senses=all_vectors().cosines(turned(0)))
    assert of(seen.meaning) == {"told": 1.0}
    assert of(seen.headline) == {"tide": 1.0}


def turned(axis: int) -> Floats:
    vector = np.zeros(9, np.float32)
    vector[axis] = 1.0
    return vector


def all_vectors() -> Vectors:
    """A headline each along an axis of its own, and a passage of the last title along the first's."""
    rows = [turned(place) for place in range(len(TITLES))] + [turned(0)]
    return Vectors(np.array(rows, np.float32), np.array([len(TITLES) - 1], np.int32), len(TITLES))


@pytest.mark.parametrize(
    ("name", "number"),
    [("Blue Harbour", "harbour"), ("tide hunters", "tide"), ("blue harbou", "harbour"), ("harbour", None)],
)
def test_name_points_to_a_title_when_it_is_near_enough(name: str, number: str | None) -> None:
    assert reference_row(name, (), candidates()) == (None if number is None else NUMBER[number])
    assert reference_row("zxqv", ("blueharbour",), candidates()) == NUMBER["harbour"]


def test_series_contains_titles_that_begin_with_the_name_and_related_ones() -> None:
    assert of(series_of(NUMBER["tide"], candidates())) == {"tide": 1.0, "winter": 0.95, "side": 0.8}
    assert of(series_of(NUMBER["told"], candidates())) == {"told": 1.0, "tide": 0.8}


def test_misspelled_name_is_found_among_many_names_that_are_parts_of_it() -> None:
    """There are more such names than are compared letter by letter."""
    crowd = [Title(f"king-{n}", en="King") for n in range(150)]
    titles = [*crowd, Title("hearts", en="Kingdom Hearts")]
    engine = Engine(build_columns(titles, [()] * len(titles)), build_index(titles), PARSER)
    hits = engine.search(CatalogQuery("kingdomheatrs", Conditions(), 10), None, None)
    assert [title.title_id for title in hits.titles] == ["hearts"]
