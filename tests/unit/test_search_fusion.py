"""The order that the legs' evidence makes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.backends.embedded.index import build_index
from tools.backends.embedded.legs import Legs
from tools.backends.embedded.shelf import build_shelf
from tools.models import Author, Title
from tools.search.candidates import evidence_for
from tools.search.document import passages, prior
from tools.search.evidence import Evidence
from tools.search.fusion import fuse, order, with_kin
from tools.search.query import QueryReader

READER = QueryReader.load()


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def evidence(**legs: NDArray[np.float32] | float | None) -> Evidence:
    size = next(len(v) for v in legs.values() if isinstance(v, np.ndarray))
    empty = dict.fromkeys(("names", "people", "words", "tags", "prior"), np.zeros(size, np.float32))
    return Evidence(**{**empty, "meaning": None, "headline": None, **legs})  # type: ignore[arg-type]


def ranked(query: str, found: Evidence) -> list[int]:
    return [int(i) for i in order(fuse(READER.read(query), found), 10)]


def test_a_name_beats_a_story_that_mentions_it() -> None:
    assert ranked("monster", evidence(names=floats(0, 1), words=floats(1, 0.2)))[0] == 1


def test_fame_decides_between_equal_names() -> None:
    assert ranked("naruto", evidence(names=floats(1, 1), prior=floats(0.1, 0.9))) == [1, 0]


def test_fame_does_not_carry_a_title_past_a_better_name() -> None:
    assert ranked("naruto", evidence(names=floats(1, 0.8), prior=floats(0, 1)))[0] == 0


def test_chance_likeness_and_weak_stories_are_no_answer() -> None:
    assert (
        ranked("zxqv flurble", evidence(names=floats(0.5), words=floats(0.05), meaning=floats(0.1), headline=floats(0.1)))
        == []
    )


def test_words_nobody_has_and_nothing_that_means_them_is_no_answer() -> None:
    foreign = evidence(words=floats(0.45), meaning=floats(0.3), headline=floats(0.6), prior=floats(1.0), known=0.4)
    assert ranked("goblin market of rossetti", foreign) == []


def test_without_the_vector_leg_words_still_rank() -> None:
    assert ranked("boy eats a cursed finger", evidence(words=floats(0.2, 0.6))) == [1]


def test_tags_decide_when_the_query_is_a_theme() -> None:
    found = evidence(words=floats(1.0, 0.3), tags=floats(0, 1), names=floats(0.85, 0))
    assert ranked("samurai", found)[0] == 1


def test_the_kin_of_a_described_story_follows_it() -> None:
    found = evidence(words=floats(0.9, 0.5, 0), meaning=floats(0.6, 0.1, 0), headline=floats(0.3, 0, 0))
    scores = fuse(READER.read("giants eat people behind walls"), found)
    followed = with_kin(scores, found, lambda: floats(1, 0, 1))
    assert [int(i) for i in order(followed, 3)][:2] == [0, 2]


def test_a_name_that_was_found_needs_no_kin() -> None:
    found = evidence(names=floats(1, 0))
    scores = fuse(READER.read("naruto"), found)
    assert np.array_equal(with_kin(scores, found, lambda: floats(1, 1)), scores)


def test_fame_is_from_ratings_else_from_rank() -> None:
    assert prior(Title("t", rating_count=400_000)) == 1.0
    assert prior(Title("t", popularity_rank=1)) == 1.0
    assert prior(Title("t")) == 0.0
    assert 0 < prior(Title("t", rating_count=1000)) < 1


def test_a_synopsis_is_cut_at_sentences() -> None:
    text = "One sentence. " * 60
    pieces = passages(Title("t", synopsis_en=text, synopsis_ja="短い話。"))
    assert len(pieces) > 2
    assert all(len(p) <= 345 for p in pieces)
    assert pieces[-1] == "短い話。"


TITLES = [
    Title(
        "a", en="Blue Harbour", romaji="Aoi Minato", authors=(Author("Sato, Rin", "佐藤凛"),), tags=("Drama",), genre="josei"
    ),
    Title("b", en="Monster Ferry", authors=(Author("Mori, Kai"),), tags=("Horror", "Samurai"), rating_count=5000),
    Title("c", en="Blue Harbour: Winter", authors=(Author("Sato, Rin", "佐藤凛"),), tags=("Drama",)),
]


@pytest.mark.parametrize(
    "query",
    ["blue harbor", "モンスターフェリー", "Rin Sato", "佐藤凛", "samurai horror", "josei drama", "xyz", "manga by Sato"],
)
def test_single_titles_get_the_evidence_that_the_whole_shelf_gets(query: str) -> None:
    shelf = build_shelf(TITLES, [()] * len(TITLES))
    reading = READER.read(query)
    whole = Legs(shelf, build_index(TITLES)).evidence(reading, np.ones(3, np.bool_), None, None, None)
    single = evidence_for(reading, TITLES, np.zeros(3, np.float32))
    assert np.allclose(single.people, whole.people)
    assert np.allclose(single.tags, whole.tags)
    assert np.allclose(single.prior, whole.prior)
    assert (np.argmax(single.names), single.names.max() >= 0.66) == (np.argmax(whole.names), whole.names.max() >= 0.66)
