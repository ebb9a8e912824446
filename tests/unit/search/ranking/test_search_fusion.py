"""The ranking combines the evidence of names, tags, words and vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.store.models import Title
from tools.store.search.query.parser import QueryParser
from tools.store.search.ranking.ranked import Evidence, fuse, keep_good_fits, leader_of, order, with_series
from tools.store.search.text.romaji import sound_key
from tools.store.search.titles.document import passages
from tools.store.search.titles.names import NameKeys, begun_likeness, prior

PARSER = QueryParser()


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def evidence(**legs: NDArray[np.float32] | float | None) -> Evidence:
    size = next(len(v) for v in legs.values() if isinstance(v, np.ndarray))
    empty = dict.fromkeys(("names", "people", "words", "tags", "prior"), np.zeros(size, np.float32))
    return Evidence(**{**empty, "meaning": None, "headline": None, **legs})  # type: ignore[arg-type]


def ranked(query: str, found: Evidence) -> list[int]:
    return [int(i) for i in order(fuse(PARSER.parse(query), found), 10)]


def kept_to_order(query: str, found: Evidence) -> list[int]:
    parsed = PARSER.parse(query)
    return np.flatnonzero(keep_good_fits(parsed, fuse(parsed, found), found)).tolist()


def test_loosely_fitting_titles_are_left_out_of_a_requested_ordering() -> None:
    """A loose match may follow good ones, but would come first by its price. Popularity does not improve the match."""
    found = evidence(words=floats(1, 0.7, 0.9, 0.1), prior=floats(0, 1, 0, 1))
    assert sorted(ranked("a lonely boy who plays drums", found)) == [0, 1, 2]
    assert kept_to_order("a lonely boy who plays drums", found) == [0, 2]


def test_all_titles_with_the_theme_or_author_stay_in_a_requested_ordering() -> None:
    assert kept_to_order("romance", evidence(tags=floats(1, 1, 0), words=floats(1, 0, 0.2))) == [0, 1]
    assert kept_to_order("urasawa", evidence(people=floats(1, 1, 0), words=floats(1, 0, 0.9))) == [0, 1]


def test_title_called_so_ranks_before_a_story_that_mentions_the_word() -> None:
    assert ranked("monster", evidence(names=floats(0, 1), words=floats(1, 0.2)))[0] == 1


def test_popularity_decides_between_equal_names() -> None:
    assert ranked("naruto", evidence(names=floats(1, 1), prior=floats(0.1, 0.9))) == [1, 0]


def test_popularity_does_not_outrank_a_better_name() -> None:
    assert ranked("naruto", evidence(names=floats(1, 0.8), prior=floats(0, 1)))[0] == 0


def test_weak_name_and_text_matches_give_no_answer() -> None:
    assert (
        ranked("zxqv flurble", evidence(names=floats(0.5), words=floats(0.05), meaning=floats(0.1), headline=floats(0.1)))
        == []
    )


def test_unknown_words_without_a_near_meaning_give_no_answer() -> None:
    foreign = evidence(words=floats(0.45), meaning=floats(0.3), headline=floats(0.6), prior=floats(1.0), in_vocabulary=0.4)
    assert ranked("goblin market of rossetti", foreign) == []


def test_words_rank_without_vector_scores() -> None:
    assert ranked("boy eats a cursed finger", evidence(words=floats(0.2, 0.7))) == [1]


def test_tags_outrank_words_when_the_query_is_a_theme() -> None:
    found = evidence(words=floats(1.0, 0.3), tags=floats(0, 1), names=floats(0.85, 0))
    assert ranked("samurai", found)[0] == 1


def test_series_of_the_best_described_title_follows_it() -> None:
    found = evidence(words=floats(0.9, 0.5, 0), meaning=floats(0.6, 0.1, 0), headline=floats(0.3, 0, 0))
    scores = fuse(PARSER.parse("giants eat people behind walls"), found)
    assert leader_of(scores, found) == 0
    followed = with_series(scores, found.prior, 0, floats(1, 0, 1))
    assert [int(i) for i in order(followed, 3)][:2] == [0, 2]


@pytest.mark.parametrize(
    "found",
    [
        evidence(names=floats(1, 0)),
        evidence(people=floats(1, 0), words=floats(1, 0)),
        evidence(words=floats(0.4, 0)),
        evidence(words=floats(*[0.8] * 51), tags=floats(*[1] * 51)),
        evidence(words=floats(0, 0)),
    ],
    ids=["a name", "an author", "hardly described", "one of many with all the themes", "nothing"],
)
def test_matches_by_name_author_or_weak_evidence_bring_in_no_series(found: Evidence) -> None:
    assert leader_of(fuse(PARSER.parse("giants eat people behind walls"), found), found) is None


def test_popularity_is_from_ratings_else_from_rank() -> None:
    assert prior(Title("t", rating_count=400_000)) == 1.0
    assert prior(Title("t", popularity_rank=1)) == 1.0
    assert prior(Title("t")) == 0.0
    assert 0 < prior(Title("t", rating_count=1000)) < 1


def test_equal_scores_keep_the_order_of_the_candidates() -> None:
    assert [int(i) for i in order(floats(0.5, 0.7, 0, 0.5, 0.7), 10)] == [1, 4, 0, 3]


@pytest.mark.parametrize("leg", ["names", "people", "words", "tags"])
def test_popularity_decides_between_equally_matching_titles(leg: str) -> None:
    found = evidence(**{leg: floats(0.95, 0.95, 0.95), "prior": floats(0.2, 0.9, 0.5)})
    assert ranked("ninja" if leg == "tags" else "naruto", found) == [1, 2, 0]


def test_weight_of_tags_grows_with_the_share_of_themes_in_the_query() -> None:
    """Words rank a query without themes and tags one of themes alone; the weight is the square of the share."""
    found = evidence(words=floats(1.0, 0.4), tags=floats(0.0, 1.0))
    firsts = [ranked_with(share, found)[0] for share in (0.0, 0.3, 0.6, 0.95, 1.0)]
    assert firsts == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("share", "answers"), [(0.9, [0]), (0.91, [])])
def test_name_match_is_dropped_when_over_nine_tenths_of_the_query_are_a_theme(share: float, answers: list[int]) -> None:
    """Up to nine tenths an approximate name match counts."""
    assert ranked_with(share, evidence(names=floats(0.9))) == answers


@pytest.mark.parametrize(("share", "answers"), [(0.29, []), (0.3, [0])])
def test_query_with_a_theme_is_answered_though_its_other_words_are_unknown(share: float, answers: list[int]) -> None:
    assert ranked_with(share, evidence(words=floats(0.9), in_vocabulary=0.1)) == answers


def ranked_with(theme_share: float, found: Evidence) -> list[int]:
    parsed = replace(PARSER.parse("zxqv flurble"), theme_share=theme_share)
    return [int(i) for i in order(fuse(parsed, found), 10)]


@pytest.mark.parametrize("between", [": ", " : ", " - ", " ~", " (", " Part 2 "])
def test_main_name_is_the_part_before_the_subtitle(between: str) -> None:
    assert NameKeys.of(Title("t", en=f"Blue Harbour{between}Winter")).main == (sound_key("Blue Harbour"),)


@pytest.mark.parametrize("name", ["Blue-Harbour", "Party 2", "X: Winter", "Go - Winter", "Blue Harbour"])
def test_name_without_a_subtitle_or_with_a_short_first_part_has_no_main_name(name: str) -> None:
    assert NameKeys.of(Title("t", en=name)).main == ()


def test_prefix_of_one_letter_scores_by_its_share_alone() -> None:
    """Two letters may be a name that is still being typed."""
    assert begun_likeness("x", "xholic") == pytest.approx(1 / 6)
    assert begun_likeness("xh", "xholic") == pytest.approx(0.78 + 0.15 / 3)
    assert begun_likeness("x", "x") == 1.0


def test_synopsis_is_split_at_sentences() -> None:
    text = "One sentence. " * 60
    pieces = passages(Title("t", synopsis_en=text, synopsis_ja="短い話。"))
    assert len(pieces) > 2
    assert all(len(p) <= 345 for p in pieces)
    assert pieces[-1] == "短い話。"
