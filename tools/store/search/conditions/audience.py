"""For whom a title is fit, by the catalogue's own word or by a rule over its readership and tags.

The steps are those that publishers of manga in English print on covers (VIZ: A, T, T+, M; Kodansha: 8+, 13+, 16+, 18+): all
ages, teen, older teen, adult. The rule errs on the side that a parent would:

- adult is what is sold to adults alone; what is violent or frightening is an older teen's, and the notes say why;
- a magazine for men or women, and a readership that nobody states, is an older teen's unless the tags say otherwise;
- all ages is what is made for children, and what a magazine for boys or girls has to offer them: with a childlike tag and
  none that is not at home in a fairy tale, or with a light one where no action, drama or romance leads. What is made for
  grown-ups, or for nobody knows whom, is given to no child, however nice its tags, but by the catalogue's word;
- one without readership and tags has no audience.

Up to twelve a reader is given what is for all ages: between nine and thirteen publishers know no step.
"""

from __future__ import annotations

from tools.store.models import Audience, Title

EXPLICIT = frozenset({"Adult", "Erotica", "Hentai", "Smut"})
"""Tags of what is sold to adults alone."""
MATURE = frozenset(
    {
        *(
            "Ecchi",
            "Gore",
            "Horror",
            "Harem",
            "Reverse Harem",
            "Boys Love",
            "Girls Love",
            "Organized Crime",
            "Psychological",
        ),
        *("High Stakes Game", "Magical Sex Shift", "Zombies"),
    }
)
"""Tags of what is sold from sixteen, in whatever magazine it appears."""
TENSE = frozenset(
    {
        *(
            "Suspense",
            "Survival",
            "Military",
            "War",
            "Delinquents",
            "Vampire",
            "Crossdressing",
            "Love Polygon",
            "Combat Sports",
        ),
        *("Dystopia", "Post-Apocalyptic", "Avant Garde", "Tragedy", "Adult Cast", "Villainess"),
    }
)
"""Tags of what is not for children, though for teenagers."""
CHILDLIKE = frozenset(
    {"Iyashikei", "Pets", "Animals", "Anthropomorphic", "Childcare", "Educational", "Family", "CGDCT", "Mahou Shoujo"}
)
"""Tags of what children like and may read."""
GENTLE = CHILDLIKE | {"Friendship", "Gourmet", "Cooking"}
"""Tags of what a teenager may read though it appears in a magazine for men or women."""
LIGHT = frozenset(
    {
        *("Comedy", "Gag Humor", "Slice of Life", "Friendship", "Gourmet", "Cooking", "Music", "Sports", "Team Sports"),
        *("Baseball", "Football", "Basketball", "Volleyball", "Tennis", "Cycling", "Swimming", "Shogi", "Go", "Karuta"),
    }
)
"""Tags of what is easy on its reader, where nothing of `LEADING` leads."""
LEADING = frozenset({"Action", "Drama", "Romance", "Supernatural", "Mystery", "Historical"})
"""Tags of what leads a story to where no child may follow, and tags do not tell how far."""
FAIRY_TALE = (
    CHILDLIKE
    | LIGHT
    | {
        *("Adventure", "Award Winning", "Fantasy", "School", "Sci-Fi", "Space", "Mecha", "Robots", "Visual Arts"),
        *("Performing Arts", "Strategy Game", "Card Game", "Racing", "Video Game", "Travel", "Agriculture", "Mythology"),
        *("Romance", "Drama", "Supernatural", "Action", "Mystery"),
    }
)
"""What a childlike story may hold besides: first love, and a fight with a witch."""
_FOR_THE_YOUNG = frozenset({"kodomo", "shonen", "shojo"})


def audience_of(title: Title) -> Audience | None:
    """The youngest it is fit for; None where nothing is known."""
    if title.audience is not None:
        return Audience(title.audience)
    tags = frozenset(title.tags)
    if tags & EXPLICIT:
        return Audience.ADULT
    if tags & MATURE:
        return Audience.OLDER_TEEN
    if not tags:
        return Audience.ALL_AGES if title.genre == "kodomo" else None
    if _for_children(title.genre, tags):
        return Audience.ALL_AGES
    if title.genre in _FOR_THE_YOUNG or (tags & GENTLE and not tags & TENSE):
        return Audience.TEEN
    return Audience.OLDER_TEEN


def content_notes(title: Title) -> tuple[str, ...]:
    """The tags to mention to who chooses for somebody else, in the order of the title's own."""
    told = EXPLICIT | MATURE | TENSE
    return tuple(tag for tag in title.tags if tag in told)


def _for_children(genre: str | None, tags: frozenset[str]) -> bool:
    """Of what is known to be made for the young."""
    if genre == "kodomo":
        return not tags & TENSE
    if genre not in _FOR_THE_YOUNG or tags & TENSE:
        return False
    return bool(tags & CHILDLIKE and tags <= FAIRY_TALE) or bool(tags & LIGHT and not tags & LEADING)
