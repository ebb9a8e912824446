"""Similar titles and words become labels with confidences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.store.classification import (
    UNLEARNABLE_TAGS,
    StatedLabels,
    evidence_weight,
    find_stated_labels,
    is_explicit,
    readerships,
    select_offered,
    tags,
    vote,
)
from tools.store.models import CatalogTerms, Neighbour, Title

TERMS = CatalogTerms(
    tags={"Comedy": 500, "Horror": 50, "Gourmet": 20},
    magazines={},
    readerships={"shonen": 400, "seinen": 400, "kodomo": 10},
    titles=1000,
)
NOTHING_SAID = StatedLabels()


def near(*titles: Title, likeness: float = 0.5) -> list[Neighbour]:
    return [Neighbour(title, likeness) for title in titles]


def title(number: int, genre: str | None, *tags: str) -> Title:
    return Title(f"manga-{number:06}", en=f"Title {number}", genre=genre, tags=tags)


def test_equally_near_neighbours_have_equal_votes() -> None:
    found = vote([(0.5, ["a"]), (0.5, ["a", "b"]), (0.5, []), (0.5, ["b"])])
    assert found.shares == pytest.approx({"a": 0.5, "b": 0.5})
    assert found.voters == pytest.approx(4)


def test_nearer_neighbour_has_the_larger_vote() -> None:
    found = vote([(0.6, ["near"]), (0.4, ["far"])])
    assert found.shares["near"] > 0.9
    assert 1 < found.voters < 1.2, "one voter with nearly all of the weight is little more than one voter"


def test_vote_without_neighbours_is_no_surprise() -> None:
    assert vote([]).surprise("a", 0.5) == 0


def test_surprise_of_a_share_is_its_distance_from_the_usual_one_in_standard_errors() -> None:
    """A quarter of 16 voters where half is usual is two standard errors below."""
    found = vote([(0.5, ["a"] if n < 4 else []) for n in range(16)])
    assert found.surprise("a", 0.5) == pytest.approx(-2)
    assert found.surprise("unheard of", 0.5) == pytest.approx(-4)


def test_rare_tag_of_half_the_neighbours_is_likely_and_a_common_one_is_not() -> None:
    """Four of eight are comedies as half of the catalogue is; four of eight are horror, which is rare."""
    found = tags(near(*(title(n, "seinen", "Horror" if n % 2 else "Comedy") for n in range(8))), NOTHING_SAID, TERMS)
    assert next(iter(found)) == "Horror"
    assert found["Horror"] > 0.25
    assert "Comedy" not in found, "no more likely than of any title"


def test_tag_named_in_the_text_is_likelier_than_by_neighbours_alone() -> None:
    neighbours = near(*(title(n, None, "Horror", "Gourmet") for n in range(3)), title(9, None, "Comedy"))
    without, beside = (tags(neighbours, StatedLabels(frozenset(said)), TERMS)["Gourmet"] for said in ((), ("Gourmet",)))
    assert beside > without


def test_words_alone_give_a_tag_moderate_confidence() -> None:
    assert tags((), StatedLabels(frozenset({"Horror"})), TERMS) == {"Horror": pytest.approx(0.43, abs=0.05)}


def test_no_evidence_gives_no_label() -> None:
    assert tags((), NOTHING_SAID, TERMS) == {}
    assert readerships((), NOTHING_SAID, TERMS) == {}


def test_readerships_sum_to_one_with_the_likeliest_first() -> None:
    found = readerships(near(*(title(n, "kodomo") for n in range(6)), title(9, "shonen")), NOTHING_SAID, TERMS)
    assert sum(found.values()) == pytest.approx(1)
    assert (next(iter(found)), list(found.values())) == ("kodomo", sorted(found.values(), reverse=True))


def test_neighbours_without_a_readership_do_not_vote_on_it() -> None:
    mixed = near(*(title(n, None) for n in range(20)), title(21, "seinen"))
    assert readerships(mixed, NOTHING_SAID, TERMS) == readerships(near(title(21, "seinen")), NOTHING_SAID, TERMS)


@cases(
    ("text", "readership", "tag"),
    [
        ("a shonen manga about cooking", "shonen", "Cooking"),
        ("女性漫画のホラー", "josei", "Horror"),
        ("子供向けのロボットもの", "kodomo", "Mecha"),
    ],
)
def test_stated_readership_and_tag_are_read_from_the_text(text: str, readership: str, tag: str) -> None:
    said = find_stated_labels(text)
    assert said.readerships == {readership}
    assert tag in said.tags


def test_rare_tags_and_merit_tags_are_not_offered() -> None:
    terms = CatalogTerms({"Karuta": 4, "Horror": 5, **dict.fromkeys(UNLEARNABLE_TAGS, 100)}, {})
    assert select_offered(terms).tags == {"Horror": 5}


@given(
    voters=st.lists(st.tuples(st.floats(-1, 1), st.sampled_from(["Horror", "Comedy"]), st.sampled_from([None, "kodomo"]))),
    titles=st.integers(0, 2**40),
)
def test_confidences_are_between_0_and_1_for_any_evidence(voters: list[tuple[float, str, str | None]], titles: int) -> None:
    neighbours = [Neighbour(title(n, genre, tag), likeness) for n, (likeness, tag, genre) in enumerate(voters)]
    terms = CatalogTerms({"Horror": titles, "Comedy": 1}, {}, {"kodomo": titles, "seinen": 1}, titles)
    said = StatedLabels(frozenset({"Comedy"}), frozenset({"seinen"}))
    for found in (tags(neighbours, said, terms), readerships(neighbours, said, terms)):
        assert all(0 <= confidence <= 1 for confidence in found.values())


@cases(
    ("text", "least", "most"),
    [
        ("hentai", 0.1, 0.3),
        ("恋愛", 0.1, 0.3),
        ("the the the a of", 0, 0.3),
        ("a chef who travels back in time to feed kings", 1, 1),
    ],
)
def test_short_text_has_little_weight_as_evidence(text: str, least: float, most: float) -> None:
    assert least <= evidence_weight(text) <= most


def test_neighbours_of_a_short_text_give_lower_confidence() -> None:
    voters = near(*(title(n, "kodomo") for n in range(20)))
    whole, word = (readerships(voters, StatedLabels(evidence_weight=much), TERMS)["kodomo"] for much in (1.0, 0.2))
    assert word < whole


@cases(("text", "explicit"), [("hentai", True), ("エロ漫画", True), ("成人向け", True), ("a love story", False)])
def test_explicit_words_are_recognised(text: str, explicit: bool) -> None:
    assert is_explicit(text) is explicit
