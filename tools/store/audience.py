"""A title's audience: as the catalogue states it, else by a rule over readership and tags.

The audiences are those that publishers of manga in English print on covers (VIZ: A, T, T+, M; Kodansha: 8+, 13+, 16+, 18+).
The rule is cautious; the first line that applies decides:

- adult: a tag is rated adult (`tools.store.tags`);
- older teen: a tag is rated older teen;
- no audience: no tag is known, except for children's titles;
- all ages: a children's title without a tag rated teen;
- all ages: a title for boys or girls without a tag rated teen, if at least one tag is rated all ages and all others are so
  too or in `FAIRY_TALE`; or if all tags are known, at least one is in `LIGHT` and none is in `LEADING`;
- teen: any other title for children, boys or girls;
- teen: a title for men, women or unknown readers that has a tag rated all ages or in `GENTLE`, and no tag rated teen;
- older teen: any other title.

Readers of up to twelve get titles for all ages (`tools.store.search.reading.claims.audience_for`), since publishers have no
rating between 8+ and 13+."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from tools.store.models import Audience, Title
from tools.store.tags import Vocabulary, shipped

GENTLE = frozenset({"Friendship", "Gourmet", "Cooking"})
"""Tags that, like tags rated all ages, make a title of a magazine for men or women fit for teenagers."""
LIGHT = frozenset(
    {
        *("Comedy", "Gag Humor", "Slice of Life", "Friendship", "Gourmet", "Cooking", "Music", "Sports", "Team Sports"),
        *("Baseball", "Football", "Basketball", "Volleyball", "Tennis", "Cycling", "Swimming", "Shogi", "Go", "Karuta"),
    }
)
"""Tags of light titles, fit for all ages unless a tag of `LEADING` is there too."""
LEADING = frozenset({"Action", "Drama", "Romance", "Supernatural", "Mystery", "Historical"})
"""Tags of stories that may be unfit for children; the tag alone does not tell."""
FAIRY_TALE = LIGHT | {
    *("Adventure", "Award Winning", "Fantasy", "School", "Sci-Fi", "Space", "Mecha", "Robots", "Visual Arts"),
    *("Performing Arts", "Strategy Game", "Card Game", "Racing", "Video Game", "Travel", "Agriculture", "Mythology"),
    *("Romance", "Drama", "Supernatural", "Action", "Mystery"),
}
"""Tags that a title for all ages may have beside a tag rated all ages, such as Romance for a first love."""


def audience_of(title: Title, vocabulary: Vocabulary | None = None) -> Audience | None:
    """Returns the audience that the catalogue states for the title, or else the youngest one for which the title is suitable
    by the ratings of `vocabulary` (default: the shipped one). Returns None if readership and tags do not tell."""
    if title.audience is not None:
        return Audience(title.audience)
    vocabulary, written = vocabulary or shipped(), frozenset(title.tags)
    if written & vocabulary.list_rated("adult"):
        return Audience.ADULT
    if written & vocabulary.list_rated("older_teen"):
        return Audience.OLDER_TEEN
    tags = written & vocabulary.tags.keys()
    if not tags:
        return Audience.ALL_AGES if title.genre == "kodomo" else None
    childlike, tense = vocabulary.list_rated("all_ages"), bool(tags & vocabulary.list_rated("teen"))
    if title.genre == "kodomo":
        return Audience.TEEN if tense else Audience.ALL_AGES
    if title.genre in ("shonen", "shojo"):
        return Audience.TEEN if tense or not _is_for_children(written, vocabulary) else Audience.ALL_AGES
    return Audience.TEEN if tags & (GENTLE | childlike) and not tense else Audience.OLDER_TEEN


def content_notes(title: Title) -> tuple[str, ...]:
    """Returns the title's tags that the shipped table rates teen, older teen or adult, as a warning to buyers of gifts."""
    told = shipped().list_rated("teen") | tags_for_older_readers()
    return tuple(tag for tag in title.tags if tag in told)


def tags_for_older_readers() -> frozenset[str]:
    """Returns the shipped tags that make a title older teen or adult, in whatever magazine it appears."""
    return shipped().list_rated("older_teen") | shipped().list_rated("adult")


def with_shop_audience(title: Title, vocabulary: Vocabulary) -> Title:
    """Returns the title with the audience that it has by the shop's `vocabulary`, if the shipped vocabulary gives a
    different one; else the title unchanged."""
    found = audience_of(title, vocabulary)
    return title if found is None or found is audience_of(title) else replace(title, audience=found.value)


def _is_for_children(tags: frozenset[str], vocabulary: Vocabulary) -> bool:
    childlike = vocabulary.list_rated("all_ages")
    if tags & childlike and tags <= FAIRY_TALE | childlike:
        return True
    return bool(tags & LIGHT and not tags & LEADING) and tags <= vocabulary.tags.keys()


class Adult(StrEnum):
    """Values of MANGA_ADULT, which says where adult titles appear. On request: only if the customer asks for them by name or
    word. Off: nowhere. On: like any other title."""

    ON_REQUEST = "on-request"
    OFF = "off"
    ON = "on"


def is_adult(title: Title) -> bool:
    return audience_of(title) is Audience.ADULT


def without_adult(titles: Sequence[Title]) -> tuple[Title, ...]:
    return tuple(title for title in titles if not is_adult(title))
