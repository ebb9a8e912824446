"""The audience of a title as the quality judge determines it."""

from __future__ import annotations

import pytest

from tests.quality.conditions.audience import audiences

CHILD, PRETEEN, TEEN, OLDER, ADULT = "all_ages", "preteen", "teen", "older_teen", "adult"


@pytest.mark.parametrize(
    ("genre", "tags", "youngest"),
    [
        ("kodomo", {"Action"}, CHILD),
        ("kodomo", {"Horror"}, TEEN),
        ("kodomo", set(), ADULT),
        ("shojo", {"Romance", "Mahou Shoujo"}, CHILD),
        ("shojo", {"Romance", "Comedy"}, PRETEEN),
        ("shonen", {"Sports"}, CHILD),
        ("shonen", {"Action", "Adventure"}, PRETEEN),
        ("shonen", {"Romance", "Comedy"}, TEEN),
        ("shonen", {"Action", "Military"}, TEEN),
        ("shonen", {"Comedy", "Ecchi"}, OLDER),
        ("shonen", {"Erotica"}, ADULT),
        ("seinen", {"Iyashikei"}, TEEN),
        ("seinen", {"Action"}, OLDER),
        ("seinen", {"Action", "Gore"}, ADULT),
        ("josei", {"Slice of Life", "Adult Cast"}, OLDER),
        (None, {"Pets"}, TEEN),
        (None, {"Action"}, OLDER),
        (None, set(), ADULT),
    ],
)
def test_audience_of_a_title_follows_from_its_genre_and_tags(genre: str | None, tags: set[str], youngest: str) -> None:
    order = [CHILD, PRETEEN, TEEN, OLDER, ADULT]
    assert audiences(genre, frozenset(tags)) == frozenset(order[order.index(youngest) :])
