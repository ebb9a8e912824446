"""For whom a title is, as a careful bookseller would say from its readership and tags alone.

The rule, written without sight of the product's:

- Nothing is for anybody under age when its tags are unknown, or when it is erotic.
- `all_ages` (a child up to nine): nothing of `NOT_FOR_CHILDREN`, and either kodomo, or shonen and shojo that are clearly
  gentle: a childlike tag, or a light one where neither action, drama nor romance leads.
- `preteen` (ten to twelve): nothing of `NOT_FOR_CHILDREN`, and kodomo, shonen or shojo; romance for boys only with a
  childlike tag, since what it shows is hardly ever tagged.
- `teen` (thirteen to fifteen): neither ecchi nor gore; what is written for adults, or for nobody knows whom, only where it is
  gentle and nothing of `NOT_FOR_CHILDREN`.
- `older_teen` (sixteen and seventeen): not both ecchi and for adults, nor both gore and for adults.
- `adult`: everything.

Each group may read what the younger ones may.
"""

from __future__ import annotations

from collections.abc import Callable

EROTIC = frozenset({"Erotica", "Hentai", "Smut"})
EXPLICIT = frozenset({"Ecchi", "Gore"})
NOT_FOR_CHILDREN = (
    EROTIC
    | EXPLICIT
    | frozenset({"Horror", "Boys Love", "Girls Love", "Psychological", "Suspense", "Harem", "Reverse Harem"})
    | frozenset({"Magical Sex Shift", "Crossdressing", "Adult Cast", "High Stakes Game", "Organized Crime", "Delinquents"})
    | frozenset({"Survival", "War", "Military", "Dystopia", "Post-Apocalyptic", "Zombies", "Love Polygon", "Villainess"})
)
CHILDLIKE = frozenset(
    {"Animals", "Pets", "Anthropomorphic", "Mahou Shoujo", "Educational", "Childcare", "Iyashikei", "CGDCT", "Gag Humor"}
)
LIGHT = frozenset(
    {"Comedy", "Slice of Life", "Friendship", "Family", "Sports", "Team Sports", "Gourmet", "Cooking", "Music"}
)
HEAVY = frozenset({"Action", "Drama", "Romance"})
FOR_CHILDREN, FOR_THE_YOUNG = frozenset({"kodomo"}), frozenset({"kodomo", "shonen", "shojo"})
FOR_ADULTS = frozenset({"seinen", "josei"})

Tags = frozenset[str]


def _all_ages(genre: str | None, tags: Tags) -> bool:
    if not _preteen(genre, tags):
        return False
    return genre in FOR_CHILDREN or bool(tags & CHILDLIKE) or (bool(tags & LIGHT) and not tags & HEAVY)


def _preteen(genre: str | None, tags: Tags) -> bool:
    if genre not in FOR_THE_YOUNG or not tags or tags & NOT_FOR_CHILDREN:
        return False
    return genre != "shonen" or "Romance" not in tags or bool(tags & CHILDLIKE)


def _teen(genre: str | None, tags: Tags) -> bool:
    if not tags or tags & (EROTIC | EXPLICIT):
        return False
    return genre in FOR_THE_YOUNG or (bool(tags & (CHILDLIKE | LIGHT)) and not tags & NOT_FOR_CHILDREN)


def _older_teen(genre: str | None, tags: Tags) -> bool:
    return bool(tags) and not tags & EROTIC and (genre not in FOR_ADULTS or not tags & EXPLICIT)


_RULES: dict[str, Callable[[str | None, Tags], bool]] = {
    "all_ages": _all_ages,
    "preteen": _preteen,
    "teen": _teen,
    "older_teen": _older_teen,
    "adult": lambda genre, tags: True,
}


def audiences(genre: str | None, tags: Tags) -> frozenset[str]:
    """Those who may be given a title of this readership with these tags."""
    return frozenset(name for name, rule in _RULES.items() if rule(genre, tags))
