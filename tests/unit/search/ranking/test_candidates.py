"""Both catalogues give the ranking the same evidence of the titles they recalled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from infra.seed.index import identity_of
from tools.store.backends.embedded.columns import build_columns
from tools.store.backends.embedded.index import AuthorSearch, IndexedNames, build, build_index
from tools.store.backends.opensearch.documents import card_from, document
from tools.store.backends.opensearch.search import candidates_of
from tools.store.backends.opensearch.state import Statistics
from tools.store.models import Author, Title
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.candidates import Candidates
from tools.store.search.ranking.names import reference_row, series_of
from tools.store.search.ranking.ranked import evidence_of, rank
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.document import prose_terms

PARSER = QueryParser()
TITLES = [
    Title(
        "a", en="Blue Harbour", romaji="Aoi Minato", authors=(Author("Sato, Rin", "佐藤凛"),), tags=("Drama",), genre="josei"
    ),
    Title("b", en="Monster Ferry", authors=(Author("Mori, Kai"),), tags=("Horror", "Samurai"), rating_count=5000),
    Title("c", en="Blue Harbour: Winter", authors=(Author("Sato, Rin", "佐藤凛"),), tags=("Drama",)),
    Title("d", en="Tide", synopsis_en="A ghost ferry carries a drowned sailor home.", related=("b",)),
    Title("x", en="X"),
    Title("xh", en="Xholic", rating_count=400_000),
    Title("m", en="Salaryman"),
]
ANY = np.ones(len(TITLES), np.bool_)
QUERIES = [
    "blue harbor", "モンスターフェリー", "Rin Sato", "佐藤凛", "samurai horror", "josei drama", "xyz", "manga by Sato",
    "blue harbour sato", "佐藤 blue harbour", "a ghost ferry and a drowned sailor", "monster ferry", "X", "幽霊の話", "佐藤凛の漫画", "青い港", "森先生の漫画",
]  # fmt: skip


def whole() -> Candidates:
    columns = build_columns(TITLES, [()] * len(TITLES))
    index = build_index(TITLES)
    people = AuthorSearch(index.people, columns)
    return Candidates(columns, IndexedNames(index.names, len(columns)), people, index.prose)


def recalled(query: str) -> Candidates:
    cards = [card_from(document(title, (), row, (), None)["card"]) for row, title in enumerate(TITLES)]
    return candidates_of(dict(zip([title.title_id for title in TITLES], cards, strict=True)), statistics(query))


def statistics(query: str) -> Statistics:
    """As a cluster would count them."""
    proses = [prose_terms(title) for title in TITLES]
    length = sum(sum(prose.values()) for prose in proses) / len(proses)
    numbers = {
        "hits": {"total": {"value": len(TITLES)}},
        "aggregations": {
            "length": {"value": length},
            "tags": {"buckets": []},
            "magazines": {"buckets": []},
            "readerships": {"buckets": []},
        },
    }
    found = Statistics("one", identity_of([(title, ()) for title in TITLES], None, serverless=False), numbers)
    parsed = PARSER.parse(query)
    terms = [*parsed.terms, *parsed.translations]
    buckets = {str(i): {"doc_count": sum(term in prose for prose in proses)} for i, term in enumerate(terms)}
    found.learn(terms, {"aggregations": {"df": {"buckets": buckets}}})
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_recalled_titles_get_the_same_evidence_as_in_the_whole_catalogue(query: str) -> None:
    parsed = PARSER.parse(query)
    one, other = (evidence_of(parsed, each) for each in (whole(), recalled(query)))
    for kind in ("people", "words", "tags", "prior", "in_vocabulary"):
        assert np.allclose(getattr(one, kind), getattr(other, kind), atol=1e-5), kind
    # What is less alike than half is measured by the one, and passed over by the other.
    assert np.allclose(np.where(one.names < 0.5, 0, one.names), np.where(other.names < 0.5, 0, other.names), atol=1e-5)


@pytest.mark.parametrize("query", QUERIES)
def test_recalled_titles_are_ranked_as_in_the_whole_catalogue(query: str) -> None:
    one, other = (rank(PARSER.parse(query), each, ANY) for each in (whole(), recalled(query)))
    assert np.allclose(one.scores, other.scores, atol=1e-5)
    assert replace(one, scores=other.scores, evidence=other.evidence) == other


@pytest.mark.parametrize("candidates", [whole(), recalled("")], ids=["embedded", "opensearch"])
def test_series_contains_titles_that_begin_with_the_name_and_related_ones(candidates: Candidates) -> None:
    assert np.flatnonzero(series_of(0, candidates)).tolist() == [0, 2]
    assert np.flatnonzero(series_of(3, candidates)).tolist() == [1]
    assert series_of(3, candidates)[1] == pytest.approx(WEIGHTS.related)


@pytest.mark.parametrize("candidates", [whole(), recalled("")], ids=["embedded", "opensearch"])
@pytest.mark.parametrize(
    ("name", "row"),
    [("blue harbour", 0), ("monster ferry", 1), ("サラリーマン", 6), ("harbour", None), ("nobody", None)],
)
def test_name_points_to_the_title_that_is_surely_called_so(name: str, row: int | None, candidates: Candidates) -> None:
    assert reference_row(name, (), candidates) == row


@pytest.mark.parametrize("candidates", [whole(), recalled("")], ids=["embedded", "opensearch"])
def test_nickname_points_to_its_title(candidates: Candidates) -> None:
    assert reference_row("bh", [sound_key("blue harbour")], candidates) == 0


@pytest.mark.parametrize("candidates", [whole(), recalled("X")], ids=["embedded", "opensearch"])
def test_one_letter_title_is_found_by_its_letter(candidates: Candidates) -> None:
    assert rank(PARSER.parse("X"), candidates, ANY).best(3) == [4]


@pytest.mark.parametrize("times", [1.0, 1.5, 3.0])
def test_document_of_average_length_is_weighted_by_frequency_alone(times: float) -> None:
    """As BM25 has it, however short the average is."""
    weights = build([{"sea": times}, {"tide": times}], k1=1.2, b=0.25).weights
    assert weights == pytest.approx([times * 2.2 / (times + 1.2)] * 2)
