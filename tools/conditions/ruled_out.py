"""What is asked for and ruled out in one call: "romance please, no romance". The exclusion holds, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.store.models import Author, Conditions
from tools.store.search.query.parser import whole_names
from tools.store.search.query.themes import ThemeTable
from tools.store.search.text.characters import normalise
from tools.store.search.titles.people import is_author

RULED_OUT = "{} is asked for and ruled out as well: it was left out. Ask the customer which of the two is meant."


def ruled_out(text: str, conditions: Conditions, without: Sequence[str]) -> tuple[str, ...]:
    """Sentences on what a call looks for, by its words (`text`) or its conditions, and excludes: a theme all of whose tags
    are excluded, a readership, an author, or what the argument `without` names as the words do."""
    return tuple(RULED_OUT.format(each) for each in dict.fromkeys(_both(text, conditions, without)))


def _both(text: str, conditions: Conditions, without: Sequence[str]) -> Iterator[str]:
    if unwanted := set(conditions.without_tags):
        asked = (*(theme.tags for theme in ThemeTable.load().themes(text)), *conditions.tags)
        yield from (" or ".join(tags) for tags in asked if unwanted.issuperset(tags))
    if conditions.genres and set(conditions.genres) <= set(conditions.without_genres):
        yield " or ".join(conditions.genres)
    if conditions.author and any(is_author(each, Author(conditions.author)) for each in conditions.without_authors):
        yield conditions.author
    if without and not conditions.without_tags:
        said = whole_names(text)
        yield from (name for name in without if normalise(name) in said)
