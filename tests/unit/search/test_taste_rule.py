"""The taste rule: the effect of each of its parts, on small catalogues in columns."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.support.cases import cases
from tools.store.backends.embedded.columns import build_columns, count_titles
from tools.store.models import Author, ReaderQuery, Title, WeighedTitle
from tools.store.search import taste
from tools.store.search.taste import TASTE, Rarity, Taste, profile_of
from tools.store.search.titles.names import prior


def title(n: int, *tags: str, author: str | None = None, fame: int = 1000, **more: object) -> Title:
    authors = (Author(author),) if author else ()
    return Title(f"manga-{n:06}", en=f"Title {n}", tags=tags, authors=authors, rating_count=fame, **more)  # type: ignore[arg-type]


def scores(query: ReaderQuery, *titles: Title) -> list[float]:
    columns = build_columns(titles, [()] * len(titles))
    rarity = Rarity(count_titles(columns.having["tags"]), len(titles))
    found: list[float] = Taste(columns, rarity).worth(query, profile_of(query, rarity)).tolist()
    return found


def liking(*titles: Title, **more: object) -> ReaderQuery:
    return ReaderQuery(10, liked=tuple(map(WeighedTitle, titles)), **more)  # type: ignore[arg-type]


FILLER = [title(n, "Common") for n in range(50, 60)]


def test_shared_rare_tag_scores_higher_than_a_shared_common_one() -> None:
    liked = title(1, "Common", "Rare")
    rare, common = scores(liking(liked), title(2, "Rare"), title(3, "Common"), liked, *FILLER)[:2]
    assert rare > common


@pytest.mark.parametrize(
    ("near", "far"),
    [
        ({"author": "Oda"}, {"author": "Ono"}),
        ({"genre": "seinen"}, {"genre": "josei"}),
        ({"magazine": "Afternoon"}, {"magazine": "Morning"}),
        ({"start_year": 1990}, {"start_year": 2020}),
        ({"fame": 1000}, {"fame": 30}),
        ({"start_year": 1990}, {}),
    ],
)
def test_title_that_shares_author_genre_or_era_with_a_liked_one_scores_higher(
    near: dict[str, object], far: dict[str, object]
) -> None:
    liked = title(1, "A", author="Oda", genre="seinen", magazine="Afternoon", start_year=1991)
    found = scores(liking(liked), title(2, "A", **near), title(3, "A", **far), liked)  # type: ignore[arg-type]
    assert found[0] > found[1] > 0


LIKED = title(1, "A", author="Oda", genre="seinen", magazine="Afternoon", start_year=1990)
FAME = prior(LIKED)
OF_B = WeighedTitle(title(7, "B"))


@cases(
    ("other", "asked", "factor"),
    [
        (title(2, "A"), {}, 1.0),
        (title(2, "A", genre="seinen"), {}, 1.2),
        (title(2, "A", magazine="Afternoon"), {}, 1.4),
        (title(2, "A", author="Oda"), {}, 1.4),
        (title(2, "A", start_year=1990), {}, 1.8),
        (title(2, "A", start_year=1996), {}, 1 + 0.8 / math.e),
        (title(2, "B"), {}, 0.05),
        (title(2, "A"), {"disliked": (title(3, "A"),)}, 0.9),
        (title(2, "A"), {"unwanted": ("A",)}, 0.1),
        (title(2, "A", fame=0), {}, 0.02**2 / FAME**2 * math.exp(-2 * FAME)),
        (title(2, "A"), {"fits": {"manga-000002": 0.5}}, 0.5 * FAME**0.3 / FAME**2),
        (title(2, "A"), {"fits": {}}, 0.0),
        (title(2, "A"), {"wanted": (("A",), ("B",))}, 0.5**3),
        (title(2, "A"), {"wanted": (("A",), ("B",)), "liked": (WeighedTitle(LIKED), OF_B)}, 0.5 * 0.5**0.3),
        (title(2, "A"), {"wanted": (("A",), ("B",)), "liked": ()}, 0.5**3),
        (title(2, "A"), {"wanted": (("A",), ("B",)), "liked": (replace(OF_B, weight=0.5),)}, 0.05 * 0.5**1.65),
        (title(2, "A", "B"), {"mood": ("A",)}, math.sqrt(0.5) * 0.5),
    ],
)
def test_score_has_the_tuned_factors(other: Title, asked: dict[str, Any], factor: float) -> None:
    """Beside it are one title with each of the tags A and B alone, which are equally rare."""
    query = replace(liking(LIKED), **asked)
    beside = [title(8, "B")] if other.tags == ("A",) else [title(8, "A")] if other.tags == ("B",) else []
    (found, *_) = scores(query, other, *beside)
    assert found == pytest.approx(FAME**2 * factor, rel=1e-4)


def test_taste_is_the_tuned_one() -> None:
    """A snapshot: a change has to be judged anew (`make quality`)."""
    assert asdict(TASTE) == {
        "tags": 1.0, "readership": 0.2, "magazine": 0.4, "author": 0.4, "years": 0.8, "disliked": 0.1, "fame": 2.0,
        "reach": 2.0, "fit": 0.3, "least_fit": 0.5, "fit_new": 3.0, "usual": 0.3, "mood": 2.0, "fame_of_hits": 0.3,
        "unfamiliar": 0.05, "unwanted": 0.1, "rarity": 0.75, "span": 6.0,
    }  # fmt: skip


@cases(
    ("second", "others", "kept"),
    [("A", (), True), ("A", (title(4, "A"),), False), ("C", (), False)],
    ids=["half", "the commoner half", "none"],
)
def test_title_with_less_than_half_of_the_best_share_of_themes_scores_zero(
    second: str, others: tuple[Title, ...], kept: bool
) -> None:
    asked = ReaderQuery(10, wanted=(("A",), ("B",)))
    assert (scores(asked, title(1, "A", "B"), title(2, second), title(3, "B"), *others)[1] > 0) is kept


def test_popular_titles_score_lower_for_readers_of_little_known_ones() -> None:
    famous, obscure = title(2, "A", fame=300_000), title(3, "A", fame=2_000)
    hidden, known = title(1, "A", fame=500), title(4, "A", fame=400_000)

    def ratio(liked: Title) -> float:
        best, least = scores(liking(liked), famous, obscure)
        return best / least

    assert ratio(hidden) < ratio(known)


def test_titles_like_disliked_ones_or_of_an_unwanted_tone_score_lower() -> None:
    liked, disliked = title(1, "A", "B"), title(2, "B")
    asked = liking(liked)
    for less in (replace(asked, disliked=(disliked,)), replace(asked, unwanted=("B",))):
        before, after = scores(asked, title(3, "A", "B"), disliked), scores(less, title(3, "A", "B"), disliked)
        assert after[1] < before[1]


def test_viewed_title_weighs_less_than_a_bought_one() -> None:
    count_titles = {"A": 5}
    rarity = Rarity(count_titles, 100)
    seen = profile_of(ReaderQuery(1, liked=(WeighedTitle(title(1, "A"), 0.2),)), rarity)
    bought = profile_of(liking(title(1, "A"), title(2, "A")), rarity)
    assert seen.tags["A"] == pytest.approx(0.2)
    assert bought.tags["A"] == pytest.approx(1.0)
    assert (seen.mass, bought.mass) == (0.2, 1.0)


def test_title_without_any_wanted_theme_scores_zero_and_unknown_themes_are_ignored() -> None:
    both, one, none = title(1, "A", "B"), title(2, "A"), title(3, "C")
    found = scores(ReaderQuery(10, wanted=(("A",), ("B", "X"), ("Gone",))), both, one, none)
    assert found[0] > found[1] >= 0
    assert found[2] == 0


def test_query_themes_weigh_more_for_a_reader_without_history(monkeypatch: pytest.MonkeyPatch) -> None:
    both, one = title(1, "A", "B"), title(2, "A")
    few = [title(n, "B") for n in (3, 4, 5)]
    asked = ReaderQuery(10, wanted=(("A",), ("B",)))
    monkeypatch.setattr(taste, "TASTE", replace(TASTE, least_fit=0.0, tags=0.0))
    known = replace(asked, liked=(WeighedTitle(title(9, "A", "B")),))

    def ratio(query: ReaderQuery) -> float:
        best, less = scores(query, both, one, *few)[:2]
        return less / best

    assert ratio(known) > ratio(asked)


def test_titles_the_reader_knows_score_zero() -> None:
    found = scores(ReaderQuery(10, known=("manga-000001", "elsewhere")), title(1, "A"), title(2, "A"))
    assert found[0] == 0
    assert found[1] > 0


def test_title_without_any_metadata_can_still_score() -> None:
    assert scores(liking(title(1, "A")), Title("bare", en="Bare"))[0] > 0
    assert scores(ReaderQuery(1)) == []
