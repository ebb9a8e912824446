"""A title's audience: the catalogue's own value, else a rule over its readership and tags.

The steps are those that publishers of manga in English print on covers (VIZ: A, T, T+, M; Kodansha: 8+, 13+, 16+, 18+): all
ages, teen, older teen, adult. The rule errs on the side that a parent would:

- adult: titles sold to adults only. Violent or frightening titles are older teen, and the content notes say why;
- older teen: titles of a magazine for men or women, or without a stated readership, unless their tags say otherwise;
- all ages: children's titles, and titles of magazines for boys or girls with a childlike tag and no other than those of
  `FAIRY_TALE`, or with a light tag and none of `LEADING`. A title for grown-ups or of unknown readership is never for all
  ages, whatever its tags, unless the catalogue says so;
- no audience: titles without a known tag, except children's. An unknown tag (`tools.store.tags`) counts as none, and a
  title that has one is not for all ages, unless its readership is children.

Readers of up to twelve get titles for all ages (`tools.store.search.reading.meaning.audience_for`): publishers have no step
between nine and thirteen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from tools.store.models import Audience, Title
from tools.store.tags import Vocabulary, shipped

_TABLE = shipped()
EXPLICIT, MATURE = _TABLE.list_rated("adult"), _TABLE.list_rated("older_teen")
"""Tags that make a title adult, and tags that make it older teen, in whatever magazine it appears."""
GENTLE = frozenset({"Friendship", "Gourmet", "Cooking"})
"""Tags that, like the childlike ones, make a title of a magazine for men or women fit for teenagers."""
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
"""Tags that a story with a childlike tag may have too: first love, or a fight with a witch, is no objection."""
_FOR_THE_YOUNG = frozenset({"kodomo", "shonen", "shojo"})


def audience_of(title: Title, vocabulary: Vocabulary = _TABLE) -> Audience | None:
    """Returns the youngest audience that the title is fit for; None if nothing is known."""
    if title.audience is not None:
        return Audience(title.audience)
    written = frozenset(title.tags)
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
    if title.genre in _FOR_THE_YOUNG:
        return Audience.TEEN if tense or not _is_for_children(written, vocabulary) else Audience.ALL_AGES
    return Audience.TEEN if tags & (GENTLE | childlike) and not tense else Audience.OLDER_TEEN


def content_notes(title: Title) -> tuple[str, ...]:
    """Returns the title's tags that a person who buys a gift should know of, in the title's order."""
    told = EXPLICIT | MATURE | _TABLE.list_rated("teen")
    return tuple(tag for tag in title.tags if tag in told)


def with_shop_audience(title: Title, vocabulary: Vocabulary) -> Title:
    """Returns the title with the audience by the shop's own tags filled in, if the shipped tags alone would give another."""
    found = audience_of(title, vocabulary)
    return title if found is None or found is audience_of(title) else replace(title, audience=found.value)


def _is_for_children(tags: frozenset[str], vocabulary: Vocabulary) -> bool:
    """True if the tags fit a title of a boys' or girls' magazine for all ages; every tag has to be known."""
    childlike = vocabulary.list_rated("all_ages")
    if tags & childlike and tags <= FAIRY_TALE | childlike:
        return True
    return bool(tags & LIGHT and not tags & LEADING) and tags <= vocabulary.tags.keys()


class Adult(StrEnum):
    """Values of MANGA_ADULT. On request: only if the customer asks by name or word; `tools.conditions` excludes adult titles
    otherwise. Off: nowhere (`tools.store.catalog.catalog` removes them). On: like any other title."""

    ON_REQUEST = "on-request"
    OFF = "off"
    ON = "on"


def is_adult(title: Title) -> bool:
    return audience_of(title) is Audience.ADULT


def without_adult(titles: Sequence[Title]) -> tuple[Title, ...]:
    return tuple(title for title in titles if not is_adult(title))
