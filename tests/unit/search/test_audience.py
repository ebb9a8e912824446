"""The audience of a title follows from its readership and tags."""

from __future__ import annotations

import pytest

from tools.store.audience import audience_of, content_notes
from tools.store.models import Audience, Title


def title(genre: str | None, *tags: str, audience: str | None = None) -> Title:
    return Title(title_id="manga-1", en="X", genre=genre, tags=tags, audience=audience)


@pytest.mark.parametrize(
    ("genre", "tags", "audience"),
    [
        ("kodomo", ("Adventure", "Action"), Audience.ALL_AGES),
        ("kodomo", (), Audience.ALL_AGES),
        ("seinen", ("Comedy", "Slice of Life", "Pets"), Audience.TEEN),
        (None, ("Childcare", "Comedy", "Iyashikei"), Audience.TEEN),
        ("shonen", ("Comedy", "Slice of Life"), Audience.ALL_AGES),
        ("shonen", ("Comedy", "Sports", "Team Sports"), Audience.ALL_AGES),
        ("shonen", ("Comedy", "Romance"), Audience.TEEN),
        ("shojo", ("Comedy", "Slice of Life", "Adult Cast"), Audience.TEEN),
        ("shojo", ("Fantasy", "Romance", "Mahou Shoujo"), Audience.ALL_AGES),
        ("shonen", ("Comedy", "Childcare"), Audience.ALL_AGES),
        ("shonen", ("Action", "Sci-Fi", "Adult Cast"), Audience.TEEN),
        ("shonen", ("Action", "Comedy", "Delinquents"), Audience.TEEN),
        ("kodomo", ("Vampire",), Audience.TEEN),
        ("seinen", ("Comedy", "Fantasy", "Gourmet"), Audience.TEEN),
        ("seinen", ("Drama", "Historical"), Audience.OLDER_TEEN),
        (None, ("Fantasy", "Adventure"), Audience.OLDER_TEEN),
        (None, ("Fantasy", "Childcare"), Audience.TEEN),
        ("shojo", ("Action", "Mystery", "Mahou Shoujo"), Audience.ALL_AGES),
        ("shojo", ("Vampire", "Mahou Shoujo"), Audience.TEEN),
        ("kodomo", ("Horror",), Audience.OLDER_TEEN),
        ("shojo", ("Mahou Shoujo", "Gore"), Audience.OLDER_TEEN),
        ("shonen", ("Psychological", "Suspense"), Audience.OLDER_TEEN),
        ("shonen", ("Pets", "Ecchi"), Audience.OLDER_TEEN),
        ("josei", ("Romance", "Smut"), Audience.ADULT),
        ("kodomo", ("Hentai",), Audience.ADULT),
    ],
)
def test_audience_follows_from_genre_and_tags(genre: str | None, tags: tuple[str, ...], audience: Audience) -> None:
    assert audience_of(title(genre, *tags)) is audience


@pytest.mark.parametrize("genre", ["shonen", "shojo", "seinen", None])
def test_audience_of_a_title_without_tags_is_unknown(genre: str | None) -> None:
    assert audience_of(title(genre)) is None


def test_audience_stated_by_the_catalogue_precedes_the_rule() -> None:
    assert audience_of(title("kodomo", "Adventure", audience="adult")) is Audience.ADULT


def test_content_notes_name_the_tags_that_a_parent_would_ask_about() -> None:
    assert content_notes(title("shonen", "Action", "Gore", "Military", "Comedy")) == ("Gore", "Military")


@pytest.mark.parametrize("genre", ["seinen", "josei", None])
def test_adult_or_unknown_genre_is_for_teens_unless_the_catalogue_says_all_ages(genre: str | None) -> None:
    harmless = ("Comedy", "Pets", "Iyashikei")

    assert audience_of(title(genre, *harmless)) is Audience.TEEN
    assert audience_of(title(genre, *harmless, audience="all_ages")) is Audience.ALL_AGES
