"""The audience of a title, by the catalogue's own word or by a rule over its readership and tags.

The steps are those that publishers of manga in English print on covers (VIZ: A, T, T+, M; Kodansha: 8+, 13+, 16+, 18+): all
ages, teen, older teen, adult. The rule errs on the side that a parent would:

- adult: titles sold to adults alone; violent or frightening titles are an older teen's, and the notes say why;
- older teen: titles of a magazine for men or women, or without a stated readership, unless their tags say otherwise;
- all ages: titles made for children, and those of magazines for boys or girls with a childlike tag and none foreign to fairy
  tales, or with a light tag where no action, drama or romance leads. A title made for grown-ups, or for an unknown
  readership, is given to no child, however nice its tags, unless the catalogue says so;
- no audience: titles without readership and tags. A tag that no table has (`tools.store.tags`) counts as none, and no child
  is given a title with such a tag, unless its readership says so.

A reader of up to twelve is given titles for all ages (`tools.store.search.reading.meaning.audience_for`): publishers have no
step between nine and thirteen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from tools.store.models import Audience, Title
from tools.store.tags import Vocabulary, shipped

_TABLE = shipped()
EXPLICIT, MATURE = _TABLE.list_rated("adult"), _TABLE.list_rated("older_teen")
"""Tags of titles for adults alone, and of titles from sixteen on, in whatever magazine they appear."""
GENTLE = frozenset({"Friendship", "Gourmet", "Cooking"})
"""Tags, beside those that children like, of titles that a teenager may read though a magazine for men or women has them."""
LIGHT = frozenset(
    {
        *("Comedy", "Gag Humor", "Slice of Life", "Friendship", "Gourmet", "Cooking", "Music", "Sports", "Team Sports"),
        *("Baseball", "Football", "Basketball", "Volleyball", "Tennis", "Cycling", "Swimming", "Shogi", "Go", "Karuta"),
    }
)
"""Tags of light titles, unless a tag of `LEADING` leads."""
LEADING = frozenset({"Action", "Drama", "Romance", "Supernatural", "Mystery", "Historical"})
"""Tags that may lead a story beyond what children may read; tags do not tell how far."""
FAIRY_TALE = LIGHT | {
    *("Adventure", "Award Winning", "Fantasy", "School", "Sci-Fi", "Space", "Mecha", "Robots", "Visual Arts"),
    *("Performing Arts", "Strategy Game", "Card Game", "Racing", "Video Game", "Travel", "Agriculture", "Mythology"),
    *("Romance", "Drama", "Supernatural", "Action", "Mystery"),
}
"""Further tags that a childlike story may have: first love, and a fight with a witch."""
_FOR_THE_YOUNG = frozenset({"kodomo", "shonen", "shojo"})


def audience_of(title: Title, vocabulary: Vocabulary = _TABLE) -> Audience | None:
    """The youngest audience that the title is fit for; None if nothing is known."""
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
    """The tags to mention to buyers for somebody else, in the title's own order."""
    told = EXPLICIT | MATURE | _TABLE.list_rated("teen")
    return tuple(tag for tag in title.tags if tag in told)


def rated_by(title: Title, vocabulary: Vocabulary) -> Title:
    """A copy with the audience that the shop's own tags give it, where the shipped tags alone would give another."""
    found = audience_of(title, vocabulary)
    return title if found is None or found is audience_of(title) else replace(title, audience=found.value)


def _is_for_children(tags: frozenset[str], vocabulary: Vocabulary) -> bool:
    """True for a boys' or girls' magazine where nothing is tense and every tag is known."""
    childlike = vocabulary.list_rated("all_ages")
    if tags & childlike and tags <= FAIRY_TALE | childlike:
        return True
    return bool(tags & LIGHT and not tags & LEADING) and tags <= vocabulary.tags.keys()


class Adult(StrEnum):
    """MANGA_ADULT. On request: only where the customer asks by name or word, a condition that `tools.conditions` adds. Off:
    nowhere, which `tools.store.catalog.catalog` ensures. On: like any other title."""

    ON_REQUEST = "on-request"
    OFF = "off"
    ON = "on"


def is_adult(title: Title) -> bool:
    return audience_of(title) is Audience.ADULT


def without_adult(titles: Sequence[Title]) -> tuple[Title, ...]:
    return tuple(title for title in titles if not is_adult(title))
