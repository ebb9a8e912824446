"""What a reader's taste is made of, and how it fades."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from session.profile import Event, EventKind
from tools.recommend.taste import CustomerTaste, Did, KnownTitle, fading, searched_tags, taste
from tools.store.models import Author, Title

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def title(n: int, *tags: str, author: str | None = None, genre: str | None = None) -> Title:
    return Title(f"manga-{n:06}", en=f"Title {n}", tags=tags, authors=(Author(author),) if author else (), genre=genre)


def did(kind: EventKind, subject: str, days_ago: float = 0) -> Event:
    return Event.happened(kind, subject, NOW - timedelta(days=days_ago))


@pytest.mark.parametrize(("days", "weight"), [(0, 0.4), (30, 0.2), (60, 0.1), (90, 0.05), (-1, 0.4)])
def test_what_was_viewed_counts_half_for_every_thirty_days(days: float, weight: float) -> None:
    """What another clock dated into the future is new."""
    assert fading(0.4, did(EventKind.VIEWED, "manga-000001", days), NOW) == pytest.approx(weight)


def test_bought_titles_weigh_more_than_viewed_ones() -> None:
    """Tags, and the readership that most of the weight is for."""
    reader = CustomerTaste(
        known=(
            KnownTitle(title(1, "Pirates", "Comedy", genre="shonen"), Did.BOUGHT),
            KnownTitle(title(2, "Ghosts", "Comedy", genre="seinen"), Did.VIEWED, 0.4),
            KnownTitle(title(3, "Ghosts", genre="seinen"), Did.VIEWED, 0.2),
        )
    )
    facets = taste(reader, [title(9, "Robots")])
    assert facets is not None
    assert facets.tags == pytest.approx({"Pirates": 1.0, "Comedy": 1.4, "Ghosts": 0.6})
    assert facets.genre == "shonen"


def test_the_best_hits_make_up_for_what_is_not_known_of_a_reader() -> None:
    """Wholly for a new one, and not at all for one who bought something."""
    hits = [title(8, "Robots"), title(9, "Robots", "Games")]
    new = taste(CustomerTaste(), hits)
    seen = taste(CustomerTaste(known=(KnownTitle(title(1, "Ghosts"), Did.VIEWED, 0.4),)), hits)
    buyer = taste(CustomerTaste(known=(KnownTitle(title(1, "Ghosts"), Did.BOUGHT),)), hits)
    assert new is not None
    assert seen is not None
    assert buyer is not None
    assert new.tags == pytest.approx({"Robots": 1.0, "Games": 0.5})
    assert seen.tags == pytest.approx({"Ghosts": 0.4, "Robots": 0.6, "Games": 0.3})
    assert buyer.tags == {"Ghosts": 1.0}


def test_authors_count_first_bought_and_only_while_a_look_at_them_is_young() -> None:
    """An author counts wholly or not at all, so that an old look must not."""
    known = (
        KnownTitle(title(1, author="Bought"), Did.BOUGHT),
        KnownTitle(title(2, author="Lately"), Did.VIEWED, 0.11),
        KnownTitle(title(3, author="Long Ago"), Did.VIEWED, 0.09),
    )
    facets = taste(CustomerTaste(known=known), [])
    assert facets is not None
    assert facets.authors == ("Bought", "Lately")


@pytest.mark.parametrize(
    "reader",
    [
        CustomerTaste(),
        CustomerTaste(owned=frozenset({"manga-000001"})),
        CustomerTaste(known=(KnownTitle(title(1), Did.BOUGHT),)),
    ],
)
def test_where_nothing_says_what_to_look_for_nothing_is(reader: CustomerTaste) -> None:
    assert taste(reader, []) is None


@pytest.mark.parametrize("query", ["horror", "scary manga", "ホラー漫画"])
def test_a_theme_that_was_searched_for_counts_a_little_in_either_language(query: str) -> None:
    tags = searched_tags([did(EventKind.SEARCHED, query), did(EventKind.SEARCHED, f"{query} ?", 30)], NOW)
    assert tags["Horror"] == pytest.approx(0.2 + 0.1)


def test_searches_add_to_what_is_known_and_names_that_were_searched_for_say_nothing() -> None:
    assert searched_tags([did(EventKind.SEARCHED, "naoki urasawa"), did(EventKind.SEARCHED, "ワンピース")], NOW) == {}
    facets = taste(CustomerTaste(known=(KnownTitle(title(1, "Ghosts"), Did.BOUGHT),), searched={"Horror": 0.2}), [])
    assert facets is not None
    assert facets.tags == {"Horror": 0.2, "Ghosts": 1.0}
