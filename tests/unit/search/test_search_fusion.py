"""The order that the legs' evidence makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.store.backends.embedded.index import build_index
from tools.store.backends.embedded.legs import Legs
from tools.store.backends.embedded.shelf import build_shelf
from tools.store.models import Author, Title
from tools.store.search.candidates import evidence_for
from tools.store.search.document import passages, prior
from tools.store.search.evidence import Evidence
from tools.store.search.fusion import fuse, order, with_kin
from tools.store.search.names import begun_likeness, name_keys
from tools.store.search.query import QueryReader
from tools.store.search.romaji import sound_key

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


def test_equal_scores_keep_the_order_of_the_candidates() -> None:
    assert [int(i) for i in order(floats(0.5, 0.7, 0, 0.5, 0.7), 10)] == [1, 4, 0, 3]


@pytest.mark.parametrize("leg", ["names", "people", "words", "tags"])
def test_of_what_fits_alike_the_better_known_comes_first(leg: str) -> None:
    found = evidence(**{leg: floats(0.95, 0.95, 0.95), "prior": floats(0.2, 0.9, 0.5)})
    assert ranked("ninja" if leg == "tags" else "naruto", found) == [1, 2, 0]


def test_the_share_of_themes_decides_how_much_the_tags_do() -> None:
    """With none of the query a theme the words rank, with all of it the tags do; in between by the square of the share."""
    found = evidence(words=floats(1.0, 0.4), tags=floats(0.0, 1.0))
    firsts = [ranked_with(share, found)[0] for share in (0.0, 0.3, 0.6, 0.95, 1.0)]
    assert firsts == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("share", "answers"), [(0.9, [0]), (0.91, [])])
def test_a_query_that_is_a_theme_is_hardly_a_name(share: float, answers: list[int]) -> None:
    """Up to nine tenths a name may be merely alike."""
    assert ranked_with(share, evidence(names=floats(0.9))) == answers


@pytest.mark.parametrize(("share", "answers"), [(0.29, []), (0.3, [0])])
def test_a_query_with_a_theme_is_not_of_another_world(share: float, answers: list[int]) -> None:
    assert ranked_with(share, evidence(words=floats(0.9), known=0.1)) == answers


def ranked_with(theme_share: float, found: Evidence) -> list[int]:
    reading = replace(READER.read("zxqv flurble"), theme_share=theme_share)
    return [int(i) for i in order(fuse(reading, found), 10)]


@pytest.mark.parametrize("between", [": ", " : ", " - ", " ~", " (", " Part 2 "])
def test_a_name_goes_by_what_stands_before_its_subtitle(between: str) -> None:
    assert name_keys(Title("t", en=f"Blue Harbour{between}Winter")).main == (sound_key("Blue Harbour"),)


@pytest.mark.parametrize("name", ["Blue-Harbour", "Party 2", "X: Winter", "Go - Winter", "Blue Harbour"])
def test_what_is_no_subtitle_or_leaves_too_little_separates_nothing(name: str) -> None:
    assert name_keys(Title("t", en=name)).main == ()


def test_one_letter_begins_a_name_by_its_share_alone() -> None:
    """Two letters may be a name that is still being typed."""
    assert begun_likeness("x", "xholic") == pytest.approx(1 / 6)
    assert begun_likeness("xh", "xholic") == pytest.approx(0.78 + 0.15 / 3)
    assert begun_likeness("x", "x") == 1.0


def test_a_title_of_one_letter_is_found_by_it() -> None:
    titles = [Title("a", en="Xholic", rating_count=400_000), Title("b", en="X"), Title("c", en="Axis")]
    reading = READER.read("X")
    found = evidence_for(reading, titles, np.zeros(3, np.float32))
    assert [int(i) for i in order(fuse(reading, found), 3)] == [1]


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
